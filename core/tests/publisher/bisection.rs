//! A refused request is halved until what was refused stands alone.

use pubsink_core::failure::Class;
use pubsink_core::reason::Reason;

use crate::sim::answers::{Answer, reply};
use crate::sim::look::Tagged as _;
use crate::sim::messages::message;
use crate::sim::{Recorded, Sim, ms, options};

/// Refuses every request that holds one of `poisoned`.
fn refusing(poisoned: &'static [u64]) -> impl FnMut(&Recorded) -> Answer {
    move |request| {
        let bad = request
            .messages
            .iter()
            .any(|message| poisoned.contains(&message.tag()));
        if bad {
            Answer::refused()
        } else {
            Answer::stored()
        }
    }
}

fn batches_of(entries: usize, server: impl FnMut(&Recorded) -> Answer + 'static) -> Sim {
    let sim = Sim::new(&options(|b| b.batch_max_entries(entries)), server);
    assert!(entries <= sim.machine().options().batch_queue_tenant());
    sim
}

/// Everything but `poisoned` is stored exactly once; they failed with the server's own text.
fn assert_found(sim: &Sim, count: u64, poisoned: &[u64]) {
    sim.assert_quiescent();
    let mut stored = sim.stored_tags();
    stored.sort_unstable();
    let good: Vec<_> = (0..count).filter(|tag| !poisoned.contains(tag)).collect();
    assert_eq!(stored, good);
    for tag in good {
        let at: usize = sim
            .delivered(tag)
            .strip_prefix("id-")
            .unwrap()
            .parse()
            .unwrap();
        assert_eq!(sim.stored()[at].message.tag(), tag);
    }
    for tag in poisoned {
        let failure = sim.failure(*tag);
        assert_eq!(failure.class, Class::Permanent);
        assert!(!failure.may_have_been_stored);
        let expected = Reason::Pubsub {
            http: 400,
            status: "INVALID_ARGUMENT".into(),
            message: "the server's text".into(),
            error_reason: None,
        };
        assert_eq!(*failure.reason, expected);
    }
}

#[test]
fn one_bad_message_among_1000_costs_20_requests_at_most_wherever_it_is() {
    for bad in [&[0], &[1], &[499], &[500], &[511], &[512], &[998], &[999]] {
        let mut sim = batches_of(1_000, refusing(bad));
        sim.admit_all(0..1_000);
        sim.run();
        assert_found(&sim, 1_000, bad);
        assert!(
            sim.requests().len() <= 21,
            "{} requests for {bad:?}",
            sim.requests().len()
        );
    }
}

#[test]
fn one_bad_message_costs_twice_the_binary_logarithm_for_every_size_of_batch() {
    for count in 1..=40_u64 {
        for bad in 0..count {
            let server = move |request: &Recorded| {
                let found = request.messages.iter().any(|message| message.tag() == bad);
                if found {
                    Answer::refused()
                } else {
                    Answer::stored()
                }
            };
            let mut sim = batches_of(1_000, server);
            sim.admit_all(0..count);
            sim.run();
            let bound = 2 * count.next_power_of_two().ilog2() as usize;
            assert!(sim.requests().len() - 1 <= bound, "{bad} of {count}");
            assert_eq!(sim.deliveries() as u64, count - 1);
        }
    }
}

#[test]
fn when_all_64_are_bad_it_takes_127_requests() {
    let all: Vec<_> = (0..64).collect();
    let mut sim = batches_of(64, |_| Answer::refused());
    sim.admit_all(0..64);
    sim.run();
    assert_found(&sim, 64, &all);
    assert_eq!(sim.requests().len(), 127);
}

#[test]
fn two_bad_messages_among_100_cost_29_requests_at_most() {
    let mut sim = batches_of(100, refusing(&[17, 83]));
    sim.admit_all(0..100);
    sim.run();
    assert_found(&sim, 100, &[17, 83]);
    assert!(
        sim.requests().len() <= 29,
        "{} requests",
        sim.requests().len()
    );
}

#[test]
fn batches_have_their_normal_size_again_afterwards() {
    let mut sim = batches_of(100, refusing(&[17, 83]));
    sim.admit_all(0..100);
    sim.run();
    let bisected = sim.requests().len();
    sim.admit_all(100..400);
    sim.run();
    assert_eq!(sim.sent_counts()[bisected..], [100, 100, 100]);
}

#[test]
fn halves_go_ahead_of_new_batches() {
    let options = options(|b| b.batch_max_entries(4).batch_max_inflight(1));
    let mut sim = Sim::new(&options, refusing(&[0]));
    sim.admit_all(0..8);
    sim.run();
    let expected = [
        vec![0, 1, 2, 3],
        vec![0, 1],
        vec![0],
        vec![1],
        vec![2, 3],
        vec![4, 5, 6, 7],
    ];
    assert_eq!(sim.sent(), expected);
}

#[test]
fn halves_without_a_key_share_the_requests_in_flight() {
    let options = options(|b| b.batch_max_entries(8).batch_max_inflight(3));
    let mut sim = Sim::new(&options, |_| Answer::refused());
    sim.admit_all(0..8);
    sim.run();
    assert_eq!(sim.requests().len(), 15);
    assert_eq!(sim.most_in_flight(), [3, 0]);
    sim.assert_quiescent();
}

#[test]
fn a_half_that_fails_otherwise_settles_by_its_own_reply() {
    let server = |request: &Recorded| match request.messages.len() {
        8 => Answer::refused(),
        _ if request.messages[0].tag() == 0 => Answer::error(503, "UNAVAILABLE"),
        _ => Answer::stored(),
    };
    let mut sim = batches_of(8, server);
    sim.admit_all(0..8);
    sim.run();
    assert_eq!(sim.sent_counts(), [8, 4, 4]);
    assert_eq!(sim.stored_tags(), [4, 5, 6, 7]);
    for tag in 0..4 {
        let Class::RetryAfter(pause) = sim.failure(tag).class else {
            panic!("{tag} is not throttled");
        };
        assert!((ms(1)..=ms(500)).contains(&pause));
    }
    sim.assert_quiescent();
}

#[test]
fn a_half_that_is_never_answered_does_not_stop_the_other() {
    let server = |request: &Recorded| match request.messages.len() {
        4 => Answer::refused(),
        _ if request.messages[0].tag() == 0 => Answer::never(),
        _ => Answer::stored(),
    };
    let mut sim = batches_of(4, server);
    sim.admit_all(0..4);
    sim.run();
    assert_eq!(sim.stored_tags(), [2, 3]);
    assert_eq!(sim.why(0), (Class::Transient, "transport"));
    assert!(sim.failure(1).may_have_been_stored);
    sim.assert_quiescent();
}

#[test]
fn a_request_of_several_messages_that_is_too_large_is_halved_until_it_is_not() {
    let server = |request: &Recorded| match request.messages.len() {
        3.. => Answer::reply(reply(413, "<html>")),
        _ => Answer::stored(),
    };
    let mut sim = batches_of(8, server);
    sim.admit_all(0..8);
    sim.run();
    assert_eq!(sim.sent_counts(), [8, 4, 4, 2, 2, 2, 2]);
    assert_eq!(sim.deliveries(), 8);
    sim.assert_quiescent();
}

#[test]
fn a_single_message_that_is_too_large_for_the_server_is_transient() {
    let mut sim = batches_of(8, |_| Answer::reply(reply(413, "")));
    sim.admit(1, message(1));
    sim.run();
    assert_eq!(sim.why(1), (Class::Transient, "status"));
    assert!(!sim.failure(1).may_have_been_stored);
    assert_eq!(sim.requests().len(), 1);
}

#[test]
fn a_part_is_byte_for_byte_what_those_messages_alone_would_be() {
    let mut bisected = batches_of(64, |_| Answer::refused());
    bisected.admit_all(0..64);
    bisected.run();
    for request in bisected.requests() {
        let mut alone = batches_of(64, |_| Answer::stored());
        alone.admit_all(request.messages.iter().map(|message| message.tag()));
        alone.run();
        assert_eq!(alone.requests()[0].body(), request.body());
    }
}
