//! What becomes of attempts while they wait for a check-in.

use std::time::{Duration, Instant};

use pubsink_core::dispatch::{
    BreakerState, DispatchInput, DispatchMisuse, DispatchOptions, DispatchOutput, DispatchWait,
    Dispatcher, Hook, SinkSpec,
};
use pubsink_core::failure::Class;
use pubsink_core::journal::{Destination, Table, TableLimits};
use pubsink_core::publish::Step;

use super::{MAX, both, handed, large, restarted, sim, sinks, taking};
use crate::sim::{BEGIN, Sim, fails, ms, ok, sink};

#[test]
fn those_that_wait_keep_their_slots() {
    let options = DispatchOptions {
        sink_concurrency: 2,
        ..DispatchOptions::default()
    };
    let mut sim = Sim::new(options, sinks(), taking());
    sim.store.script = Box::new(|_, _| (ms(1_000), Ok(())));
    for id in 0..10 {
        sim.enqueue_envelope(large(&id.to_string()), None);
    }
    sim.run_until(ms(900));
    assert_eq!(sim.machine.gauges().attempts, 4);
    assert_eq!(sim.store.asked.len(), 2);
    sim.run();
    assert_eq!((sim.seen.delivered.len(), sim.store.most), (20, 2));
}

/// One check-in at a time, of a sink that batches.
fn one_at_a_time(retry: Duration) -> Sim {
    let mut options = DispatchOptions {
        concurrency: 1,
        ..DispatchOptions::default()
    };
    options.retry.base = retry;
    options.retry.max = retry;
    let batching = SinkSpec {
        batched: true,
        inline_max_bytes: Some(MAX),
        ..sink("a")
    };
    Sim::new(options, vec![batching], taking())
}

#[test]
fn what_was_checked_in_for_nobody_is_remembered() {
    // The second begins when the first is done, ends when nobody waits any more, and is found by
    // the retry: while it is under way, or after that.
    for retry in [ms(1_000), ms(60_000)] {
        let mut sim = one_at_a_time(retry);
        sim.store.script = Box::new(|_, _| (ms(20_000), Ok(())));
        for id in ["1", "2"] {
            sim.enqueue_envelope(large(id), None);
        }
        sim.run();
        assert_eq!((sim.store.asked.len(), sim.store.aborted), (2, 0));
        let attempts = sim.seen.settled.iter().map(|it| it.attempts);
        assert_eq!(attempts.collect::<Vec<_>>(), [1, 2]);
        assert_eq!(sim.store.most, 1);
    }
}

#[test]
fn those_that_wait_for_their_turn_in_vain_are_not_lost() {
    let mut sim = one_at_a_time(ms(100));
    sim.store.script = Box::new(|_, _| (ms(14_000), Ok(())));
    for id in 0..30 {
        sim.enqueue_envelope(large(&id.to_string()), None);
    }
    assert_eq!(sim.run(), DispatchWait::Input);
    assert_eq!((sim.seen.delivered.len(), sim.store.asked.len()), (30, 30));
    assert_eq!(sim.store.most, 1);
    assert_eq!(sim.machine.gauges(), Default::default());
}

#[test]
fn a_sink_that_is_left_alone_meanwhile_is_not_handed_it() {
    // Small hooks fail, and the large one's check-in ends when the sink is left alone.
    let script = Box::new(|at: Duration, _: &str, _: &str, _| {
        let failed = at < ms(20_000);
        (
            ms(1),
            if failed {
                fails(Class::Transient)
            } else {
                ok()
            },
        )
    });
    let alone = vec![sinks().remove(0)];
    let mut sim = Sim::new(DispatchOptions::default(), alone, script);
    sim.store.script = Box::new(|_, _| (ms(10_000), Ok(())));
    sim.enqueue_envelope(large("large"), None);
    for id in 0..5 {
        sim.enqueue(&id.to_string(), "src");
    }
    sim.run_until(ms(15_000));
    assert!(matches!(
        sim.seen.breakers[..],
        [(_, _, BreakerState::Open)]
    ));
    assert_eq!(sim.store.bodies.len(), 1);
    assert!(handed(&sim, "large").is_empty());
    sim.run();
    let large = sim.seen.settled.iter();
    let large = large.filter(|it| it.row.envelope.id == "large");
    assert_eq!(large.map(|it| it.attempts).collect::<Vec<_>>(), [1]);
    assert_eq!(sim.store.asked.len(), 1, "it is remembered");
}

#[test]
fn closing_lets_check_ins_end_and_gives_the_rest_back_at_its_deadline() {
    let mut sim = sim();
    sim.store.script = Box::new(|_, id| match id {
        "never" => (Duration::MAX, Ok(())),
        _ => (ms(500), Ok(())),
    });
    sim.enqueue_envelope(large("soon"), None);
    sim.enqueue_envelope(large("never"), None);
    sim.run_until(ms(100));
    sim.close(Some(ms(2_000)));
    assert_eq!(sim.run_until(ms(3_000)), DispatchWait::Closed);
    assert_eq!((sim.seen.delivered.len(), sim.table.len()), (2, 2));
    assert_eq!((sim.seen.aborted, sim.store.aborted), (0, 1));
    let gauges = sim.machine.gauges();
    assert_eq!((gauges.rows, gauges.attempts, gauges.check_ins), (0, 0, 0));
    let mut sim = restarted(sim, sinks(), taking());
    sim.run();
    assert_eq!(handed(&sim, "never"), both("never"));
    for settled in &sim.seen.settled {
        assert!(!settled.row.maybe_stored, "nobody was handed it");
        assert_eq!(settled.attempts, 2);
    }
}

#[test]
fn closing_without_a_deadline_waits_for_the_check_in() {
    let mut sim = sim();
    sim.store.script = Box::new(|_, _| (ms(5_000), Ok(())));
    sim.enqueue_envelope(large("h"), None);
    sim.run_until(ms(100));
    sim.close(None);
    assert_eq!(sim.run(), DispatchWait::Closed);
    assert_eq!((sim.seen.delivered.len(), sim.table.len()), (2, 0));
}

/// A machine whose one row goes to this sink, once it waits; and what it asked for.
fn waiting(to: SinkSpec) -> (Dispatcher<u64>, Instant, Vec<DispatchOutput<u64>>) {
    #[allow(clippy::disallowed_methods, reason = "any instant will do")]
    let now = Instant::now();
    let options = DispatchOptions::default();
    let destination = Destination {
        sink: to.name.clone(),
        key: None,
    };
    let mut machine = Dispatcher::new(options, vec![to], now, BEGIN, 1).unwrap();
    let mut table = Table::new(TableLimits::MEMORY);
    let hook = Hook {
        envelope: large("h"),
        to: vec![destination],
        claim: None,
        once: None,
    };
    machine.try_enqueue(now, 1, hook).unwrap();
    let mut outputs = Vec::new();
    loop {
        let input = match machine.poll(now) {
            Step::Do(DispatchOutput::Store { call, hooks }) => {
                let result = table.enqueue(BEGIN, &hooks);
                DispatchInput::Stored { call, result }
            }
            Step::Do(DispatchOutput::Claim { call, claim }) => {
                let result = Ok(table.claim(&claim));
                DispatchInput::Claimed { call, result }
            }
            Step::Do(output) => {
                outputs.push(output);
                continue;
            }
            Step::Wait(until, _) => {
                assert_eq!(until, Some(now + ms(30_000)));
                return (machine, now, outputs);
            }
        };
        machine.handle(now, input).unwrap();
    }
}

#[test]
fn answers_that_fit_nothing_are_misuse_and_late_ones_are_not() {
    let (mut machine, now, outputs) = waiting(sinks().remove(0));
    let Some(DispatchOutput::CheckIn { check_in, .. }) = outputs.last() else {
        panic!("{outputs:?}");
    };
    let check_in = *check_in;
    let answer = || DispatchInput::CheckedIn {
        check_in,
        result: Ok(()),
    };
    let (mut other, _, outputs) = waiting(sink("b"));
    let Some(DispatchOutput::Attempt { attempt, .. }) = outputs.last() else {
        panic!("{outputs:?}");
    };
    let refused = other.handle(now, answer());
    assert_eq!(refused, Err(DispatchMisuse::UnknownCheckIn(check_in)));

    // The attempt of that number has begun here as well, and no sink was asked.
    let attempt = *attempt;
    let attempted = DispatchInput::Attempted {
        attempt,
        outcome: ok(),
    };
    let refused = machine.handle(now, attempted);
    assert_eq!(refused, Err(DispatchMisuse::UnknownAttempt(attempt)));
    assert_eq!(machine.gauges().attempts, 1);

    // Its time is over, and an answer that was under way means nothing.
    let late = now + ms(30_000);
    let mut aborted = false;
    while let Step::Do(output) = machine.poll(late) {
        aborted |= matches!(output, DispatchOutput::AbortCheckIn(id) if id == check_in);
    }
    assert!(aborted);
    for _ in 0..2 {
        machine.handle(late, answer()).unwrap();
    }
    let gauges = machine.gauges();
    assert_eq!((gauges.attempts, gauges.check_ins), (0, 0));
}
