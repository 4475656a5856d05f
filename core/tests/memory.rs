//! What the publisher machine holds and how often it allocates, by counts: nothing here is timed.
//!
//! Bounds are what was counted, and a little room. One that is passed is a message that became dearer.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "helpers of tests fail like tests; simulated time has to begin somewhere"
)]

#[path = "memory/count.rs"]
mod count;
#[path = "memory/rig.rs"]
mod rig;

use pubsink_core::publish::Message;

use count::Counts;
use libtest_mimic::{Arguments, Trial};
use rig::{Allocations, Rig, keyed, own, shared, tenanted};

macro_rules! trials {
    ($($test:ident,)*) => {
        vec![$(Trial::test(stringify!($test), || {
            $test();
            Ok(())
        })),*]
    };
}

/// Counts are the whole process's, so that nothing else may run: one test after the other, on the one
/// thread there is.
fn main() {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    let trials = trials![
        a_queued_message_takes_one_place_and_nothing_beside_it,
        with_a_tenant_each_it_takes_the_name_as_well,
        an_ordering_key_with_one_message_takes_less_than_half_a_kibibyte,
        a_message_allocates_nothing_beyond_its_callers_own,
        a_tenants_name_is_one_allocation,
        an_ordering_key_is_some_allocations,
        what_is_settled_is_given_back,
        of_a_hundred_thousand_one_use_ordering_keys_hardly_anything_stays,
    ];
    libtest_mimic::run(&arguments, trials).exit();
}

const KIB: isize = 1024;
const MIB: isize = 1024 * KIB;

/// The bytes that `count` queued messages take over what their caller made.
fn queued(count: usize, message: fn(usize) -> Message) -> usize {
    let mut rig = Rig::new(1_000);
    let start = Counts::now();
    let (callers, _) = rig.admit(0..count, message);
    let held = Counts::now().held - start.held;
    usize::try_from(held).unwrap().saturating_sub(callers)
}

fn a_queued_message_takes_one_place_and_nothing_beside_it() {
    /// Its place in the queue, and when it came.
    const PLACE: usize = 160;
    for count in [10_000_usize, 100_000] {
        for message in [shared, own] {
            // A queue doubles when it is full.
            let places = count.next_power_of_two();
            let taken = queued(count, message);
            assert!(taken <= places * PLACE + 4_096, "{count}: {taken} bytes");
        }
    }
}

fn with_a_tenant_each_it_takes_the_name_as_well() {
    /// Its place among the messages of all tenants.
    const PLACE: usize = 144;
    /// As it is shared.
    const NAME: usize = 40;
    for count in [10_000_usize, 100_000] {
        // The places double when all are taken.
        let places = count.next_power_of_two();
        let taken = queued(count, tenanted);
        assert!(
            taken <= places * PLACE + count * NAME,
            "{count}: {taken} bytes"
        );
    }
}

fn an_ordering_key_with_one_message_takes_less_than_half_a_kibibyte() {
    for count in [10_000_usize, 100_000] {
        let taken = queued(count, keyed) / count;
        assert!(taken <= 450, "{count}: {taken} bytes a key");
    }
}

/// How often `count` messages allocate once the machine has had as many before.
fn steady(count: usize, message: fn(usize) -> Message) -> Allocations {
    let mut rig = Rig::new(1_000);
    rig.cycle(count, count, message);
    rig.cycle(count, count, message)
}

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

fn a_tenants_name_is_one_allocation() {
    let allocations = steady(10_000, tenanted);
    // The name as it is shared; the rest, which doubles from nothing, is no more than without one.
    assert!(allocations.admission <= 10_000 + 64, "{allocations:?}");
    assert!(allocations.sending <= 25 * 10, "{allocations:?}");
}

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
    let mut rig = Rig::new(1_000);
    let start = Counts::now();
    rig.cycle(count, window, message);
    rig.forget_buffers();
    Counts::now().held - start.held
}

fn what_is_settled_is_given_back() {
    // What was told last, in room that the next burst uses again.
    for window in [10_000, 100_000] {
        let kept = kept(100_000, window, shared);
        assert!(kept <= 256 * KIB, "{window}: {kept} bytes");
    }
}

fn of_a_hundred_thousand_one_use_ordering_keys_hardly_anything_stays() {
    let in_turns = kept(100_000, 10_000, keyed);
    assert!(in_turns <= 4 * MIB, "{in_turns} bytes");
    // Nor of the table of lanes, which has had all of them.
    let at_once = kept(100_000, 100_000, keyed);
    assert!(at_once <= 2 * MIB, "{at_once} bytes");
}
