//! When a batch leaves, and with whom.

use std::sync::Arc;

use pubsink_core::publish::{Admission, Input, Publisher, WaitReason};

use crate::sim::answers::Answer;
use crate::sim::messages::{message, sized};
use crate::sim::{Sim, defaults, ms, options};

#[test]
fn a_batch_leaves_20_ms_after_its_first_message_came() {
    let mut sim = Sim::new(&defaults(), |_| Answer::stored());
    sim.admit(1, message(1));
    sim.admit_at(ms(12), 2, message(2));
    sim.admit_at(ms(19), 3, message(3));
    sim.admit_at(ms(21), 4, message(4));
    sim.run();
    assert_eq!(sim.sent(), [vec![1, 2, 3], vec![4]]);
    assert_eq!(sim.sent_at(), [20, 41]);
    assert_eq!(sim.delivered(3), "id-2");
    sim.assert_quiescent();
}

#[test]
fn a_full_batch_leaves_at_once_and_its_leftovers_keep_their_own_time() {
    let mut sim = Sim::new(&options(|b| b.batch_max_entries(3)), |_| Answer::stored());
    sim.admit(1, message(1));
    sim.admit_at(ms(10), 2, message(2));
    for tag in 3..=5 {
        sim.admit_at(ms(15), tag, message(tag));
    }
    sim.run();
    assert_eq!(sim.sent(), [vec![1, 2, 3], vec![4, 5]]);
    assert_eq!(sim.sent_at(), [15, 35]);
    sim.assert_quiescent();
}

#[test]
fn a_batch_is_full_when_its_data_is() {
    let mut sim = Sim::new(&options(|b| b.batch_max_bytes(10)), |_| Answer::stored());
    sim.admit(1, sized(1, 5));
    sim.admit(2, sized(2, 4));
    sim.drain();
    assert!(sim.requests().is_empty());
    sim.admit(3, sized(3, 2));
    sim.run();
    // The third did not fit; alone it waits its own 20 ms.
    assert_eq!(sim.sent(), [vec![1, 2], vec![3]]);
    assert_eq!(sim.sent_at(), [0, 20]);
}

#[test]
fn a_message_larger_than_a_batch_leaves_alone_and_at_once() {
    let mut sim = Sim::new(&options(|b| b.batch_max_bytes(10)), |_| Answer::stored());
    sim.admit(1, sized(1, 4));
    sim.admit(2, sized(2, 11));
    sim.admit(3, sized(3, 4));
    sim.run();
    assert_eq!(sim.sent(), [vec![1], vec![2], vec![3]]);
    assert_eq!(sim.sent_at(), [0, 0, 20]);
}

#[test]
fn at_most_eight_requests_are_in_flight() {
    let mut sim = Sim::new(&options(|b| b.batch_max_entries(2)), |_| Answer::stored());
    sim.admit_all(1..=20);
    sim.run();
    assert_eq!(sim.sent_at(), [0, 0, 0, 0, 0, 0, 0, 0, 50, 50]);
    assert_eq!(sim.most_in_flight(), [8, 0]);
    sim.assert_quiescent();
}

#[test]
fn what_waits_for_a_request_to_end_gathers_into_a_full_batch() {
    let one = options(|b| b.batch_max_inflight(1));
    let mut sim = Sim::new(&one, |_| Answer::stored());
    sim.admit(1, message(1));
    for tag in 2..=9 {
        sim.admit_at(ms(10 * tag), tag, message(tag));
    }
    sim.run();
    assert_eq!(sim.sent(), [vec![1, 2], vec![3, 4, 5, 6, 7], vec![8, 9]]);
    // 3 was due at 50, and its turn came at 70; then 8 was due at 100.
    assert_eq!(sim.sent_at(), [20, 70, 120]);
}

#[test]
fn the_wait_names_its_reason_and_its_instant() {
    let mut sim = Sim::new(&defaults(), |_| Answer::never());
    assert_eq!(sim.drain(), (None, WaitReason::Input));
    sim.admit(1, message(1));
    assert_eq!(sim.drain(), (Some(ms(20)), WaitReason::Linger));
    sim.run_until(ms(20));
    assert_eq!(sim.drain(), (Some(ms(10_020)), WaitReason::Timeout));
    sim.close(Some(ms(100)));
    assert_eq!(sim.drain(), (Some(ms(120)), WaitReason::Closing));
    sim.run_until(ms(120));
    assert_eq!(sim.drain(), (None, WaitReason::Closed));
    assert!(sim.machine().is_closed());
}

#[test]
fn time_that_goes_back_changes_nothing() {
    let options = defaults();
    let mut machine = Publisher::new(Arc::clone(&options), false, 1);
    let earlier = crate::sim::origin();
    let admission = Admission::message(message(1), &options).unwrap();
    let input = Input::Admit { tag: 1, admission };
    machine.handle(earlier + ms(100), input).unwrap();
    let step = machine.poll(earlier);
    let expected = format!("Wait(Some({:?}), Linger)", earlier + ms(120));
    assert_eq!(format!("{step:?}"), expected);
}
