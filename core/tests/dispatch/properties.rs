//! Days of simulated time under seeded faults.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use pubsink_core::claim::ClaimError;
use pubsink_core::dispatch::{DispatchOptions, DispatchWait, OnDead, SinkSpec};
use pubsink_core::failure::{Class, Failure};
use pubsink_core::journal::{DeadId, Filter};
use pubsink_core::reason::{Ceiling, Reason};
use pubsink_core::retry::Rng;
use pubsink_core::sink::Receipt;

use crate::sim::{Sim, envelope, fails, ms, ok, sink};
use crate::store::{Store, StoreScript};

/// How a run goes.
#[derive(Debug, Clone)]
struct Plan {
    seed: u64,
    /// Whether it batches, whether it keeps order, and what it sends itself.
    sinks: Vec<(bool, bool, Option<usize>)>,
    hooks: usize,
    sources: usize,
    keys: usize,
    window_rows: usize,
    window_bytes: usize,
    concurrency: usize,
    sink_concurrency: usize,
    /// Percent of attempts that fail, of journal calls, and of check-ins.
    bad: u8,
    bad_journal: u8,
    bad_store: u8,
    /// Restarts, at these hours.
    restarts: Vec<u8>,
    stop: bool,
}

fn plan() -> impl Strategy<Value = Plan> {
    let shape = (
        any::<u64>(),
        prop::collection::vec(
            (any::<bool>(), any::<bool>(), prop::option::of(1..30usize)),
            1..4,
        ),
        1..120usize,
        1..5usize,
        0..4usize,
    );
    let limits = (1..40usize, 10..2_000usize, 1..10usize, 1..6usize);
    let faults = (
        0..95u8,
        0..30u8,
        prop_oneof![Just(0), 0..80u8],
        prop::collection::vec(0..40u8, 0..4),
        any::<bool>(),
    );
    (shape, limits, faults).prop_map(|(shape, limits, faults)| Plan {
        seed: shape.0,
        sinks: shape.1,
        hooks: shape.2,
        sources: shape.3,
        keys: shape.4,
        window_rows: limits.0,
        window_bytes: limits.1,
        concurrency: limits.2,
        sink_concurrency: limits.3,
        bad: faults.0,
        bad_journal: faults.1,
        bad_store: faults.2,
        restarts: faults.3,
        stop: faults.4,
    })
}

impl Plan {
    fn sinks(&self) -> Vec<SinkSpec> {
        let sinks = self.sinks.iter().enumerate();
        sinks
            .map(|(n, (batched, ordered, max))| SinkSpec {
                batched: *batched,
                ordered: *ordered,
                inline_max_bytes: *max,
                ..sink(&format!("sink-{n}"))
            })
            .collect()
    }

    fn options(&self) -> DispatchOptions {
        DispatchOptions {
            window_rows: self.window_rows,
            window_bytes: self.window_bytes,
            concurrency: self.concurrency,
            sink_concurrency: self.sink_concurrency,
            on_dead: if self.stop {
                OnDead::Stop
            } else {
                OnDead::Skip
            },
            ..DispatchOptions::default()
        }
    }

    fn store_script(&self, seed: u64) -> StoreScript {
        let mut rng = Rng::with_seed(self.seed ^ seed);
        let bad = self.bad_store;
        Box::new(move |_, _| {
            if rng.u8(..100) >= bad {
                return (ms(rng.u64(..2_000)), Ok(()));
            }
            match rng.u8(..6) {
                0 => (Duration::MAX, Ok(())),
                1 => (ms(40_000), Ok(())),
                _ => (ms(rng.u64(..2_000)), Err(store_failure(&mut rng))),
            }
        })
    }

    fn script(&self) -> crate::sim::Script {
        let mut rng = Rng::with_seed(self.seed);
        let bad = self.bad;
        Box::new(move |_, _, _, _| {
            let takes = match rng.u8(..20) {
                0 => Duration::MAX,
                1 => ms(40_000),
                _ => ms(rng.u64(..2_000)),
            };
            let outcome = if rng.u8(..100) >= bad {
                ok()
            } else {
                failure(&mut rng)
            };
            (takes, outcome)
        })
    }
}

fn store_failure(rng: &mut Rng) -> ClaimError {
    match rng.u8(..8) {
        0 => ClaimError::TooLarge { size: 2, max: 1 },
        _ => ClaimError::unavailable("503"),
    }
}

fn failure(rng: &mut Rng) -> Result<Receipt, Failure> {
    match rng.u8(..12) {
        0 => fails(Class::Permanent),
        1 => fails(Class::Config),
        2 => fails(Class::RetryAfter(ms(rng.u64(..10_000_000)))),
        3 => {
            let reason = Reason::BatchQueueFull {
                ceiling: Ceiling::Bytes,
                max: 1,
            };
            Err(Failure::new(Class::RetryAfter(ms(rng.u64(..500))), reason))
        }
        _ => fails(Class::Transient),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// The simulation itself checks that no row is attempted twice at once, that nothing is
    /// attempted while parked, that the caps hold, that no wait is in the past, and that no sink is
    /// handed a hook whose body is too large for one of them before it lies in the store.
    #[test]
    fn every_hook_is_delivered_or_a_dead_letter_and_none_is_forgotten(plan in plan()) {
        let mut sim = Sim::new(plan.options(), plan.sinks(), plan.script());
        sim.store.script = plan.store_script(2);
        let mut rng = Rng::with_seed(plan.seed ^ 1);
        let mut kept = 0;
        for n in 0..plan.hooks {
            let key = (plan.keys > 0).then(|| format!("key-{}", rng.usize(..plan.keys)));
            let source = format!("src-{}", rng.usize(..plan.sources));
            let body = vec![b'x'; rng.usize(..40)];
            sim.enqueue_envelope(envelope(&n.to_string(), &source, &body), key.as_deref());
            if rng.u8(..4) == 0 {
                let at = sim.at();
                sim.run_until(at + ms(rng.u64(..60_000)));
            }
        }
        let mut settled = Vec::new();
        let mut attempts = Vec::new();
        let mut hours: Vec<_> = plan.restarts.iter().map(|h| u64::from(*h)).collect();
        hours.sort_unstable();
        let bad = plan.bad_journal;
        for (restart, hour) in hours.iter().enumerate() {
            let mut chance = Rng::with_seed(plan.seed ^ *hour);
            sim.faults = Box::new(move |_, _| chance.u8(..100) < bad);
            sim.run_until(Duration::from_secs(hour * 600));
            kept += sim.seen.accepted.iter().filter(|(_, result)| result.is_ok()).count();
            settled.append(&mut sim.seen.settled);
            attempts.append(&mut sim.seen.attempts);
            let mut table = sim.table;
            table.forget_claims();
            let bodies = sim.store.bodies;
            let seed = plan.seed ^ restart as u64;
            // Its clock begins anew: that time went by is the machine's own business.
            sim = Sim::over(table, plan.options(), plan.sinks(), plan.script(), seed);
            let script = plan.store_script(seed);
            sim.store = Store::over(bodies, script);
        }
        let mut chance = Rng::with_seed(plan.seed ^ 99);
        sim.faults = Box::new(move |at, _| at < Duration::from_secs(900_000) && chance.u8(..100) < bad);
        loop {
            let reason = sim.run();
            prop_assert_eq!(reason, DispatchWait::Input);
            let stopped = sim.table.stopped();
            if stopped.is_empty() {
                break;
            }
            for lane in stopped {
                sim.resume(&lane.lane);
            }
        }
        kept += sim.seen.accepted.iter().filter(|(_, result)| result.is_ok()).count();
        settled.append(&mut sim.seen.settled);
        attempts.append(&mut sim.seen.attempts);

        prop_assert!(sim.table.is_empty(), "{} rows forgotten", sim.table.len());
        let gauges = sim.machine.gauges();
        prop_assert_eq!((gauges.rows, gauges.bytes, gauges.lanes, gauges.attempts), (0, 0, 0, 0));
        prop_assert_eq!(gauges.check_ins, 0);
        let letters = sim.table.dead_letters(&Filter::default(), DeadId(0), usize::MAX);
        let delivered = settled.iter().filter(|s| s.outcome.is_ok()).count();
        // A restart may have kept from us what it had recorded; never a dead letter.
        let rows = kept * plan.sinks.len();
        prop_assert!(delivered + letters.len() <= rows);
        if hours.is_empty() {
            prop_assert_eq!(delivered + letters.len(), rows);
            // A store that takes every body in time is asked once for each.
            let mut asked: Vec<_> = sim.store.asked.iter().map(|(_, id)| id).collect();
            let count = asked.len();
            asked.sort_unstable();
            asked.dedup();
            prop_assert!(plan.bad_store > 0 || asked.len() == count);
        }
        // The horizon and the attempts of the policy are held.
        let policy = plan.options().retry;
        for letter in &letters {
            prop_assert!(letter.attempts <= policy.max_attempts);
        }
        if hours.is_empty() {
            let mut first = BTreeMap::new();
            for (at, sink, id, _) in &attempts {
                let began = *first.entry((sink.clone(), id.clone())).or_insert(*at);
                // The last attempt begins at the horizon's end, or once its sink is not left alone any
                // more.
                prop_assert!(*at <= began + policy.max_elapsed + ms(600_000));
            }
        }
    }

    #[test]
    fn equal_inputs_give_equal_outputs(seed in any::<u64>()) {
        let run = || {
            let plan = Plan {
                seed,
                sinks: vec![(true, false, None), (false, true, Some(1))],
                hooks: 30,
                sources: 3,
                keys: 2,
                window_rows: 10,
                window_bytes: 1_000,
                concurrency: 4,
                sink_concurrency: 3,
                bad: 60,
                bad_journal: 0,
                bad_store: 40,
                restarts: Vec::new(),
                stop: false,
            };
            let mut sim = Sim::new(plan.options(), plan.sinks(), plan.script());
            sim.store.script = plan.store_script(2);
            for n in 0..plan.hooks {
                sim.enqueue_keyed(&n.to_string(), &format!("src-{}", n % 3), Some("k"));
            }
            sim.run();
            (sim.seen.attempts, sim.seen.breakers, sim.seen.settled, sim.store.asked)
        };
        prop_assert_eq!(run(), run());
    }
}
