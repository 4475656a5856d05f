//! What the publisher machine holds and how often it allocates, by counts: nothing here is timed.
//!
//! Bounds are what was counted, and a little room. One that is passed is a message that became dearer.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "helpers of tests fail like tests; simulated time has to begin somewhere; counts are \
              the whole process's, so tests wait for one another"
)]

#[path = "memory/count.rs"]
mod count;
#[path = "memory/rig.rs"]
mod rig;

use pubsink_core::publish::Message;

use count::{Counts, alone};
use rig::{Allocations, Rig, keyed, own, shared, tenanted};

const KIB: isize = 1024;
const MIB: isize = 1024 * KIB;

/// The bytes that `count` queued messages take over what their caller made.
fn queued(count: usize, message: fn(usize) -> Message) -> usize {
    let _alone = alone();
    let mut rig = Rig::new(1_000);
    let start = Counts::now();
    let (callers, _) = rig.admit(0..count, message);
    let held = Counts::now().held - start.held;
    usize::try_from(held).unwrap().saturating_sub(callers)
}

#[test]
fn a_queued_message_takes_one_place_and_nothing_beside_it() {
    /// Its place in the queue, and when it came.
    const PLACE: usize = 192;
    for count in [10_000_usize, 100_000] {
        for message in [shared, own] {
            // A queue doubles when it is full.
            let places = count.next_power_of_two();
            let taken = queued(count, message);
            assert!(taken <= places * PLACE + 4_096, "{count}: {taken} bytes");
        }
    }
}

#[test]
fn with_a_tenant_each_it_takes_the_name_as_well() {
    for count in [10_000_usize, 100_000] {
        // A hundred tenants have a queue each, which doubles.
        let taken = queued(count, tenanted) / count;
        assert!(taken <= 280, "{count}: {taken} bytes a message");
    }
}

#[test]
fn an_ordering_key_with_one_message_takes_less_than_a_kibibyte() {
    for count in [10_000_usize, 100_000] {
        let taken = queued(count, keyed) / count;
        assert!(taken <= 1_000, "{count}: {taken} bytes a key");
    }
}

/// How often `count` messages allocate once the machine has had as many before.
fn steady(count: usize, message: fn(usize) -> Message) -> Allocations {
    let _alone = alone();
    let mut rig = Rig::new(1_000);
    rig.cycle(count, count, message);
    rig.cycle(count, count, message)
}

#[test]
fn a_message_allocates_nothing_beyond_its_callers_own() {
    for message in [shared, own] {
        let allocations = steady(10_000, message);
        assert_eq!(allocations.requests, 10);
        // The queue, from nothing by doubling: 13. The rest is room for the test harness.
        assert!(allocations.admission <= 64, "{allocations:?}");
        // The bodies of requests and their heads, whatever they carry.
        assert!(allocations.sending <= 25 * 10, "{allocations:?}");
    }
}

#[test]
fn a_tenants_name_is_one_allocation() {
    let allocations = steady(10_000, tenanted);
    // The name as it is shared, and a hundred queues that double.
    assert!(allocations.admission <= 10_000 + 100 * 7, "{allocations:?}");
    assert!(allocations.sending <= 25 * 10, "{allocations:?}");
}

#[test]
fn an_ordering_key_is_some_allocations() {
    let allocations = steady(10_000, keyed);
    // The key as it is shared, its lane, and its part of the order in which keys are due.
    assert!(allocations.admission <= 22_000, "{allocations:?}");
    // A request each.
    assert_eq!(allocations.requests, 10_000);
    assert!(allocations.sending <= 20 * 10_000, "{allocations:?}");
}

/// What the machine holds once `count` messages are settled, `window` at a time, over what it held
/// at the start.
fn kept(count: usize, window: usize, message: fn(usize) -> Message) -> isize {
    let _alone = alone();
    let mut rig = Rig::new(1_000);
    let start = Counts::now();
    rig.cycle(count, window, message);
    rig.forget_buffers();
    Counts::now().held - start.held
}

#[test]
fn what_is_settled_is_given_back() {
    // When each waiting message came is kept in 16 bytes, and what was told last. Neither grows with
    // the number of messages, but with how many waited at once.
    for (window, places) in [(10_000, 16_384), (100_000, 131_072)] {
        let kept = kept(100_000, window, shared);
        assert!(kept <= places * 16 + 1_200 * KIB, "{window}: {kept} bytes");
    }
}

#[test]
fn of_a_hundred_thousand_one_use_ordering_keys_hardly_anything_stays() {
    let in_turns = kept(100_000, 10_000, keyed);
    assert!(in_turns <= 4 * MIB, "{in_turns} bytes");
    // The table of lanes, which has had all of them.
    let at_once = kept(100_000, 100_000, keyed);
    assert!(at_once <= 13 * MIB, "{at_once} bytes");
}
