//! A journal that fails: nothing is lost, nothing is said that is not so.

use std::time::Duration;

use pubsink_core::dispatch::{DispatchOptions, EnqueueError, Hook};
use pubsink_core::failure::Class;
use pubsink_core::journal::{DeadId, Destination, Filter, Table, TableLimits};

use crate::sim::{Sim, envelope, fails, ms, ok, sink};

#[test]
fn a_hook_that_cannot_be_kept_is_refused() {
    let script = Box::new(|_, _: &str, _: &str, _| (ms(1), ok()));
    let mut sim = Sim::new(DispatchOptions::default(), vec![sink("a")], script);
    sim.faults = Box::new(|at, what| what == "store" && at < ms(1_000));
    sim.enqueue("1", "src");
    sim.run_until(ms(2_000));
    sim.enqueue("2", "src");
    sim.run();
    let accepted = &sim.seen.accepted;
    assert!(
        matches!(accepted[0], (1, Err(EnqueueError::Journal(_)))),
        "{accepted:?}"
    );
    assert!(matches!(accepted[1], (2, Ok(_))), "{accepted:?}");
    assert_eq!(sim.seen.delivered.len(), 1);
}

#[test]
fn a_dead_letter_is_kept_before_its_row_is_let_go() {
    let script = Box::new(|_, _: &str, _: &str, _| (ms(1), fails(Class::Permanent)));
    let mut sim = Sim::new(DispatchOptions::default(), vec![sink("a")], script);
    let mut refused = 0;
    sim.faults = Box::new(move |_, what| {
        refused += u32::from(what == "record");
        what == "record" && refused <= 2
    });
    sim.enqueue("1", "src");
    sim.run_until(ms(500));
    // Said loudly, and not done with.
    assert_eq!(sim.seen.journal_errors, ["record"]);
    assert!(sim.seen.settled.is_empty());
    assert_eq!((sim.table.len(), sim.table.dead_len()), (1, 0));
    assert_eq!(sim.machine.gauges().unrecorded, 1);
    sim.run();
    assert_eq!(
        sim.seen.attempts.len(),
        1,
        "it is not attempted again for it"
    );
    assert_eq!(sim.seen.settled.len(), 1);
    assert_eq!((sim.table.len(), sim.table.dead_len()), (0, 1));
}

#[test]
fn a_journal_that_stays_broken_is_not_asked_in_a_loop() {
    let script = Box::new(|_, _: &str, _: &str, _| (ms(1), fails(Class::Permanent)));
    let mut sim = Sim::new(DispatchOptions::default(), vec![sink("a")], script);
    sim.faults = Box::new(|at, what| what == "record" && at > Duration::ZERO);
    for id in 0..100 {
        sim.enqueue(&id.to_string(), "src");
    }
    sim.run_until(Duration::from_secs(60));
    let asked = sim.seen.journal_errors.len();
    assert!((3..=20).contains(&asked), "{asked}");
    assert!(sim.seen.settled.is_empty());
    // Their rows are held, so no more is claimed than fits beside them.
    assert!(sim.machine.gauges().rows <= 32);
    sim.faults = Box::new(|_, _| false);
    sim.run();
    assert_eq!(sim.seen.settled.len(), 100);
}

#[test]
fn claims_that_fail_are_asked_again() {
    let script = Box::new(|_, _: &str, _: &str, _| (ms(1), ok()));
    let mut sim = Sim::new(DispatchOptions::default(), vec![sink("a")], script);
    sim.faults = Box::new(|at, what| what == "claim" && at < ms(5_000));
    for id in 0..100 {
        sim.enqueue(&id.to_string(), "src");
    }
    sim.run();
    assert_eq!(sim.seen.settled.len(), 100);
    assert!(
        sim.seen.journal_errors.len() <= 4,
        "{:?}",
        sim.seen.journal_errors
    );
}

#[test]
fn a_full_journal_refuses_and_takes_again() {
    let script = Box::new(|_, _: &str, _: &str, _| (ms(1_000), ok()));
    let table = Table::new(TableLimits {
        rows: 3,
        bytes: 1_000,
    });
    let mut sim = Sim::over(
        table,
        DispatchOptions::default(),
        vec![sink("a")],
        script,
        1,
    );
    for id in 0..5 {
        sim.enqueue(&id.to_string(), "src");
        sim.run_until(ms(10 * (id + 1)));
    }
    let kept = sim
        .seen
        .accepted
        .iter()
        .filter(|(_, result)| result.is_ok())
        .count();
    assert_eq!(kept, 3);
    let refused = sim.seen.accepted[3].1.as_ref().unwrap_err().to_string();
    assert_eq!(
        refused,
        "the hook was not kept: the journal is full: it holds 3 of 3 rows; deliver or remove \
         some first"
    );
    sim.run();
    sim.enqueue("6", "src");
    sim.run();
    assert_eq!(sim.seen.settled.len(), 4);
}

#[test]
fn what_a_dead_process_had_claimed_is_due_again_after_the_restart() {
    let never = Box::new(|_, _: &str, _: &str, _| (Duration::MAX, ok()));
    let mut sim = Sim::new(DispatchOptions::default(), vec![sink("a")], never);
    for id in 0..50 {
        sim.enqueue(&id.to_string(), "src");
    }
    sim.run_until(ms(1_000));
    assert_eq!(sim.machine.gauges().attempts, 8);
    // The process dies; its journal is found again.
    let mut table = sim.table;
    table.forget_claims();
    let script = Box::new(|_, _: &str, _: &str, _| (ms(1), ok()));
    let mut sim = Sim::over(
        table,
        DispatchOptions::default(),
        vec![sink("a")],
        script,
        1,
    );
    sim.run();
    assert_eq!(sim.seen.settled.len(), 50);
    assert!(sim.table.is_empty());
}

#[test]
fn rows_of_a_sink_that_is_gone_are_kept_and_told_of_once() {
    let script = || Box::new(|_, _: &str, _: &str, _| (ms(1), ok()));
    let mut sim = Sim::new(
        DispatchOptions::default(),
        vec![sink("a"), sink("b")],
        script(),
    );
    sim.faults = Box::new(|_, what| what == "claim");
    for id in 0..5 {
        sim.enqueue(&id.to_string(), &format!("src-{id}"));
    }
    sim.run_until(ms(50));
    let mut table = sim.table;
    table.forget_claims();
    let mut sim = Sim::over(
        table,
        DispatchOptions::default(),
        vec![sink("a")],
        script(),
        1,
    );
    sim.run();
    assert_eq!(sim.seen.unknown_sinks, ["b"]);
    assert_eq!((sim.seen.settled.len(), sim.table.len()), (5, 5));
    let letters = sim.table.dead_letters(&Filter::default(), DeadId(0), 9);
    assert!(letters.is_empty());
}

#[test]
fn a_hook_that_names_no_sink_or_a_wrong_one_is_refused_at_once() {
    let script = Box::new(|_, _: &str, _: &str, _| (ms(1), ok()));
    let mut sim = Sim::new(DispatchOptions::default(), vec![sink("a")], script);
    for names in [&[][..], &["b"], &["a", "a"]] {
        let to = names.iter().map(|name| Destination {
            sink: (*name).into(),
            key: None,
        });
        sim.enqueue_hook(Hook {
            envelope: envelope("1", "src", b""),
            to: to.collect(),
            claim: None,
            once: None,
        });
    }
    let said: Vec<_> = sim
        .seen
        .accepted
        .iter()
        .map(|(_, result)| result.clone().unwrap_err())
        .collect();
    assert_eq!(
        said,
        [
            EnqueueError::NoSink,
            EnqueueError::UnknownSink("b".into()),
            EnqueueError::SinkTwice("a".into())
        ]
    );
    assert_eq!(sim.machine.gauges(), Default::default());
}

#[test]
fn what_was_kept_by_a_call_that_said_it_failed_is_not_forgotten() {
    // The first call that records does its work and then says that it failed.
    for class in [None, Some(Class::Transient), Some(Class::Permanent)] {
        let script = Box::new(move |_, _: &str, _: &str, attempt| match class {
            Some(class) if attempt == 1 => (ms(1), fails(class)),
            _ => (ms(1), ok()),
        });
        let mut sim = Sim::new(DispatchOptions::default(), vec![sink("a")], script);
        let mut calls = 0;
        sim.faults = Box::new(move |_, what| {
            calls += u32::from(what == "record");
            what == "record" && calls == 1
        });
        sim.faults_after = true;
        sim.enqueue("1", "src");
        sim.run();
        assert_eq!(sim.seen.settled.len(), 1, "{class:?}");
        assert!(sim.table.is_empty(), "{class:?}");
        assert_eq!(sim.machine.gauges().rows, 0);
    }
}
