//! The end of a dispatcher.

use std::time::Duration;

use pubsink_core::dispatch::{DispatchOptions, DispatchWait, EnqueueError};

use crate::sim::{Sim, ms, ok, sink};

#[test]
fn it_lets_attempts_end_gives_back_the_rest_and_takes_nothing_more() {
    let script = Box::new(|_, _: &str, _: &str, _| (ms(500), ok()));
    let mut sim = Sim::new(DispatchOptions::default(), vec![sink("a")], script);
    for id in 0..100 {
        sim.enqueue(&id.to_string(), "src");
    }
    sim.run_until(ms(100));
    sim.close(None);
    sim.enqueue("late", "src");
    assert_eq!(sim.run(), DispatchWait::Closed);
    assert!(sim.at() >= ms(500));
    assert_eq!(sim.seen.delivered.len(), 8);
    assert_eq!(sim.table.len(), 92);
    assert!(matches!(
        sim.seen.accepted.last(),
        Some((101, Err(EnqueueError::Closed)))
    ));
    // Not claimed by anyone: all of it is due.
    let lanes = sim.table.lanes();
    assert_eq!(lanes.len(), 1);
    assert_eq!(sim.machine.gauges().rows, 0);
}

#[test]
fn at_its_deadline_attempts_are_given_back_as_maybe_stored() {
    let script = Box::new(|_, _: &str, _: &str, _| (Duration::MAX, ok()));
    let mut sim = Sim::new(DispatchOptions::default(), vec![sink("a")], script);
    for id in 0..20 {
        sim.enqueue(&id.to_string(), "src");
    }
    sim.run_until(ms(100));
    sim.close(Some(ms(1_000)));
    assert_eq!(sim.run_until(ms(1_100)), DispatchWait::Closed);
    assert_eq!((sim.seen.aborted, sim.table.len()), (8, 20));
    let script = Box::new(|_, _: &str, _: &str, _| (ms(1), ok()));
    let mut sim = Sim::over(
        sim.table,
        DispatchOptions::default(),
        vec![sink("a")],
        script,
        1,
    );
    sim.run();
    let maybe = sim
        .seen
        .settled
        .iter()
        .filter(|settled| settled.row.maybe_stored);
    assert_eq!(maybe.count(), 8);
    assert_eq!(sim.seen.settled.len(), 20);
}

#[test]
fn hooks_that_came_in_are_still_kept() {
    let script = Box::new(|_, _: &str, _: &str, _| (ms(1), ok()));
    let mut sim = Sim::new(DispatchOptions::default(), vec![sink("a")], script);
    sim.journal_takes = ms(100);
    for id in 0..3_000 {
        sim.enqueue(&id.to_string(), "src");
    }
    sim.close(None);
    assert_eq!(sim.run(), DispatchWait::Closed);
    assert_eq!(sim.table.len(), 3_000);
    assert!(sim.seen.accepted.iter().all(|(_, result)| result.is_ok()));
}

#[test]
fn a_journal_that_never_answers_holds_it_up_for_a_moment_only() {
    let script = Box::new(|_, _: &str, _: &str, _| (ms(1), ok()));
    let mut sim = Sim::new(DispatchOptions::default(), vec![sink("a")], script);
    sim.enqueue("1", "src");
    sim.run_until(ms(2));
    sim.journal_takes = Duration::MAX;
    sim.enqueue("2", "src");
    sim.run_until(ms(50));
    sim.close(Some(ms(100)));
    assert_eq!(sim.run_until(ms(10_000)), DispatchWait::Closed);
    assert!(matches!(
        sim.seen.accepted.last(),
        Some((2, Err(EnqueueError::Closed)))
    ));
    // The row stays in the journal: it is due again after a restart.
    assert_eq!(sim.table.len(), 1);
}

#[test]
fn an_idle_one_closes_at_once() {
    let script = Box::new(|_, _: &str, _: &str, _| (ms(1), ok()));
    let mut sim = Sim::new(DispatchOptions::default(), vec![sink("a")], script);
    sim.close(None);
    assert_eq!(sim.run_until(ms(0)), DispatchWait::Closed);
}
