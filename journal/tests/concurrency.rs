//! Many at once: no row is given out twice at a time, and none is missed.

#![allow(clippy::unwrap_used, clippy::panic, reason = "they fail the test")]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use pubsink_core::journal::{DeadId, Filter, Record, ReplayJob, RowId};
use pubsink_journal::{DiskJournal, DiskOptions};
use pubsink_runtime::journal::Journal as _;

use common::{Dir, NOW, all_of, dead, delivered, enqueue, hook, lane, retry};

const PRODUCERS: usize = 4;
const HOOKS: usize = 150;
const PATIENCE: Duration = Duration::from_secs(120);
const SINKS: [&str; 3] = ["a", "b/k", "b/l"];

#[derive(Default)]
struct Seen {
    held: BTreeSet<RowId>,
    delivered: BTreeMap<(String, &'static str), u32>,
    /// The last hook of each producer that was delivered in a lane that keeps order.
    last: BTreeMap<(&'static str, String), usize>,
}

#[test]
fn rows_are_held_by_one_and_found_by_somebody() {
    let dir = Dir::new();
    let journal = DiskJournal::open(dir.path(), DiskOptions::default()).unwrap();
    let seen = Mutex::new(Seen::default());
    let left = AtomicUsize::new(PRODUCERS * HOOKS * SINKS.len());
    thread::scope(|scope| {
        for producer in 0..PRODUCERS {
            let journal = &journal;
            scope.spawn(move || {
                smol::block_on(async {
                    for n in 0..HOOKS {
                        let hook = hook(&format!("{producer}-{n:05}"), "src", &SINKS);
                        // Their times go back and forth.
                        enqueue(journal, NOW - i64::try_from(n % 7).unwrap(), hook).await;
                    }
                });
            });
        }
        for (worker, sink) in SINKS.iter().cycle().take(9).enumerate() {
            let (journal, seen, left) = (&journal, &seen, &left);
            scope.spawn(move || smol::block_on(work(journal, worker as u64, sink, seen, left)));
        }
    });
    let seen = seen.into_inner().unwrap();
    assert_eq!(seen.delivered.len(), PRODUCERS * HOOKS * SINKS.len());
    assert!(seen.delivered.values().all(|times| *times == 1));
    smol::block_on(async {
        assert!(journal.lanes().await.unwrap().is_empty());
        let letters = journal.dead_letters(Filter::default(), DeadId(0), 9).await;
        assert!(letters.unwrap().is_empty());
    });
}

/// Claims and records until everything is delivered.
async fn work(
    journal: &DiskJournal,
    worker: u64,
    sink: &'static str,
    seen: &Mutex<Seen>,
    left: &AtomicUsize,
) {
    let mut rng = fastrand::Rng::with_seed(worker);
    let mut jobs = 0;
    let begun = Instant::now();
    while left.load(Ordering::Relaxed) > 0 {
        assert!(begun.elapsed() < PATIENCE, "rows are missed");
        let mut claim = all_of(lane(sink, "src"));
        claim.max_rows = rng.usize(1..20);
        let rows = journal.claim(claim).await.unwrap().rows;
        if rows.is_empty() {
            smol::Timer::after(Duration::from_millis(1)).await;
            continue;
        }
        {
            let mut seen = seen.lock().unwrap();
            for row in &rows {
                assert!(seen.held.insert(row.id), "{:?} is given out twice", row.id);
            }
        }
        let mut died = false;
        let records = rows.iter().map(|row| match rng.u8(..10) {
            0 | 1 => retry(row.id, NOW + rng.i64(-50..50)),
            2 => Record::Release { row: row.id },
            3 if row.lane.key.is_none() => {
                died = true;
                dead(row.id, false)
            }
            _ => delivered(row.id),
        });
        let records: Vec<_> = records.collect();
        {
            // Once it is recorded, somebody else may have it before this one is told.
            let mut seen = seen.lock().unwrap();
            for (row, record) in rows.iter().zip(&records) {
                seen.held.remove(&row.id);
                if matches!(record, Record::Delivered { .. }) {
                    let id = row.envelope.id.clone();
                    let (producer, n) = id.split_once('-').unwrap();
                    if row.lane.key.is_some() {
                        let key = (sink, producer.to_owned());
                        let n = n.parse::<usize>().unwrap() + 1;
                        let last = seen.last.insert(key, n).unwrap_or(0);
                        assert_eq!(last + 1, n, "{sink} is out of order");
                    }
                    *seen.delivered.entry((id, sink)).or_default() += 1;
                }
            }
        }
        let count = |record: &&Record| matches!(record, Record::Delivered { .. });
        let count = records.iter().filter(count).count();
        let (releases, others): (Vec<_>, Vec<_>) = records
            .into_iter()
            .partition(|record| matches!(record, Record::Release { .. }));
        journal.record(releases).await.unwrap();
        journal.record(others).await.unwrap();
        left.fetch_sub(count, Ordering::Relaxed);
        if died {
            jobs += 1;
            let mut job = ReplayJob::new(format!("{worker}-{jobs}"), Filter::default());
            job.pause_after = u32::MAX;
            let id = job.id.clone();
            journal.begin_replay(job).await.unwrap();
            journal.replay(NOW, id, 100).await.unwrap();
        }
    }
}
