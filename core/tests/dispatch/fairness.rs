//! Every sink and every source is served, within the windows.

use pubsink_core::dispatch::DispatchOptions;
use pubsink_core::dispatch::Hook;
use pubsink_core::journal::Destination;
use std::time::Duration;

use crate::sim::{Sim, envelope, ms, ok, sink};

#[test]
fn a_source_with_a_flood_keeps_another_waiting_one_turn() {
    let script = Box::new(|_, _: &str, _: &str, _| (ms(10), ok()));
    let mut sim = Sim::new(DispatchOptions::default(), vec![sink("a")], script);
    for id in 0..3_000 {
        sim.enqueue(&format!("flood-{id}"), "flood");
    }
    sim.run_until(ms(500));
    for id in 0..10 {
        sim.enqueue(&format!("late-{id}"), "late");
    }
    sim.run();
    let last = sim
        .seen
        .attempts
        .iter()
        .rfind(|a| a.2.starts_with("late"))
        .unwrap();
    // 8 at a time, 10 ms each: ten of its own beside ten of the flood, and what was claimed.
    assert!(last.0 < ms(500 + 100), "{last:?}");
    assert_eq!(sim.seen.settled.len(), 3_010);
}

#[test]
fn a_slow_sink_does_not_hold_up_another() {
    let script = Box::new(|_, sink: &str, _: &str, _| {
        (if sink == "slow" { ms(29_000) } else { ms(10) }, ok())
    });
    let mut sim = Sim::new(
        DispatchOptions::default(),
        vec![sink("slow"), sink("fast")],
        script,
    );
    for id in 0..200 {
        sim.enqueue(&id.to_string(), "src");
    }
    sim.run_until(ms(1_000));
    let fast = sim
        .seen
        .delivered
        .iter()
        .filter(|(sink, _)| sink == "fast")
        .count();
    assert_eq!(fast, 200);
    sim.run();
    assert_eq!(sim.seen.settled.len(), 400);
    assert_eq!(sim.seen.most_counted["slow"], 8);
}

#[test]
fn a_slow_batching_sink_leaves_the_window_to_others_too() {
    let script = Box::new(|_, sink: &str, _: &str, _| {
        (if sink == "slow" { ms(29_000) } else { ms(10) }, ok())
    });
    let (mut slow, mut fast) = (sink("slow"), sink("fast"));
    (slow.batched, fast.batched) = (true, true);
    let options = DispatchOptions {
        window_rows: 64,
        lane_rows: 64,
        ..DispatchOptions::default()
    };
    let mut sim = Sim::new(options, vec![slow, fast], script);
    for id in 0..1_000 {
        sim.enqueue(&id.to_string(), "src");
    }
    // What the slow one took before the other came along, it holds for 29 s.
    sim.run_until(ms(30_000));
    let fast = sim
        .seen
        .delivered
        .iter()
        .filter(|(sink, _)| sink == "fast")
        .count();
    assert!(fast >= 900, "{fast}");
    sim.run();
    assert_eq!(sim.seen.settled.len(), 2_000);
}

#[test]
fn many_sinks_share_the_concurrency() {
    let script = Box::new(|_, _: &str, _: &str, _| (ms(100), ok()));
    let names: Vec<_> = (0..10).map(|n| format!("sink-{n}")).collect();
    let sinks = names.iter().map(|name| sink(name)).collect();
    let mut sim = Sim::new(DispatchOptions::default(), sinks, script);
    for id in 0..40 {
        sim.enqueue(&id.to_string(), "src");
    }
    sim.run_until(ms(1_000));
    // 32 at once, 100 ms each, for nearly a second: 3 or more of every sink.
    for name in &names {
        let count = sim.seen.attempts.iter().filter(|a| a.1 == *name).count();
        assert!(count >= 20, "{name}: {count}");
    }
    sim.run();
    assert_eq!(sim.seen.settled.len(), 400);
}

#[test]
fn bytes_are_bounded_and_a_hook_larger_than_the_window_goes_alone() {
    let script = Box::new(|_, _: &str, _: &str, _| (ms(10), ok()));
    let mut batching = sink("a");
    batching.batched = true;
    let options = DispatchOptions {
        window_bytes: 10_000,
        ..DispatchOptions::default()
    };
    let mut sim = Sim::new(options, vec![batching], script);
    for (id, size) in [(1, 4_000), (2, 4_000), (3, 30_000), (4, 4_000), (5, 9_000)] {
        let id = id.to_string();
        sim.enqueue_hook(Hook {
            envelope: envelope(&id, &format!("src-{}", size), &vec![b'x'; size]),
            to: vec![Destination {
                sink: "a".into(),
                key: None,
            }],
            claim: None,
            once: None,
        });
    }
    sim.run_until(Duration::from_secs(600));
    assert_eq!(sim.seen.settled.len(), 5, "{:?}", sim.machine.gauges());
    assert!(sim.seen.most_bytes < 30_100, "{}", sim.seen.most_bytes);
    assert_eq!(sim.machine.gauges().bytes, 0);
}

#[test]
fn the_cost_of_a_row_does_not_grow_with_their_number() {
    // Counted in steps of the machine, not in time.
    let steps = |count: usize| {
        let script = Box::new(|_, _: &str, _: &str, _| (ms(1), ok()));
        let mut batching = sink("a");
        batching.batched = true;
        let mut sim = Sim::new(DispatchOptions::default(), vec![batching], script);
        for id in 0..count {
            sim.enqueue(&id.to_string(), "src");
            if id % 1_000 == 999 {
                sim.run();
            }
        }
        sim.run();
        assert_eq!(sim.seen.settled.len(), count);
        sim.seen.steps
    };
    let (few, many) = (steps(1_000), steps(20_000));
    assert!(
        many <= few * 20 + 1_000,
        "{few} steps for 1,000, {many} for 20,000"
    );
}

#[test]
fn a_large_hook_and_those_behind_it_go_out_under_steady_work() {
    const MIB: usize = 1024 * 1024;
    let script =
        |_, sink: &str, _: &str, _| (if sink == "slow" { ms(29_000) } else { ms(200) }, ok());
    // Larger than what a claim asks for at first, and than the whole window.
    for size in [17 * MIB, 40 * MIB] {
        let options = DispatchOptions {
            window_bytes: 32 * MIB,
            ..DispatchOptions::default()
        };
        let mut sim = Sim::new(options, vec![sink("a"), sink("slow")], Box::new(script));
        let hook = |id: String, source: &str, to: &str, size| Hook {
            envelope: envelope(&id, source, &vec![b'x'; size]),
            to: vec![Destination {
                sink: to.into(),
                key: None,
            }],
            claim: None,
            once: None,
        };
        sim.enqueue_hook(hook("large".into(), "victim", "a", size));
        for n in 0..5 {
            sim.enqueue_hook(hook(format!("small-{n}"), "victim", "a", 10));
        }
        for n in 0..1_200 {
            sim.enqueue_hook(hook(format!("steady-{n}"), "steady", "a", 10));
            if n % 50 == 0 {
                sim.enqueue_hook(hook(format!("slow-{n}"), "steady", "slow", 10));
            }
            let at = sim.at();
            sim.run_until(at + ms(100));
        }
        // At the latest when what was under way when it asked has ended.
        let victims = |prefix: &str| {
            let mut attempts = sim.seen.attempts.iter();
            attempts.find(|a| a.2.starts_with(prefix)).map(|a| a.0)
        };
        assert!(
            victims("large") < Some(ms(35_000)),
            "{:?}",
            victims("large")
        );
        assert!(
            victims("small-4") < Some(ms(36_000)),
            "{:?}",
            victims("small-4")
        );
    }
}
