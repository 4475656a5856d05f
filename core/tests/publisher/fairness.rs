//! No tenant keeps another waiting more than one turn.

use pubsink_core::publish::Message;

use crate::sim::answers::Answer;
use crate::sim::messages::of_tenant;
use crate::sim::{Sim, ms, options};

/// A publisher with one request at a time, so that turns are seen.
fn sim() -> Sim {
    let options = options(|b| {
        b.batch_max_inflight(1)
            .batch_queue_tenant(4_000)
            .batch_max_entries(100)
    });
    Sim::new(&options, |_| Answer::stored())
}

fn keyed(tag: u64, tenant: &str, key: String) -> Message {
    Message {
        ordering_key: key,
        ..of_tenant(tag, tenant)
    }
}

/// Which request carried `tag`, from 0.
fn turn(sim: &Sim, tag: u64) -> usize {
    sim.sent()
        .iter()
        .position(|tags| tags.contains(&tag))
        .unwrap()
}

#[test]
fn a_flood_delays_another_tenants_single_message_by_one_batch_at_most() {
    let mut sim = sim();
    for tag in 1..=4_000 {
        sim.admit(tag, of_tenant(tag, "flood"));
    }
    sim.run_until(ms(10));
    sim.admit(9_999, of_tenant(9_999, "small"));
    sim.run();
    assert_eq!(turn(&sim, 9_999), 1);
    assert_eq!(sim.requests().len(), 41);
    sim.assert_quiescent();
}

#[test]
fn tenants_share_every_batch_in_turns() {
    let mut sim = sim();
    for tag in 1..=90 {
        sim.admit(tag, of_tenant(tag, "a"));
    }
    for tag in 101..=104 {
        sim.admit(tag, of_tenant(tag, "b"));
    }
    sim.admit(201, crate::sim::messages::message(201));
    sim.run();
    let head = &sim.sent()[0][..8];
    assert_eq!(head, [1, 101, 201, 2, 102, 3, 103, 4]);
}

#[test]
fn a_flood_of_keys_delays_another_tenants_key_by_one_request_at_most() {
    let mut sim = sim();
    for tag in 1..=4_000 {
        sim.admit(tag, keyed(tag, "flood", format!("key {tag}")));
    }
    sim.run_until(ms(100));
    sim.admit(9_999, keyed(9_999, "small", "own".into()));
    let before = sim.requests().len();
    sim.run();
    // Its own linger of 20 ms, the request in flight at its end, and no more than one other.
    assert!(
        turn(&sim, 9_999) <= before + 1,
        "{} {before}",
        turn(&sim, 9_999)
    );
    sim.assert_quiescent();
}

#[test]
fn a_flood_of_keys_does_not_delay_a_message_without_one() {
    let mut sim = sim();
    for tag in 1..=4_000 {
        sim.admit(tag, keyed(tag, "flood", format!("key {tag}")));
    }
    sim.run_until(ms(100));
    sim.admit(9_999, of_tenant(9_999, "small"));
    let before = sim.requests().len();
    sim.run();
    assert!(turn(&sim, 9_999) <= before + 1);
}

#[test]
fn a_flood_without_keys_does_not_delay_a_key() {
    let mut sim = sim();
    for tag in 1..=4_000 {
        sim.admit(tag, of_tenant(tag, "flood"));
    }
    sim.run_until(ms(100));
    sim.admit(9_999, keyed(9_999, "small", "own".into()));
    let before = sim.requests().len();
    sim.run();
    assert!(turn(&sim, 9_999) <= before + 1);
}

#[test]
fn a_flood_of_one_key_does_not_delay_other_keys() {
    let mut sim = sim();
    for tag in 1..=4_000 {
        sim.admit(tag, keyed(tag, "flood", "one".into()));
    }
    sim.run_until(ms(100));
    sim.admit(9_999, keyed(9_999, "small", "own".into()));
    let before = sim.requests().len();
    sim.run();
    assert!(turn(&sim, 9_999) <= before + 1);
    let ones = sim.stored_tags().into_iter().filter(|tag| *tag < 9_999);
    assert!(ones.eq(1..=4_000));
}

#[test]
fn a_flood_of_direct_deliveries_delays_another_tenants_by_one_request() {
    let mut sim = Sim::new(&options(|b| b.sink_concurrency(1)), |_| Answer::stored());
    for tag in 1..=50 {
        sim.admit_direct(tag, of_tenant(tag, "flood"));
    }
    sim.run_until(ms(10));
    sim.admit_direct(99, of_tenant(99, "small"));
    sim.run();
    // One in flight, then one turn of the flood's.
    assert!(turn(&sim, 99) <= 2);
}
