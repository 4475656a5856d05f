//! Sinks that keep the order of a key.

use std::time::Duration;

use pubsink_core::dispatch::{DispatchOptions, OnDead};
use pubsink_core::failure::Class;
use pubsink_core::journal::{Filter, ReplayJob};

use crate::sim::{Sim, fails, ms, ok, sink};

fn sim(options: DispatchOptions, script: crate::sim::Script) -> Sim {
    let mut ordered = sink("a");
    (ordered.ordered, ordered.batched) = (true, true);
    Sim::new(options, vec![ordered], script)
}

fn delivered(sim: &Sim, prefix: &str) -> Vec<String> {
    let ids = sim.seen.delivered.iter().map(|(_, id)| id.clone());
    ids.filter(|id| id.starts_with(prefix)).collect()
}

#[test]
fn a_key_waits_for_its_failed_message_and_other_keys_go_on() {
    let script = Box::new(|at: Duration, _: &str, id: &str, _| {
        let failing = id == "k-1" && at < ms(20_000);
        (
            ms(3),
            if failing {
                fails(Class::Transient)
            } else {
                ok()
            },
        )
    });
    let mut options = DispatchOptions::default();
    options.breaker.failures = 1_000;
    let mut sim = sim(options, script);
    for n in 0..10 {
        sim.enqueue_keyed(&format!("k-{n}"), "src", Some("k"));
        sim.enqueue_keyed(&format!("l-{n}"), "src", Some("l"));
        sim.enqueue_keyed(&format!("n-{n}"), "src", None);
    }
    sim.run_until(ms(10_000));
    assert_eq!(delivered(&sim, "k"), ["k-0"]);
    assert_eq!(delivered(&sim, "l").len(), 10);
    assert_eq!(delivered(&sim, "n").len(), 10);
    sim.run();
    let order = |prefix: &str| (0..10).map(|n| format!("{prefix}-{n}")).collect::<Vec<_>>();
    assert_eq!(delivered(&sim, "k"), order("k"));
    assert_eq!(delivered(&sim, "l"), order("l"));
}

#[test]
fn the_order_holds_over_a_restart() {
    let script = Box::new(|_, _: &str, id: &str, _| {
        (
            ms(3),
            if id == "k-0" {
                fails(Class::Transient)
            } else {
                ok()
            },
        )
    });
    let mut first = sim(DispatchOptions::default(), script);
    for n in 0..5 {
        first.enqueue_keyed(&format!("k-{n}"), "src", Some("k"));
    }
    first.run_until(ms(150));
    let mut table = first.table;
    table.forget_claims();
    let mut ordered = sink("a");
    ordered.ordered = true;
    let script = Box::new(|_, _: &str, _: &str, _| (ms(3), ok()));
    let mut sim = Sim::over(table, DispatchOptions::default(), vec![ordered], script, 1);
    sim.run();
    assert_eq!(delivered(&sim, "k"), ["k-0", "k-1", "k-2", "k-3", "k-4"]);
}

#[test]
fn a_dead_message_is_skipped_or_stops_its_key_until_it_is_resumed() {
    for on_dead in [OnDead::Skip, OnDead::Stop] {
        let script = Box::new(|_, _: &str, id: &str, _| {
            (
                ms(3),
                if id == "k-1" {
                    fails(Class::Permanent)
                } else {
                    ok()
                },
            )
        });
        let options = DispatchOptions {
            on_dead,
            ..DispatchOptions::default()
        };
        let mut sim = sim(options, script);
        for n in 0..4 {
            sim.enqueue_keyed(&format!("k-{n}"), "src", Some("k"));
            sim.enqueue_keyed(&format!("l-{n}"), "src", Some("l"));
        }
        sim.run();
        assert_eq!(delivered(&sim, "l").len(), 4);
        if on_dead == OnDead::Skip {
            assert_eq!(delivered(&sim, "k"), ["k-0", "k-2", "k-3"]);
            continue;
        }
        assert_eq!(delivered(&sim, "k"), ["k-0"]);
        let stopped = sim.table.stopped();
        assert_eq!(stopped.len(), 1);
        assert_eq!(stopped[0].lane.key.as_deref(), Some("k"));
        assert_eq!(stopped[0].cause.kind.as_str(), "transport");
        // What comes later waits too.
        sim.enqueue_keyed("k-4", "src", Some("k"));
        sim.run();
        assert_eq!(delivered(&sim, "k"), ["k-0"]);
        sim.resume(&stopped[0].lane);
        sim.run();
        assert_eq!(delivered(&sim, "k"), ["k-0", "k-2", "k-3", "k-4"]);
        assert!(sim.table.stopped().is_empty());
    }
}

#[test]
fn a_sink_that_keeps_no_order_has_no_lanes_for_keys() {
    let script = Box::new(|_, _: &str, _: &str, _| (ms(3), ok()));
    let mut sim = Sim::new(DispatchOptions::default(), vec![sink("a")], script);
    for n in 0..10 {
        sim.enqueue_keyed(&n.to_string(), "src", Some("k"));
    }
    sim.run_until(ms(4));
    assert_eq!(sim.machine.gauges().attempts, 8);
    assert!(
        sim.seen
            .settled
            .iter()
            .all(|settled| settled.row.lane.key.is_none())
    );
}

#[test]
fn keyed_hooks_of_a_batching_sink_count_against_its_concurrency_and_leave_room_for_others() {
    let script = Box::new(|_, _: &str, _: &str, _| (ms(100), ok()));
    let mut sim = sim(DispatchOptions::default(), script);
    for n in 0..300 {
        sim.enqueue_keyed(&format!("k-{n}"), "src", Some(&format!("key-{n}")));
    }
    for n in 0..300 {
        sim.enqueue_keyed(&format!("n-{n}"), "src", None);
    }
    sim.run_until(ms(250));
    // Two rounds of eight keys, and all that are batched at once.
    assert_eq!(delivered(&sim, "k").len(), 16);
    assert_eq!(delivered(&sim, "n").len(), 300);
    // No attempt waits in the sink until it times out: they wait here.
    sim.run();
    assert_eq!(sim.seen.settled.len(), 600);
    assert_eq!(sim.seen.aborted, 0);
}

#[test]
fn hooks_are_kept_in_the_order_they_came() {
    // A second call to the journal begins when the first is answered: a runtime with threads
    // could otherwise have it done first.
    let script = Box::new(|_, _: &str, _: &str, _| (ms(1), ok()));
    let mut sim = sim(DispatchOptions::default(), script);
    let mut takes = 100;
    for n in 0..50 {
        sim.enqueue_keyed(&format!("k-{n:02}"), "src", Some("k"));
        // Each call takes less time than the one before it.
        takes -= 2;
        sim.journal_takes = ms(takes);
        let at = sim.at();
        sim.run_until(at + ms(1));
    }
    sim.run();
    let order: Vec<_> = (0..50).map(|n| format!("k-{n:02}")).collect();
    assert_eq!(delivered(&sim, "k"), order);
}

#[test]
fn a_replayed_hook_goes_before_those_that_waited_behind_it() {
    let script = Box::new(|at: Duration, _: &str, id: &str, _| {
        let refused = id == "k-1" && at < ms(5_000);
        (
            ms(3),
            if refused {
                fails(Class::Permanent)
            } else {
                ok()
            },
        )
    });
    let options = DispatchOptions {
        on_dead: OnDead::Stop,
        ..DispatchOptions::default()
    };
    let mut sim = sim(options, script);
    for n in 0..5 {
        sim.enqueue_keyed(&format!("k-{n}"), "src", Some("k"));
    }
    sim.run_until(ms(10_000));
    assert_eq!(delivered(&sim, "k"), ["k-0"]);
    sim.replay(ReplayJob::new("again", Filter::default()));
    sim.run_until(ms(20_000));
    let stopped = sim.table.stopped();
    sim.resume(&stopped[0].lane);
    sim.run();
    assert_eq!(delivered(&sim, "k"), ["k-0", "k-1", "k-2", "k-3", "k-4"]);
}
