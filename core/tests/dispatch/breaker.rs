//! A sink that keeps failing is left alone.

use std::sync::Arc;
use std::time::Duration;

use pubsink_core::dispatch::{BreakerState, DispatchOptions, DispatchWait};
use pubsink_core::failure::{Class, Failure};
use pubsink_core::reason::Reason;

use crate::sim::{Sim, fails, ms, ok, sink};

const HOUR: Duration = Duration::from_secs(3_600);

fn patient() -> DispatchOptions {
    DispatchOptions::default()
}

#[test]
fn a_dead_destination_for_an_hour_then_repaired() {
    let script = Box::new(|at: Duration, sink: &str, _: &str, _| {
        let dead = sink == "dead" && at < HOUR;
        (ms(20), if dead { fails(Class::Transient) } else { ok() })
    });
    let mut sim = Sim::new(patient(), vec![sink("dead"), sink("well")], script);
    for id in 0..500 {
        sim.enqueue(&id.to_string(), "src");
    }
    assert_eq!(sim.run(), DispatchWait::Input);

    // The other sink never noticed.
    let well: Vec<_> = sim.seen.attempts.iter().filter(|a| a.1 == "well").collect();
    assert_eq!(well.len(), 500);
    assert!(
        well.iter().all(|attempt| attempt.0 < ms(5_000)),
        "{:?}",
        well.last()
    );

    // Everything was delivered, after the probe that closed the breaker.
    assert_eq!(sim.seen.settled.len(), 1_000);
    assert!(
        sim.seen
            .settled
            .iter()
            .all(|settled| settled.outcome.is_ok())
    );
    let breakers = &sim.seen.breakers;
    assert!(breakers.iter().all(|(_, sink, _)| sink == "dead"));
    let states: Vec<_> = breakers.iter().map(|(_, _, state)| *state).collect();
    let (last, transitions) = states.split_last().unwrap();
    assert_eq!(*last, BreakerState::Closed);
    for pair in transitions.chunks(2) {
        assert_eq!(pair, [BreakerState::Open, BreakerState::Probing]);
    }
    // 30 s, 1 min, 2 min, 4 min, then 5 min each.
    let opened = breakers.iter().filter(|b| b.2 == BreakerState::Open);
    let probed = breakers.iter().filter(|b| b.2 == BreakerState::Probing);
    let pauses: Vec<_> = opened
        .zip(probed)
        .map(|(open, probe)| probe.0 - open.0)
        .collect();
    for (pause, seconds) in pauses.iter().zip([30, 60, 120, 240, 300, 300]) {
        assert_eq!(*pause, Duration::from_secs(seconds));
    }
    assert!(pauses.len() >= 14, "{}", pauses.len());

    // No attempt while parked (the simulation checks it too), and one for each probe.
    let during: Vec<_> = sim
        .seen
        .attempts
        .iter()
        .filter(|a| a.1 == "dead" && a.0 < HOUR)
        .collect();
    // The first burst is as wide as its concurrency.
    assert!(during.len() <= 8 + 5 + pauses.len(), "{}", during.len());
    // Parking spends no attempts: nothing came near the policy's end.
    assert!(
        sim.seen
            .settled
            .iter()
            .all(|settled| settled.attempts <= 5 + 16)
    );
}

#[test]
fn a_probe_that_is_refused_closes_it_too() {
    let script = Box::new(|at: Duration, _: &str, _: &str, _| {
        let class = if at < ms(10_000) {
            Class::Transient
        } else {
            Class::Permanent
        };
        (ms(1), fails(class))
    });
    let mut sim = Sim::new(patient(), vec![sink("a")], script);
    for id in 0..100 {
        sim.enqueue(&id.to_string(), "src");
    }
    sim.run();
    let states: Vec<_> = sim
        .seen
        .breakers
        .iter()
        .map(|(_, _, state)| *state)
        .collect();
    assert_eq!(
        states,
        [
            BreakerState::Open,
            BreakerState::Probing,
            BreakerState::Closed
        ]
    );
    assert_eq!(sim.table.dead_len(), 100);
}

#[test]
fn failures_that_are_not_in_a_row_do_not_open_it() {
    let mut turn = 0;
    let script = Box::new(move |_, _: &str, _: &str, _| {
        turn += 1;
        (
            ms(1),
            if turn % 5 == 0 {
                ok()
            } else {
                fails(Class::Transient)
            },
        )
    });
    let mut sim = Sim::new(patient(), vec![sink("a")], script);
    for id in 0..50 {
        sim.enqueue(&id.to_string(), "src");
    }
    sim.run();
    assert!(sim.seen.breakers.is_empty(), "{:?}", sim.seen.breakers);
    assert_eq!(sim.seen.settled.len(), 50);
}

#[test]
fn a_probe_that_never_ends_is_a_failed_one() {
    let script = Box::new(|at: Duration, _: &str, _: &str, _| {
        if at < HOUR {
            (Duration::MAX, ok())
        } else {
            (ms(1), ok())
        }
    });
    let mut sim = Sim::new(patient(), vec![sink("a")], script);
    for id in 0..30 {
        sim.enqueue(&id.to_string(), "src");
    }
    sim.run();
    assert_eq!(sim.seen.settled.len(), 30);
    assert!(sim.seen.breakers.len() > 10);
}

#[test]
fn a_batching_sink_is_parked_with_all_it_had_in_flight() {
    let script = Box::new(|at: Duration, _: &str, _: &str, _| {
        (
            ms(100),
            if at < ms(45_000) {
                fails(Class::Transient)
            } else {
                ok()
            },
        )
    });
    let mut batching = sink("a");
    batching.batched = true;
    let mut sim = Sim::new(patient(), vec![batching], script);
    for id in 0..3_000 {
        sim.enqueue(&id.to_string(), &format!("src-{}", id % 4));
    }
    sim.run();
    assert_eq!(sim.seen.settled.len(), 3_000);
    let parked = sim
        .seen
        .attempts
        .iter()
        .filter(|a| a.0 > ms(200) && a.0 < ms(90_000));
    assert_eq!(parked.count(), 1, "the probe at 30 s");
}

#[test]
fn the_messages_of_one_failed_request_are_one_failure() {
    let reasons: Vec<Arc<Reason>> = (0..10)
        .map(|n| {
            let detail = format!("request {n}").into();
            Arc::new(Reason::NoCredentials { detail })
        })
        .collect();
    let script = Box::new(move |at: Duration, _: &str, _: &str, _| {
        // 100 messages a request, one request a second.
        let request = usize::try_from(at.as_secs()).unwrap();
        let failure = Failure::new(Class::Transient, Arc::clone(&reasons[request.min(9)]));
        (ms(10), if at < ms(4_000) { Err(failure) } else { ok() })
    });
    let mut batching = sink("a");
    batching.batched = true;
    let mut options = patient();
    options.retry.base = ms(1_000);
    options.retry.max = ms(1_000);
    let mut sim = Sim::new(options, vec![batching], script);
    for id in 0..100 {
        sim.enqueue(&id.to_string(), "src");
    }
    sim.run();
    // Four requests failed, of a hundred messages each.
    assert!(sim.seen.breakers.is_empty(), "{:?}", sim.seen.breakers);
    assert_eq!(sim.seen.settled.len(), 100);
}
