//! What becomes of the messages of a request that failed as a whole.

use std::collections::BTreeSet;

use pubsink_core::failure::Class;
use pubsink_core::reason::TransportKind;

use crate::sim::answers::{Answer, error, ids};
use crate::sim::{Sim, defaults, ms};

fn hundred(answer: &Answer) -> Sim {
    let answer = answer.clone();
    let mut sim = Sim::new(&defaults(), move |_| answer.clone());
    sim.admit_all(0..100);
    sim.run();
    sim.assert_quiescent();
    assert_eq!(sim.settled().len(), 100);
    sim
}

#[test]
fn a_config_failure_costs_one_request_and_settles_all() {
    for (http, status) in [
        (404, "NOT_FOUND"),
        (403, "PERMISSION_DENIED"),
        (401, "UNAUTHENTICATED"),
    ] {
        let sim = hundred(&Answer::error(http, status));
        assert_eq!(sim.requests().len(), 1, "{status}");
        for tag in 0..100 {
            assert_eq!(sim.why(tag), (Class::Config, "pubsub"));
            assert!(!sim.failure(tag).may_have_been_stored);
        }
    }
}

#[test]
fn each_throttled_message_has_a_draw_of_its_own() {
    let sim = hundred(&Answer::error(429, "RESOURCE_EXHAUSTED"));
    let pauses: BTreeSet<_> = (0..100)
        .map(|tag| match sim.failure(tag).class {
            Class::RetryAfter(pause) => pause,
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(pauses.iter().all(|pause| (ms(1)..=ms(500)).contains(pause)));
    assert!(pauses.len() > 50, "{} different pauses", pauses.len());
    assert_eq!(sim.requests().len(), 1);
}

#[test]
fn a_pause_the_server_names_raises_the_draws_that_are_shorter() {
    let mut reply = error(429, "RESOURCE_EXHAUSTED");
    reply.headers.insert("retry-after", "60".parse().unwrap());
    let sim = hundred(&Answer::reply(reply));
    for tag in 0..100 {
        assert_eq!(sim.failure(tag).class, Class::RetryAfter(ms(60_000)));
    }
}

#[test]
fn ids_are_never_paired_by_guess() {
    for count in [0, 99, 101] {
        let names: Vec<_> = (0..count).map(|n| n.to_string()).collect();
        let sim = hundred(&Answer::reply(ids(names.iter().map(String::as_str))).although_stored());
        for tag in 0..100 {
            assert_eq!(sim.why(tag), (Class::Transient, "unexpected_reply"));
            assert!(sim.failure(tag).may_have_been_stored);
        }
        assert_eq!(sim.requests().len(), 1);
    }
}

#[test]
fn ids_belong_to_the_messages_in_order() {
    let names: Vec<_> = (0..100).map(|n| format!("x{n}")).collect();
    let sim = hundred(&Answer::reply(ids(names.iter().map(String::as_str))).although_stored());
    for tag in 0..100 {
        assert_eq!(sim.delivered(tag), format!("x{tag}"));
    }
}

#[test]
fn without_a_connection_nothing_was_stored_and_otherwise_it_may_have_been() {
    use TransportKind::{Closed, Connect, Connection, Other, Timeout};
    for (kind, maybe) in [
        (Connect, false),
        (Timeout, true),
        (Connection, true),
        (Closed, true),
        (Other, true),
    ] {
        let sim = hundred(&Answer::failed(kind));
        assert_eq!(sim.why(7), (Class::Transient, "transport"));
        assert_eq!(sim.failure(7).may_have_been_stored, maybe, "{kind:?}");
        assert_eq!(sim.requests().len(), 1);
    }
}

#[test]
fn a_lost_task_may_have_sent_its_request() {
    let sim = hundred(&Answer::lost());
    assert_eq!(sim.why(7), (Class::Transient, "transport"));
    assert!(sim.failure(7).may_have_been_stored);
}

#[test]
fn messages_of_one_request_share_its_reason() {
    let sim = hundred(&Answer::error(500, "INTERNAL"));
    let (first, last) = (&sim.failure(0).reason, &sim.failure(99).reason);
    assert!(std::sync::Arc::ptr_eq(first, last));
}
