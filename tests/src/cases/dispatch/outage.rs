//! R30 through dispatch: an outage costs no more memory than the ceilings say, and nobody is told
//! that a hook was taken which was not. Those that measure, in a process of their own.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::join_all;
use pubsink_core::dispatch::{Accepted, DispatchOptions, EnqueueError, Event};
use pubsink_core::envelope::Envelope;
use pubsink_core::journal::{JournalError, TableLimits};
use pubsink_fixtures::faults::{Action, Match, Rule};
use pubsink_journal::DiskOptions;
use pubsink_runtime::dispatch::{Acceptance, Dispatch};
use pubsink_runtime::sink::PubsubSink;

use crate::harness::case::cases;
use crate::harness::dispatching::{Plan, hook, hooks, quick, unbroken};
use crate::harness::env::Env;
use crate::harness::journals::Watched;
use crate::harness::memory::{assert_growth, resident_mb};

cases! {
    Faults, "dispatch R30.1 an outage over a journal in memory costs 40 MB at most, and accepted is stored" => in_memory, .measures_memory(), .limit(120);
    Faults, "dispatch R30.1 an outage over a journal on disk costs 40 MB at most, and accepted is stored" => on_disk, .measures_memory(), .limit(120);
    Faults, "dispatch R30.2 hooks of one byte cost 60 MB at most" => tiny, .measures_memory(), .limit(120);
    Faults, "dispatch R30.3 error bodies of 100 KB are cut in retries and dead letters, and memory stays" => error_bodies, .measures_memory(), .limit(60);
    Faults, "dispatch R30 what a journal does not keep in time is refused at the ceiling, and what was taken is stored" => busy, .limit(60);
}

/// How long the outage is. In the report it was 30 s; what is bounded does not grow with it.
const OUTAGE: Duration = Duration::from_secs(6);

/// 10 MB, as the report has it.
const BUDGET: u64 = 10_000_000;

#[derive(Debug, Default)]
struct Count {
    accepted: usize,
    busy: usize,
    full: usize,
    first_refusal: Option<Duration>,
}

impl Count {
    fn settle(&mut self, told: &Result<Accepted, EnqueueError>, at: Duration) {
        match told {
            Ok(Accepted::Stored(_)) => self.accepted += 1,
            Err(EnqueueError::Busy { .. }) => self.busy += 1,
            Err(EnqueueError::Journal(JournalError::Full { .. })) => self.full += 1,
            other => panic!("{other:?}"),
        }
        if told.is_err() {
            self.first_refusal.get_or_insert(at);
        }
    }
}

/// What became of the rows, in numbers alone: a list of them would be memory of the case's own.
#[derive(Clone, Default)]
struct Ends {
    delivered: Arc<AtomicUsize>,
    died: Arc<AtomicUsize>,
}

fn start(env: &Env, journal: &Arc<Watched>, options: DispatchOptions) -> (Dispatch, Ends) {
    let ends = Ends::default();
    let publisher = env.publisher(env.options().timeout(Duration::from_secs(2)));
    let counted = ends.clone();
    let plan = Plan {
        journal: Arc::clone(journal),
        sinks: vec![("topic".to_owned(), PubsubSink::new(publisher))],
        claims: None,
        options,
        observer: Box::new(move |event| {
            if let Event::Settled(settled) = event {
                let count = match settled.outcome {
                    Ok(_) => &counted.delivered,
                    Err(_) => &counted.died,
                };
                count.fetch_add(1, Ordering::Relaxed);
            }
        }),
    };
    (env.host().dispatch(plan), ends)
}

/// Pushes hooks as fast as they are taken for as long as the outage is, in which memory may grow by
/// `most` MB; then everything that was accepted has to be stored.
async fn outage(env: Env, journal: Watched, bytes: usize, most: u64) {
    env.server().refuse_connections(true).unwrap();
    env.server().drop_connections();
    let journal = Arc::new(journal);
    let (dispatch, ends) = start(&env, &journal, quick());
    let before = resident_mb();
    let mut count = Count::default();
    let mut pending: VecDeque<Acceptance> = VecDeque::new();
    let start = Instant::now();
    let body = Bytes::from(vec![b'x'; bytes]);
    for number in 0.. {
        if start.elapsed() >= OUTAGE {
            break;
        }
        while let Some(told) = pending.front_mut().and_then(|first| first.now_or_never()) {
            count.settle(&told, start.elapsed());
            pending.pop_front();
        }
        let hook = Envelope {
            // Not a slice of one buffer: every hook has its own, as it has when it is received.
            body: Bytes::copy_from_slice(&body),
            ..hook(number.to_string())
        };
        let mut accepted = dispatch.enqueue(hook);
        match (&mut accepted).now_or_never() {
            Some(told) => {
                count.settle(&told, start.elapsed());
                env.sleep(5).await;
            }
            None => pending.push_back(accepted),
        }
    }
    for told in join_all(pending).await {
        count.settle(&told, start.elapsed());
    }
    // Before the outage ends, since the server keeps what it stores.
    assert_growth(before, most);
    eprintln!("NOTE: {count:?}");
    assert!(count.accepted > 1_000, "{count:?}");
    assert!(count.busy + count.full > 0, "{count:?}");
    assert!(
        count
            .first_refusal
            .is_some_and(|at| at < Duration::from_secs(4)),
        "{count:?}"
    );
    assert_eq!(ends.delivered.load(Ordering::Relaxed), 0);
    env.server().refuse_connections(false).unwrap();
    let ended = || {
        let delivered = ends.delivered.load(Ordering::Relaxed);
        delivered + ends.died.load(Ordering::Relaxed) == count.accepted
    };
    env.until_within(80, "all that was accepted has ended", ended)
        .await;
    assert_eq!(ends.died.load(Ordering::Relaxed), 0);
    let mut stored = env.stored_hooks();
    stored.sort();
    stored.dedup();
    assert_eq!(stored.len(), count.accepted);
    assert_eq!(journal.lanes_left().await, 0);
    let gauges = dispatch.gauges();
    assert_eq!((gauges.rows, gauges.bytes, gauges.intake), (0, 0, 0));
}

async fn in_memory(env: Env) {
    let limits = TableLimits {
        rows: 1_000_000,
        bytes: BUDGET,
    };
    outage(env, Watched::memory_of(limits), 1_000, 40).await;
}

async fn on_disk(env: Env) {
    let options = DiskOptions {
        max_bytes: BUDGET,
        cache_bytes: 4_000_000,
        ..DiskOptions::default()
    };
    outage(env, Watched::disk_of(options), 1_000, 40).await;
}

async fn tiny(env: Env) {
    let limits = TableLimits {
        rows: 30_000,
        bytes: BUDGET,
    };
    outage(env, Watched::memory_of(limits), 1, 60).await;
}

async fn error_bodies(env: Env) {
    env.server()
        .script([Rule::on(Match::publish()).then(Action::status(500, vec![b'e'; 100_000]))]);
    let mut options = unbroken();
    options.retry.max_attempts = 2;
    let journal = Arc::new(Watched::memory());
    let (dispatch, ends) = start(&env, &journal, options);
    let mut before = None;
    for round in 1..=20 {
        for hook in hooks(&format!("r{round}"), 50) {
            dispatch.enqueue(hook).await.unwrap();
        }
        let died = || ends.died.load(Ordering::Relaxed) == 50 * round;
        env.until("all have died", died).await;
        if round == 5 {
            before = resident_mb();
        }
    }
    // 750 more dead letters of at most 8.3 KB, where whole bodies were 75 MB.
    assert_growth(before, 25);
    let letters = journal.letters().await;
    assert_eq!(letters.len(), 1_000);
    for letter in letters {
        let (message, attempts) = (letter.cause.message, letter.attempts);
        assert!(message.len() < 8_400, "{} bytes kept", message.len());
        assert_eq!(attempts, 2);
    }
}

async fn busy(env: Env) {
    let publisher = env.publisher(env.options());
    let mut options = quick();
    options.intake_hooks = 100;
    let dispatching = env.dispatching(Watched::memory(), publisher, options);
    let held = dispatching.journal.hold_hooks();
    let mut pending: Vec<_> = hooks("m", 150)
        .into_iter()
        .map(|hook| dispatching.dispatch.enqueue(hook))
        .collect();
    for refused in pending.drain(100..) {
        let told = refused.now_or_never();
        let at_ceiling = matches!(
            told,
            Some(Err(EnqueueError::Busy {
                what: "hooks",
                held: 100
            }))
        );
        assert!(at_ceiling, "{told:?}");
    }
    assert_eq!(env.publishes(), 0, "nothing goes before it is kept");
    drop(held);
    for accepted in join_all(pending).await {
        assert!(accepted.is_ok(), "{accepted:?}");
    }
    dispatching.delivered(&env, 100).await;
    assert_eq!(env.stored().len(), 100);
    dispatching.accept(hooks("later", 1)).await;
}
