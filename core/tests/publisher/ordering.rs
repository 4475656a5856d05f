//! Ordering keys.

use std::sync::Arc;

use pubsink_core::publish::{Admission, Gauges, Input, Output, Publisher, Step};

use crate::sim::answers::{self, Answer};
use crate::sim::look::Tagged as _;
use crate::sim::messages::{keyed, message};
use crate::sim::{Recorded, Sim, defaults, ms, options, origin};

#[test]
fn a_key_has_one_request_in_flight_and_its_messages_leave_in_order() {
    let mut sim = Sim::new(&options(|b| b.batch_max_entries(3)), |_| Answer::stored());
    for tag in 1..=8 {
        sim.admit(tag, keyed(tag, "k"));
    }
    sim.run();
    assert_eq!(sim.sent(), [vec![1, 2, 3], vec![4, 5, 6], vec![7, 8]]);
    // 7 and 8 came at 0, so their linger is over when their turn comes.
    assert_eq!(sim.sent_at(), [0, 50, 100]);
    assert_eq!(sim.stored_tags(), (1..=8).collect::<Vec<_>>());
    sim.assert_quiescent();
}

#[test]
fn a_request_carries_messages_of_one_key_only() {
    let mut sim = Sim::new(&defaults(), |_| Answer::stored());
    sim.admit(1, keyed(1, "a"));
    sim.admit(2, keyed(2, "b"));
    sim.admit(3, message(3));
    sim.admit(4, keyed(4, "a"));
    sim.admit(5, message(5));
    sim.run();
    let mut sent = sim.sent();
    sent.sort();
    assert_eq!(sent, [vec![1, 4], vec![2], vec![3, 5]]);
    assert_eq!(sim.sent_at(), [20, 20, 20]);
}

#[test]
fn a_keys_batch_lingers_from_its_own_first_message() {
    let mut sim = Sim::new(&defaults(), |_| Answer::stored());
    sim.admit(1, keyed(1, "a"));
    sim.run_until(ms(10));
    sim.admit(2, keyed(2, "b"));
    sim.run_until(ms(15));
    sim.admit(3, keyed(3, "a"));
    sim.run();
    assert_eq!(sim.sent(), [vec![1, 3], vec![2]]);
    assert_eq!(sim.sent_at(), [20, 30]);
}

#[test]
fn a_refused_batch_of_a_key_is_bisected_one_request_at_a_time_and_in_order() {
    let server = |request: &Recorded| {
        let poisoned = request.messages.iter().any(|message| message.tag() == 3);
        if poisoned {
            Answer::refused()
        } else {
            Answer::stored()
        }
    };
    let mut sim = Sim::new(&options(|b| b.batch_max_entries(8)), server);
    for tag in 1..=12 {
        sim.admit(tag, keyed(tag, "k"));
    }
    sim.run();
    let expected = [
        vec![1, 2, 3, 4, 5, 6, 7, 8],
        vec![1, 2, 3, 4],
        vec![1, 2],
        vec![3, 4],
        vec![3],
        vec![4],
        vec![5, 6, 7, 8],
        vec![9, 10, 11, 12],
    ];
    assert_eq!(sim.sent(), expected);
    assert_eq!(sim.sent_at(), [0, 50, 100, 150, 200, 250, 300, 350]);
    assert_eq!(sim.stored_tags(), [1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    sim.assert_quiescent();
}

#[test]
fn a_failed_request_does_not_stop_its_key() {
    let mut count = 0;
    let server = move |_: &Recorded| {
        count += 1;
        if count == 1 {
            Answer::error(500, "INTERNAL")
        } else {
            Answer::stored()
        }
    };
    let mut sim = Sim::new(&options(|b| b.batch_max_entries(2)), server);
    for tag in 1..=4 {
        sim.admit(tag, keyed(tag, "k"));
    }
    sim.run();
    assert_eq!(sim.stored_tags(), [3, 4]);
    assert!(sim.failure(1).may_have_been_stored);
    sim.assert_quiescent();
}

#[test]
fn a_request_that_is_never_answered_frees_its_key_at_its_timeout() {
    let mut count = 0;
    let server = move |_: &Recorded| {
        count += 1;
        if count == 1 {
            Answer::never()
        } else {
            Answer::stored()
        }
    };
    let mut sim = Sim::new(&options(|b| b.batch_max_entries(1)), server);
    sim.admit(1, keyed(1, "k"));
    sim.admit(2, keyed(2, "k"));
    sim.run();
    assert_eq!(sim.sent_at(), [0, 10_000]);
    assert_eq!(sim.stored_tags(), [2]);
}

#[test]
fn keys_that_were_used_once_leave_nothing_behind() {
    let options = defaults();
    let mut machine = Publisher::new(Arc::clone(&options), false, 1);
    let fresh = format!("{machine:?}").len();
    for round in 0..400_u64 {
        for tag in round * 1_000..(round + 1) * 1_000 {
            let message = keyed(tag, &format!("key {tag}"));
            let admission = Admission::message(message, &options).unwrap();
            machine
                .handle(origin(), Input::Admit { tag, admission })
                .unwrap();
        }
        assert_eq!(machine.gauges().ordering_keys, 1_000);
        machine
            .handle(origin(), Input::Flush { tag: round })
            .unwrap();
        deliver_all(&mut machine);
        assert_eq!(machine.gauges(), Gauges::default());
    }
    // All of its state shows in Debug: nothing is left but a few numbers that have grown.
    let used = format!("{machine:?}").len();
    assert!(used <= fresh + 200, "{fresh} then {used}");
}

/// Answers every request with an id, without the simulation and its checks: they cost time.
fn deliver_all(machine: &mut Publisher<u64>) {
    let reply = answers::ids(["1"].into_iter());
    while let Step::Do(output) = machine.poll(origin()) {
        if let Output::Send(request) = output {
            let (_, sent) = request.encode();
            machine
                .handle(origin(), Input::Response(sent.answered(&reply)))
                .unwrap();
        }
    }
}

#[test]
fn keys_whose_messages_all_failed_leave_nothing_behind() {
    let mut sim = Sim::new(&options(|b| b.batch_queue_tenant(4_096)), |_| {
        Answer::refused()
    });
    for tag in 0..2_000 {
        sim.admit(tag, keyed(tag, &format!("key {}", tag / 2)));
    }
    sim.run();
    assert_eq!(sim.settled().len(), 2_000);
    sim.assert_quiescent();
}
