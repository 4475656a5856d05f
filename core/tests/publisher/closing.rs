//! Closing: nothing new is taken, and everything held gets an outcome.

use pubsink_core::failure::Class;
use pubsink_core::publish::WaitReason;
use pubsink_core::reason::{Reason, TransportKind};

use crate::sim::answers::{Answer, TokenAnswer};
use crate::sim::look::Tagged as _;
use crate::sim::messages::{keyed, message};
use crate::sim::{Recorded, Sim, defaults, ms, options};

fn assert_closed(sim: &Sim, tag: u64, may_have_been_stored: bool) {
    let failure = sim.failure(tag);
    assert_eq!(failure.class, Class::Transient);
    assert_eq!(failure.may_have_been_stored, may_have_been_stored, "{tag}");
    let closed = TransportKind::Closed;
    assert!(
        matches!(&*failure.reason, Reason::Transport { transport, .. } if *transport == closed)
    );
}

#[test]
fn closing_without_a_deadline_gives_every_message_its_attempt() {
    let mut sim = Sim::new(
        &options(|b| b.batch_max_entries(10).batch_max_inflight(1)),
        |_| Answer::stored(),
    );
    sim.admit_all(0..35);
    sim.admit(50, keyed(50, "k"));
    sim.close(None);
    assert!(!sim.machine().is_closed());
    sim.run();
    assert_eq!(sim.deliveries(), 36);
    assert_eq!(sim.requests()[0].at, ms(0));
    assert!(sim.machine().is_closed());
    assert_eq!(sim.drain(), (None, WaitReason::Closed));
    sim.assert_quiescent();
}

#[test]
fn nothing_lingers_once_it_closes() {
    let mut sim = Sim::new(&defaults(), |_| Answer::stored());
    sim.admit(1, message(1));
    sim.admit(2, keyed(2, "k"));
    sim.run_until(ms(7));
    sim.close(None);
    sim.run();
    assert_eq!(sim.sent_at(), [7, 7]);
}

#[test]
fn closed_twice_the_sooner_deadline_counts() {
    for (first, second) in [(Some(200), None), (Some(200), Some(900)), (None, Some(200))] {
        let mut sim = Sim::new(&defaults(), |_| Answer::never());
        sim.admit(1, message(1));
        sim.close(first.map(ms));
        sim.close(second.map(ms));
        sim.run();
        assert_closed(&sim, 1, true);
        assert_eq!(sim.settled_of(1).at, ms(200));
    }
}

#[test]
fn at_the_deadline_what_is_left_is_given_up() {
    let options = options(|b| b.batch_max_entries(1).batch_max_inflight(2));
    let server = |request: &Recorded| match request.messages[0].tag() {
        1 => Answer::stored(),
        _ => Answer::never(),
    };
    let mut sim = Sim::new(&options, server);
    sim.admit_all(1..=6);
    sim.flush(100);
    sim.close(Some(ms(200)));
    sim.run();
    assert_eq!(sim.delivered(1), "id-0");
    // 2 and 3 are on the wire, the others never were.
    for tag in 2..=6 {
        assert_closed(&sim, tag, tag <= 3);
        assert_eq!(sim.settled_of(tag).at, ms(200));
    }
    assert_eq!(sim.cancelled().len(), 2);
    assert_eq!(sim.requests().len(), 3);
    assert_eq!(sim.flushed(), [(100, ms(200))]);
    sim.assert_quiescent();
}

#[test]
fn at_the_deadline_nothing_is_sent_any_more_whatever_waits_behind_what() {
    let options = options(|b| {
        b.batch_max_entries(4)
            .batch_max_inflight(1)
            .sink_concurrency(1)
    });
    let server = |request: &Recorded| match request.messages.len() {
        4 => Answer::refused(),
        _ => Answer::never(),
    };
    let mut sim = Sim::new(&options, server);
    // A bisected batch with waiting parts, and keys whose messages leave by turns each way.
    for tag in 0..4 {
        sim.admit(tag, keyed(tag, "bisected"));
    }
    for tag in 4..16 {
        let message = keyed(tag, if tag % 2 == 0 { "a" } else { "b" });
        match tag / 2 % 2 {
            0 => sim.admit(tag, message),
            _ => sim.admit_direct(tag, message),
        }
    }
    sim.run_until(ms(60));
    let sent = sim.requests().len();
    sim.flush(100);
    sim.close(Some(ms(10)));
    sim.run();
    assert_eq!(sim.requests().len(), sent, "sent after the deadline");
    assert_eq!(sim.elapsed(), ms(70));
    assert_eq!(sim.settled().len(), 16);
    for tag in 0..16 {
        let on_the_wire = sim
            .requests()
            .iter()
            .filter(|request| request.messages.len() < 4);
        let on_the_wire = on_the_wire
            .flat_map(|request| &request.messages)
            .any(|m| m.tag() == tag);
        assert_closed(&sim, tag, on_the_wire);
    }
    assert_eq!(sim.flushed(), [(100, ms(70))]);
    sim.assert_quiescent();
}

#[test]
fn a_message_that_waited_for_its_token_was_not_sent() {
    let mut sim = Sim::authorized(&defaults(), |_| TokenAnswer::never(), |_| Answer::stored());
    sim.admit(1, message(1));
    sim.run_until(ms(25));
    sim.close(Some(ms(5)));
    sim.run();
    assert_closed(&sim, 1, false);
    assert_eq!(sim.settled_of(1).at, ms(30));
}

#[test]
fn a_message_whose_token_was_refused_was_not_stored() {
    let tokens = |refused: Option<&_>| match refused {
        None => TokenAnswer::give("t"),
        Some(_) => TokenAnswer::never(),
    };
    let mut sim = Sim::authorized(&defaults(), tokens, |_| {
        Answer::error(401, "UNAUTHENTICATED")
    });
    sim.admit(1, message(1));
    sim.run_until(ms(100));
    sim.close(Some(ms(5)));
    sim.run();
    assert_closed(&sim, 1, false);
    sim.assert_quiescent();
}

#[test]
fn a_token_that_comes_at_the_deadline_sends_nothing() {
    let tokens = |_: Option<&_>| TokenAnswer::give("t").after(ms(30));
    let mut sim = Sim::authorized(&defaults(), tokens, |_| Answer::stored());
    sim.admit(1, message(1));
    sim.close(Some(ms(30)));
    sim.run();
    assert!(sim.requests().is_empty());
    assert_closed(&sim, 1, false);
    sim.assert_quiescent();
}

#[test]
fn a_token_refused_at_the_deadline_asks_for_no_other() {
    let server = |_: &Recorded| Answer::error(401, "UNAUTHENTICATED").after(ms(30));
    let mut sim = Sim::authorized(&defaults(), |_| TokenAnswer::give("t"), server);
    sim.admit(1, message(1));
    sim.close(Some(ms(30)));
    sim.run();
    assert_eq!(sim.asked().len(), 1);
    assert_closed(&sim, 1, false);
    sim.assert_quiescent();
}

#[test]
fn an_answer_at_the_deadline_counts() {
    let mut sim = Sim::new(&defaults(), |_| Answer::stored().after(ms(30)));
    sim.admit(1, message(1));
    sim.close(Some(ms(30)));
    sim.run();
    assert_eq!(sim.delivered(1), "id-0");
}

#[test]
fn a_deadline_in_the_past_gives_up_at_once() {
    let mut sim = Sim::new(&defaults(), |_| Answer::stored());
    sim.admit_all(1..=3);
    sim.close(Some(ms(0)));
    sim.run();
    assert!(sim.requests().is_empty());
    assert_closed(&sim, 2, false);
    assert!(sim.machine().is_closed());
}

#[test]
fn closed_it_takes_nothing_more() {
    let mut sim = Sim::new(&defaults(), |_| Answer::stored());
    sim.admit(1, message(1));
    sim.close(None);
    sim.admit(2, message(2));
    sim.run();
    assert_eq!(sim.delivered(1), "id-0");
    assert_closed(&sim, 2, false);
    assert_eq!(sim.settled_of(2).at, ms(0));
    sim.admit(3, message(3));
    assert!(
        !sim.machine().is_closed(),
        "an outcome is still to be fetched"
    );
    sim.run();
    assert_closed(&sim, 3, false);
    assert!(sim.machine().is_closed());
}

#[test]
fn an_answer_after_the_end_is_no_misuse() {
    let mut sim = Sim::new(&defaults(), |_| Answer::stored().after(ms(500)));
    sim.admit(1, message(1));
    sim.run_until(ms(20));
    sim.close(Some(ms(10)));
    sim.run();
    assert_closed(&sim, 1, true);
    assert_eq!(sim.elapsed(), ms(520));
}

#[test]
fn a_flush_of_a_closed_publisher_is_done_at_once() {
    let mut sim = Sim::new(&defaults(), |_| Answer::stored());
    sim.close(None);
    sim.flush(100);
    sim.run();
    assert_eq!(sim.flushed(), [(100, ms(0))]);
}

#[test]
fn a_second_close_sets_another_deadline() {
    let mut sim = Sim::new(&defaults(), |_| Answer::never());
    sim.admit(1, message(1));
    sim.close(None);
    sim.run_until(ms(100));
    sim.close(Some(ms(50)));
    sim.run();
    assert_eq!(sim.settled_of(1).at, ms(150));
}
