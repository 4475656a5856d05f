//! Deliveries that go one request each.

use crate::sim::answers::Answer;
use crate::sim::messages::{keyed, message};
use crate::sim::{Sim, defaults, ms, options};

#[test]
fn direct_deliveries_leave_at_once_one_request_each_and_eight_at_a_time() {
    let mut sim = Sim::new(&defaults(), |_| Answer::stored());
    for tag in 1..=10 {
        sim.admit_direct(tag, message(tag));
    }
    sim.run();
    assert_eq!(
        sim.sent(),
        (1..=10).map(|tag| vec![tag]).collect::<Vec<_>>()
    );
    assert_eq!(sim.sent_at(), [0, 0, 0, 0, 0, 0, 0, 0, 50, 50]);
    assert_eq!(sim.most_in_flight(), [0, 8]);
    sim.assert_quiescent();
}

#[test]
fn direct_and_batched_requests_have_limits_of_their_own() {
    let options = options(|b| {
        b.batch_max_entries(1)
            .batch_max_inflight(2)
            .sink_concurrency(3)
    });
    let mut sim = Sim::new(&options, |_| Answer::stored());
    sim.admit_all(1..=4);
    for tag in 5..=9 {
        sim.admit_direct(tag, message(tag));
    }
    sim.run();
    assert_eq!(sim.most_in_flight(), [2, 3]);
    assert_eq!(sim.sent_at(), [0, 0, 0, 0, 0, 50, 50, 50, 50]);
    sim.assert_quiescent();
}

#[test]
fn without_batching_every_message_is_direct() {
    let mut sim = Sim::new(&options(|b| b.batch(false)), |_| Answer::stored());
    sim.admit_all(1..=3);
    sim.run();
    assert_eq!(sim.sent(), [[1], [2], [3]]);
    assert_eq!(sim.sent_at(), [0, 0, 0]);
}

#[test]
fn a_direct_message_of_a_key_keeps_its_place_among_the_batched_ones() {
    let mut sim = Sim::new(&defaults(), |_| Answer::stored());
    sim.admit(1, keyed(1, "k"));
    sim.admit(2, keyed(2, "k"));
    sim.admit_direct(3, keyed(3, "k"));
    sim.admit_direct(4, keyed(4, "k"));
    sim.admit(5, keyed(5, "k"));
    sim.run();
    assert_eq!(sim.sent(), [vec![1, 2], vec![3], vec![4], vec![5]]);
    // The batch does not linger either: what comes later cannot pass the direct message.
    assert_eq!(sim.sent_at(), [0, 50, 100, 150]);
    assert_eq!(sim.stored_tags(), [1, 2, 3, 4, 5]);
    sim.assert_quiescent();
}

#[test]
fn a_direct_message_of_an_idle_key_leaves_at_once() {
    let mut sim = Sim::new(&defaults(), |_| Answer::stored());
    sim.admit_direct(1, keyed(1, "k"));
    sim.run();
    assert_eq!(sim.sent_at(), [0]);
    sim.assert_quiescent();
}

#[test]
fn what_fills_a_batch_of_a_key_while_it_is_busy_leaves_with_its_turn() {
    let options = options(|b| b.batch_max_entries(2).batch_linger(ms(500)));
    let mut sim = Sim::new(&options, |_| Answer::stored());
    for tag in 1..=4 {
        sim.admit(tag, keyed(tag, "k"));
    }
    sim.run();
    assert_eq!(sim.sent(), [[1, 2], [3, 4]]);
    assert_eq!(sim.sent_at(), [0, 50]);
}
