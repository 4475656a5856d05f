//! Wherever a message waits, the failure before it reaches it.

use pubsink_core::failure::Class;

use super::{assert_stopped_by, failing, options, pairs};
use crate::sim::answers::Answer;
use crate::sim::messages::keyed;
use crate::sim::{Recorded, Sim, ms};

#[test]
fn r01_the_open_batch_and_what_comes_after_it() {
    let answer = Answer::error(400, "FAILED_PRECONDITION").after(ms(200));
    let options = options(|b| b.batch_max_entries(2).batch_linger(ms(300)));
    let mut sim = Sim::new(&options, failing(&[1], answer));
    sim.admit(1, keyed(1, "k"));
    sim.admit(2, keyed(2, "k"));
    sim.admit_at(ms(50), 3, keyed(3, "k"));
    sim.admit_at(ms(60), 11, keyed(11, "l"));
    sim.admit_at(ms(250), 4, keyed(4, "k"));
    sim.run_until(ms(250));
    assert_eq!(sim.settled_of(3).at, ms(200));
    assert_eq!(sim.settled_of(4).at, ms(250));
    assert_stopped_by(&sim, 1, [3, 4]);
    sim.run();
    assert_eq!(sim.sent(), [vec![1, 2], vec![11]]);
    sim.resume("k");
    sim.admit(5, keyed(5, "k"));
    sim.run();
    assert_eq!(sim.sent()[2..], [[5]]);
    sim.delivered(5);
}

#[test]
fn batches_that_are_full_and_direct_messages_between_them() {
    let mut sim = Sim::new(&pairs(), failing(&[1], Answer::error(500, "INTERNAL")));
    for tag in 1..=9 {
        match tag {
            5 | 8 => sim.admit_direct(tag, keyed(tag, "k")),
            _ => sim.admit(tag, keyed(tag, "k")),
        }
    }
    sim.run();
    assert_eq!(sim.sent(), [[1, 2]]);
    assert_stopped_by(&sim, 1, 3..=9);
    let order: Vec<_> = sim.outcomes().iter().map(|settled| settled.tag).collect();
    assert_eq!(order, (1..=9).collect::<Vec<_>>());
    sim.assert_quiescent();
}

#[test]
fn r01_a_refused_message_of_a_batch_stops_what_waits_behind_the_batch() {
    let mut sim = Sim::new(&pairs(), failing(&[2], Answer::refused()));
    for tag in 1..=3 {
        sim.admit(tag, keyed(tag, "k"));
    }
    sim.run_until(ms(120));
    // While it is narrowed down.
    sim.admit(4, keyed(4, "k"));
    sim.run();
    assert_eq!(sim.sent(), [vec![1, 2], vec![1], vec![2]]);
    assert_eq!(sim.stored_tags(), [1]);
    assert_eq!(sim.failure(2).class, Class::Permanent);
    assert_stopped_by(&sim, 2, [3, 4]);
    sim.assert_quiescent();
}

#[test]
fn parts_of_a_bisected_batch_that_were_not_sent_yet() {
    let options = options(|b| b.batch_max_entries(4));
    let mut sim = Sim::new(&options, failing(&[2], Answer::refused()));
    for tag in 1..=6 {
        sim.admit(tag, keyed(tag, "k"));
    }
    sim.run();
    let expected = [vec![1, 2, 3, 4], vec![1, 2], vec![1], vec![2]];
    assert_eq!(sim.sent(), expected);
    assert_eq!(sim.stored_tags(), [1]);
    assert_eq!(sim.failure(2).class, Class::Permanent);
    assert_stopped_by(&sim, 2, 3..=6);
    sim.assert_quiescent();
}

#[test]
fn a_part_that_fails_otherwise_keeps_its_own_reason_and_stops_the_rest() {
    let server = |request: &Recorded| match request.messages.len() {
        4 => Answer::refused(),
        _ => Answer::error(503, "UNAVAILABLE"),
    };
    let mut sim = Sim::new(&options(|b| b.batch_max_entries(4)), server);
    for tag in 1..=6 {
        sim.admit(tag, keyed(tag, "k"));
    }
    sim.run();
    assert_eq!(sim.sent(), [vec![1, 2, 3, 4], vec![1, 2]]);
    for tag in [1, 2] {
        assert!(matches!(sim.failure(tag).class, Class::RetryAfter(_)));
    }
    assert_stopped_by(&sim, 1, 3..=6);
    sim.assert_quiescent();
}

#[test]
fn a_message_at_a_ceiling_is_refused_for_it_and_later_for_its_key() {
    // R01's fifth part: nothing waits outside the ceilings here, so the third message is refused
    // at once, and again for its key when its caller tries once more.
    let options = options(|b| b.batch_max_entries(2).batch_queue_max(2));
    let mut sim = Sim::new(&options, failing(&[1], Answer::error(500, "INTERNAL")));
    for tag in 1..=3 {
        sim.admit(tag, keyed(tag, "k"));
    }
    sim.run();
    assert_eq!(sim.failure(3).reason.kind(), "batch_queue_full");
    sim.admit(13, keyed(13, "k"));
    sim.run();
    assert_stopped_by(&sim, 1, [13]);
    assert_eq!(sim.sent(), [[1, 2]]);
}

#[test]
fn a_flush_is_done_when_what_was_stopped_is_settled() {
    let mut sim = Sim::new(&pairs(), failing(&[1], Answer::refused()));
    for tag in 1..=3 {
        sim.admit(tag, keyed(tag, "k"));
    }
    sim.flush(100);
    sim.run();
    let last = sim.settled_of(3).at;
    assert_eq!(sim.flushed(), [(100, last)]);
    sim.assert_quiescent();
}

#[test]
fn a_close_that_waits_stops_keys_and_its_deadline_stops_none() {
    for (deadline, kind) in [(None, "key_stopped"), (Some(ms(40)), "transport")] {
        let mut sim = Sim::new(&pairs(), failing(&[1], Answer::refused()));
        for tag in 1..=3 {
            sim.admit(tag, keyed(tag, "k"));
        }
        sim.run_until(ms(20));
        sim.close(deadline);
        sim.run();
        assert_eq!(sim.failure(3).reason.kind(), kind);
        let stopped = usize::from(deadline.is_none());
        assert_eq!(sim.machine().gauges().stopped_keys, stopped);
        sim.assert_quiescent();
        assert!(sim.machine().is_closed());
    }
}
