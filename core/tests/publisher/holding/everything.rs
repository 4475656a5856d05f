//! More keys fail than can be remembered: every key is stopped, rather than one forgotten.

use std::sync::Arc;

use pubsink_core::publish::{Admission, Input, Output, PublishRequest, Publisher, Step};
use pubsink_core::reason::StoppedKey;

use super::{assert_stopped_by, failing, options};
use crate::sim::answers::{Answer, error};
use crate::sim::messages::{keyed, message};
use crate::sim::{Sim, ms, origin};

const FAILING: &[u64] = &[1, 2, 3];

/// Room for two stopped keys; messages 1, 2 and 3 fail.
fn sim() -> Sim {
    let options = options(|b| b.batch_max_entries(1).max_stopped_keys(2));
    Sim::new(&options, failing(FAILING, Answer::error(500, "INTERNAL")))
}

/// Three keys failed.
fn overflowed() -> Sim {
    let mut sim = sim();
    for (tag, key) in [(1, "b"), (2, "a"), (3, "c")] {
        sim.admit(tag, keyed(tag, key));
        sim.run();
    }
    sim
}

fn named(sim: &Sim) -> Vec<(&str, bool)> {
    let keys = sim.machine().stopped_keys();
    keys.map(|stopped| (&*stopped.key, stopped.every_key))
        .collect()
}

#[test]
fn every_keyed_message_is_refused_for_the_first_failure_that_found_no_room() {
    let mut sim = overflowed();
    for (tag, key) in [(11, "c"), (12, "never seen"), (13, "a")] {
        sim.admit(tag, keyed(tag, key));
    }
    sim.admit(14, message(14));
    sim.run();
    assert_stopped_by(&sim, 3, [11, 12]);
    assert!(sim.stopped(12).every_key && &*sim.stopped(12).key == "c");
    assert_stopped_by(&sim, 2, [13]);
    assert!(!sim.stopped(13).every_key);
    sim.delivered(14);
    assert_eq!(named(&sim), [("a", false), ("b", false), ("c", true)]);
    let gauges = sim.machine().gauges();
    assert_eq!((gauges.stopped_keys, gauges.every_key_stopped), (2, true));
}

#[test]
fn only_resuming_all_keys_ends_it() {
    let mut sim = overflowed();
    for key in ["a", "b", "c"] {
        sim.resume(key);
    }
    sim.admit(11, keyed(11, "a"));
    sim.run();
    assert_stopped_by(&sim, 3, [11]);
    assert_eq!(named(&sim), [("c", true)]);
    sim.resume_all();
    assert_eq!(named(&sim), []);
    sim.admit(12, keyed(12, "a"));
    sim.admit(13, keyed(13, "c"));
    sim.run();
    assert_eq!(sim.stored_tags(), [12, 13]);
}

#[test]
fn what_waits_of_other_keys_is_settled_and_what_is_in_flight_goes_on() {
    let options = options(|b| b.batch_max_inflight(2).max_stopped_keys(1));
    let server = failing(&[1, 2], Answer::error(500, "INTERNAL"));
    let mut slow = failing(&[], Answer::stored());
    let mut server = server;
    let mut sim = Sim::new(&options, move |request| {
        let message = &request.messages[0];
        match &*message.ordering_key {
            "in flight" => slow(request).after(ms(500)),
            _ => server(request),
        }
    });
    sim.admit(1, keyed(1, "a"));
    sim.run();
    // The key that fails next, and one whose request is slow; both have more behind it.
    sim.admit(2, keyed(2, "b"));
    sim.admit(3, keyed(3, "in flight"));
    sim.run_until(ms(95));
    sim.admit(4, keyed(4, "b"));
    sim.admit(5, keyed(5, "in flight"));
    // Keys that have their turn but no request, and one that still lingers.
    sim.admit(6, keyed(6, "waits"));
    sim.admit_direct(7, keyed(7, "direct"));
    sim.run_until(ms(130));
    sim.admit(8, keyed(8, "lingers"));
    sim.admit(9, message(9));
    sim.run();
    sim.delivered(3);
    sim.delivered(7);
    sim.delivered(9);
    assert_stopped_by(&sim, 2, [4, 5, 6, 8]);
    assert!(!named(&sim).is_empty());
    sim.assert_quiescent();
}

#[test]
fn a_message_whose_caller_vouches_for_its_order_goes_all_the_same() {
    let mut sim = overflowed();
    let next = |tag, key: &str| {
        let admission = Admission::message(keyed(tag, key), &options(|b| b)).unwrap();
        let admission = admission.resuming_key();
        Input::Admit { tag, admission }
    };
    sim.handle(next(11, "a")).unwrap();
    sim.handle(next(12, "c")).unwrap();
    sim.admit(13, keyed(13, "c"));
    sim.run();
    let mut stored = sim.stored_tags();
    stored.sort_unstable();
    assert_eq!(stored, [11, 12]);
    assert_stopped_by(&sim, 3, [13]);
    assert_eq!(named(&sim), [("b", false), ("c", true)]);
}

#[test]
fn keys_that_fail_for_ever_cost_no_more_than_the_table() {
    let options = options(|b| b.max_stopped_keys(8).batch_queue_tenant(4_096));
    let mut sim = Sim::new(&options, |_| Answer::refused());
    let mut sizes = Vec::new();
    for round in 0..3_u64 {
        for n in 0..1_000 {
            let tag = round * 1_000 + n;
            sim.admit(tag, keyed(tag, &format!("key {tag:05}")));
        }
        sim.run();
        sizes.push(format!("{:?}", sim.machine()).len());
    }
    assert_eq!(sim.settled().len(), 3_000);
    assert_eq!(sim.machine().gauges().stopped_keys, 8);
    assert_eq!(sim.machine().gauges().ordering_keys, 0);
    assert!(sizes[2] <= sizes[0] + 100, "{sizes:?}");
    sim.resume_all();
    assert_eq!(named(&sim), []);
    sim.assert_quiescent();
}

/// A bisected batch whose parts wait for their turn has no request that would end it.
#[test]
fn a_batch_between_two_of_its_parts_is_settled_too() {
    let options = options(|b| b.batch_max_entries(2).max_stopped_keys(1));
    let mut machine = Publisher::new(Arc::clone(&options), false, 1);
    let mut requests = Vec::new();
    for (tag, key) in [(1, "a"), (2, "b"), (3, "c"), (4, "c"), (5, "c")] {
        let admission = Admission::message(keyed(tag, key), &options).unwrap();
        machine
            .handle(origin(), Input::Admit { tag, admission })
            .unwrap();
    }
    machine.handle(origin(), Input::Flush { tag: 9 }).unwrap();
    while let Step::Do(output) = machine.poll(origin()) {
        let Output::Send(request) = output else {
            panic!("{output:?}");
        };
        requests.push(request);
    }
    // The full batch leaves first.
    let [c, a, b] = <[PublishRequest; 3]>::try_from(requests).unwrap();
    assert_eq!(c.len(), 2);
    // All three answers come before the machine is polled again.
    let refusal = error(400, "INVALID_ARGUMENT");
    for request in [a, c, b] {
        let (_, sent) = request.encode();
        let response = sent.answered(&refusal);
        machine.handle(origin(), Input::Response(response)).unwrap();
    }
    let mut settled = Vec::new();
    while let Step::Do(output) = machine.poll(origin()) {
        match output {
            Output::Settled { tag, outcome } => settled.push((tag, outcome.unwrap_err())),
            Output::Flushed { tag } => assert_eq!((tag, settled.len()), (9, 5)),
            other => panic!("{other:?}"),
        }
    }
    let kinds: Vec<_> = settled
        .iter()
        .map(|(tag, failure)| (*tag, failure.reason.kind()))
        .collect();
    let expected = [
        (1, "pubsub"),
        (2, "pubsub"),
        (3, "key_stopped"),
        (4, "key_stopped"),
        (5, "key_stopped"),
    ];
    assert_eq!(kinds, expected);
    let gauges = machine.gauges();
    assert_eq!(
        (gauges.messages, gauges.ordering_keys, gauges.waiting),
        (0, 0, 0)
    );
    let keys: Vec<&StoppedKey> = machine.stopped_keys().collect();
    assert_eq!((&*keys[0].key, &*keys[1].key), ("a", "b"));
}
