//! Flushes.

use crate::sim::answers::Answer;
use crate::sim::look::Tagged as _;
use crate::sim::messages::{keyed, message};
use crate::sim::{Recorded, Sim, defaults, ms, options};

#[test]
fn a_flush_ends_the_linger_of_what_waits_and_is_done_when_all_of_it_is_settled() {
    let mut sim = Sim::new(&defaults(), |_| Answer::stored());
    sim.admit(1, message(1));
    sim.admit(2, keyed(2, "k"));
    sim.run_until(ms(5));
    sim.flush(100);
    sim.run();
    assert_eq!(sim.sent_at(), [5, 5]);
    assert_eq!(sim.flushed(), [(100, ms(55))]);
    sim.assert_quiescent();
}

#[test]
fn a_flush_covers_what_is_in_flight() {
    let mut sim = Sim::new(&defaults(), |_| Answer::stored().after(ms(1_000)));
    sim.admit(1, message(1));
    sim.run_until(ms(500));
    sim.flush(100);
    sim.run();
    assert_eq!(sim.flushed(), [(100, ms(1_020))]);
}

#[test]
fn a_flush_covers_nothing_that_comes_after_it() {
    let server = |request: &Recorded| match request.messages[0].tag() {
        1 => Answer::stored(),
        _ => Answer::never(),
    };
    let mut sim = Sim::new(&defaults(), server);
    sim.admit(1, message(1));
    sim.flush(100);
    sim.drain();
    sim.run_until(ms(1));
    sim.admit(2, message(2));
    sim.run();
    assert_eq!(sim.flushed(), [(100, ms(50))]);
    // What comes later lingers again.
    assert_eq!(sim.sent_at(), [0, 21]);
}

#[test]
fn a_flush_of_nothing_is_done_at_once() {
    let mut sim = Sim::new(&defaults(), |_| Answer::stored());
    sim.flush(100);
    sim.drain();
    assert_eq!(sim.flushed(), [(100, ms(0))]);
}

#[test]
fn two_flushes_end_each_with_its_own_messages_and_in_order() {
    let server = |request: &Recorded| match request.messages[0].tag() {
        1 => Answer::stored().after(ms(300)),
        2 => Answer::stored().after(ms(100)),
        _ => Answer::stored().after(ms(900)),
    };
    let mut sim = Sim::new(&defaults(), server);
    sim.admit(1, message(1));
    sim.flush(100);
    sim.flush(101);
    sim.drain();
    sim.admit(2, message(2));
    sim.flush(102);
    sim.drain();
    sim.admit(3, message(3));
    sim.flush(103);
    sim.run();
    // 2 is settled at 100, but 1 came before that flush too.
    assert_eq!(
        sim.flushed(),
        [
            (100, ms(300)),
            (101, ms(300)),
            (102, ms(300)),
            (103, ms(900))
        ]
    );
}

#[test]
fn a_flush_covers_every_part_of_a_bisection() {
    let mut sim = Sim::new(&options(|b| b.batch_max_inflight(1)), |_| Answer::refused());
    sim.admit_all(0..4);
    sim.flush(100);
    sim.run();
    assert_eq!(sim.requests().len(), 7);
    assert_eq!(sim.flushed(), [(100, ms(350))]);
}

#[test]
fn a_flush_covers_what_waits_behind_a_key_that_is_busy() {
    let mut sim = Sim::new(&options(|b| b.batch_max_entries(2)), |_| Answer::stored());
    for tag in 0..5 {
        sim.admit(tag, keyed(tag, "k"));
    }
    sim.flush(100);
    sim.run();
    assert_eq!(sim.sent_at(), [0, 50, 100]);
    assert_eq!(sim.flushed(), [(100, ms(150))]);
}

#[test]
fn a_flush_of_what_waits_for_room_leaves_without_lingering_once_there_is_room() {
    let mut sim = Sim::new(&options(|b| b.batch_max_inflight(1)), |_| Answer::stored());
    sim.admit(1, message(1));
    sim.run_until(ms(60));
    sim.admit(2, message(2));
    sim.flush(100);
    sim.run();
    assert_eq!(sim.sent_at(), [20, 70]);
    assert_eq!(sim.flushed(), [(100, ms(120))]);
}
