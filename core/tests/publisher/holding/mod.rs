//! Ordering keys that are held after a failure, until they are resumed.

mod everything;
mod places;
mod resuming;
mod shown;

use std::sync::Arc;

use pubsink_core::failure::{Class, ErrorClass};
use pubsink_core::options::{OrderingOnFailure, PublisherOptions, PublisherOptionsBuilder};
use pubsink_core::reason::TransportKind;

use crate::sim::answers::{Answer, TokenAnswer, reply};
use crate::sim::look::Tagged as _;
use crate::sim::messages::{keyed, message};
use crate::sim::{Recorded, Sim, ms};

fn options(
    set: impl FnOnce(PublisherOptionsBuilder) -> PublisherOptionsBuilder,
) -> Arc<PublisherOptions> {
    crate::sim::options(|b| set(b.ordering_on_failure(OrderingOnFailure::Hold)))
}

/// Two messages a request.
fn pairs() -> Arc<PublisherOptions> {
    options(|b| b.batch_max_entries(2))
}

/// Answers like this to every request that holds one of `tags`.
fn failing(tags: &'static [u64], answer: Answer) -> impl FnMut(&Recorded) -> Answer {
    move |request| {
        let mut sent = request.messages.iter().map(|message| message.tag());
        if sent.any(|tag| tags.contains(&tag)) {
            answer.clone()
        } else {
            Answer::stored()
        }
    }
}

/// `tags` failed because message `first` of their key did.
fn assert_stopped_by(sim: &Sim, first: u64, tags: impl IntoIterator<Item = u64>) {
    for tag in tags {
        let cause = &sim.stopped(tag).cause;
        let own = &sim.failure(first).reason;
        assert!(Arc::ptr_eq(cause, own), "{tag}: {cause}");
    }
}

#[test]
fn each_kind_of_failure_stops_its_key() {
    let answers = [
        (Answer::refused(), ErrorClass::Permanent, false),
        (
            Answer::error(403, "PERMISSION_DENIED"),
            ErrorClass::Permanent,
            true,
        ),
        (
            Answer::error(401, "UNAUTHENTICATED"),
            ErrorClass::Permanent,
            true,
        ),
        (
            Answer::error(429, "RESOURCE_EXHAUSTED"),
            ErrorClass::Throttled,
            false,
        ),
        (Answer::error(500, "INTERNAL"), ErrorClass::Transient, false),
        (Answer::reply(reply(413, "")), ErrorClass::Transient, false),
        (
            Answer::reply(reply(200, "{}")),
            ErrorClass::Transient,
            false,
        ),
        (
            Answer::failed(TransportKind::Connect),
            ErrorClass::Transient,
            false,
        ),
        (
            Answer::failed(TransportKind::Connection),
            ErrorClass::Transient,
            false,
        ),
        (Answer::lost(), ErrorClass::Transient, false),
        (Answer::never(), ErrorClass::Transient, false),
    ];
    for (answer, class, config) in answers {
        let shown = format!("{answer:?}");
        let mut sim = Sim::new(&options(|b| b.batch_max_entries(1)), failing(&[1], answer));
        for tag in 1..=3 {
            sim.admit(tag, keyed(tag, "k"));
        }
        sim.run();
        sim.admit(4, keyed(4, "k"));
        sim.run();
        assert_eq!(sim.sent(), [[1]], "{shown}");
        assert_stopped_by(&sim, 1, 2..=4);
        let stopped = sim.stopped(2);
        assert_eq!((stopped.class, stopped.config), (class, config), "{shown}");
        assert_eq!(&*stopped.key, "k");
        assert_eq!(sim.settled_of(1).at, sim.settled_of(3).at);
        sim.assert_quiescent();
    }
}

#[test]
fn a_provider_that_gives_no_token_stops_the_key() {
    for answer in [
        TokenAnswer::refuse("no"),
        TokenAnswer::lost(),
        TokenAnswer::never(),
    ] {
        let options = options(|b| b.batch_max_entries(1));
        let mut sim = Sim::authorized(&options, move |_| answer.clone(), |_| Answer::stored());
        sim.admit(1, keyed(1, "k"));
        sim.admit(2, keyed(2, "k"));
        sim.run();
        assert_eq!(sim.why(1), (Class::Transient, "no_credentials"));
        assert_stopped_by(&sim, 1, [2]);
        assert_eq!(sim.asked().len(), 1);
        sim.assert_quiescent();
    }
}

#[test]
fn other_keys_and_messages_without_one_go_on() {
    let mut sim = Sim::new(&pairs(), failing(&[1], Answer::error(500, "INTERNAL")));
    sim.admit(1, keyed(1, "k"));
    sim.admit(2, keyed(2, "k"));
    sim.run_until(ms(10));
    for tag in 3..=6 {
        sim.admit(tag, keyed(tag, "l"));
        sim.admit(tag + 10, message(tag + 10));
        sim.admit(tag + 20, keyed(tag + 20, "k"));
    }
    sim.run();
    for tag in (3..=6).chain(13..=16) {
        sim.delivered(tag);
    }
    assert_stopped_by(&sim, 1, 23..=26);
    assert_eq!(sim.machine().gauges().stopped_keys, 1);
    sim.assert_quiescent();
}

#[test]
fn messages_that_fail_for_one_key_share_the_reason() {
    let mut sim = Sim::new(&pairs(), failing(&[1], Answer::refused()));
    for tag in 1..=9 {
        sim.admit(tag, keyed(tag, "k"));
    }
    sim.run();
    let (one, other) = (&sim.failure(5).reason, &sim.failure(9).reason);
    assert!(Arc::ptr_eq(one, other));
}

#[test]
fn a_refusal_at_a_ceiling_stops_no_key() {
    // Its caller knows at once, before the next message of the key is made.
    let mut sim = Sim::new(&options(|b| b.batch_queue_max(1)), |_| Answer::stored());
    sim.admit(1, keyed(1, "k"));
    sim.admit(2, keyed(2, "k"));
    sim.run();
    assert_eq!(sim.failure(2).reason.kind(), "batch_queue_full");
    sim.admit(3, keyed(3, "k"));
    sim.run();
    assert_eq!(sim.stored_tags(), [1, 3]);
    assert_eq!(sim.machine().stopped_keys().count(), 0);
}

#[test]
fn a_stopped_key_is_named_before_a_ceiling() {
    let mut sim = Sim::new(
        &options(|b| b.batch_queue_max(1)),
        failing(&[1], Answer::refused()),
    );
    sim.admit(1, keyed(1, "k"));
    sim.run();
    sim.admit(2, message(2));
    sim.admit(3, keyed(3, "k"));
    sim.run();
    assert_stopped_by(&sim, 1, [3]);
}

#[test]
fn by_default_a_key_goes_on() {
    let options = crate::sim::options(|b| b.batch_max_entries(1));
    let mut sim = Sim::new(&options, failing(&[1], Answer::refused()));
    sim.admit(1, keyed(1, "k"));
    sim.admit(2, keyed(2, "k"));
    sim.run();
    sim.delivered(2);
    assert_eq!(sim.machine().stopped_keys().count(), 0);
}
