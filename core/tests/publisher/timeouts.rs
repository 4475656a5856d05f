//! Requests that are not answered in time.

use std::time::Duration;

use pubsink_core::failure::Class;
use pubsink_core::reason::{Reason, TransportKind};
use pubsink_core::testing::SimulationBuilder;

use crate::sim::answers::Answer;
use crate::sim::messages::message;
use crate::sim::{Sim, defaults, ms, options};

#[test]
fn a_request_without_an_answer_ends_after_twice_the_timeout() {
    let mut sim = Sim::new(&defaults(), |_| Answer::never().although_stored());
    sim.admit_all(1..=3);
    sim.run();
    assert_eq!(sim.cancelled(), [sim.requests()[0].id]);
    for tag in 1..=3 {
        assert_eq!(sim.settled_of(tag).at, ms(20 + 2 * 5_000));
        let failure = sim.failure(tag);
        assert_eq!(failure.class, Class::Transient);
        assert!(failure.may_have_been_stored);
        let timeout = TransportKind::Timeout;
        assert!(
            matches!(&*failure.reason, Reason::Transport { transport, .. } if *transport == timeout)
        );
    }
    sim.assert_quiescent();
}

#[test]
fn the_time_a_message_waits_in_the_publisher_is_not_the_requests() {
    // R14.1: 6 s of work, one request at a time, 500 ms for each.
    let options = options(|b| {
        b.batch_max_inflight(1)
            .batch_max_entries(10)
            .timeout(ms(250))
    });
    let slow = |builder: SimulationBuilder<u64>| builder.latency(ms(300));
    let mut sim = Sim::build(&options, slow, |_| Answer::stored());
    sim.admit_all(0..200);
    sim.run();
    assert_eq!(sim.requests().len(), 20);
    assert_eq!(sim.deliveries(), 200);
    assert_eq!(sim.elapsed(), ms(6_000));
}

#[test]
fn an_answer_in_the_last_moment_counts() {
    let mut sim = Sim::new(&defaults(), |_| Answer::stored().after(ms(10_000)));
    sim.admit(1, message(1));
    sim.run();
    assert_eq!(sim.deliveries(), 1);
    assert!(sim.cancelled().is_empty());
}

#[test]
fn an_answer_that_comes_after_the_timeout_changes_nothing() {
    let mut sim = Sim::new(&defaults(), |_| Answer::stored().after(ms(10_001)));
    sim.admit(1, message(1));
    sim.run();
    assert_eq!(sim.settled_of(1).at, ms(10_020));
    assert_eq!(sim.why(1), (Class::Transient, "transport"));
    assert!(sim.failure(1).may_have_been_stored);
    assert_eq!(sim.elapsed(), ms(10_021));
    sim.assert_quiescent();
}

#[test]
fn a_late_answer_of_any_kind_is_no_misuse() {
    let late = ms(20_000);
    for answer in [
        Answer::refused(),
        Answer::error(401, "UNAUTHENTICATED"),
        Answer::lost(),
    ] {
        let mut sim = Sim::new(&defaults(), move |_| answer.clone().after(late));
        sim.admit_all(1..=3);
        sim.run();
        assert_eq!(sim.requests().len(), 1);
        sim.assert_quiescent();
    }
}

#[test]
fn a_timeout_of_centuries_is_no_fault() {
    let options = options(|b| b.timeout(Duration::from_millis(u64::MAX)));
    let mut sim = Sim::new(&options, |_| Answer::stored());
    sim.admit(1, message(1));
    sim.run();
    assert_eq!(sim.deliveries(), 1);
}

#[test]
fn requests_time_out_each_at_its_own_time() {
    let mut sim = Sim::new(
        &options(|b| b.batch_max_entries(1).timeout(ms(100))),
        |_| Answer::never(),
    );
    sim.admit_at(ms(0), 1, message(1));
    sim.admit_at(ms(30), 2, message(2));
    sim.admit_at(ms(60), 3, message(3));
    sim.run();
    let ends: Vec<_> = (1..=3).map(|tag| sim.settled_of(tag).at).collect();
    assert_eq!(ends, [ms(200), ms(230), ms(260)]);
}
