//! The journal on disk beside its model: random calls, equal answers, restarts in between.

#![allow(clippy::unwrap_used, clippy::panic, reason = "they fail the test")]

mod common;

use proptest::prelude::*;
use pubsink_core::claim::ClaimRef;
use pubsink_core::failure::ErrorClass;
use pubsink_core::journal::{
    Cause, Claim, DeadId, Enqueue, Filter, Lane, Record, ReplayJob, RowId, Table, TableLimits,
};
use pubsink_core::text::Text;
use pubsink_journal::{DiskJournal, DiskOptions};
use pubsink_runtime::journal::Journal as _;

use common::{Dir, envelope, hook, lane};

const SINKS: [&str; 4] = ["a", "b", "c/k", "c/l"];
const LIMITS: TableLimits = TableLimits {
    rows: 24,
    bytes: 2_000,
};

#[derive(Debug, Clone)]
enum Op {
    /// Hooks: which sinks, which source, how large, under which name.
    Enqueue(i64, Vec<(Vec<usize>, u8, usize, Option<u8>)>),
    Claim(usize, u8, i64, usize, usize, bool),
    /// Of the rows that were ever claimed, which ones, and what became of them.
    Record(Vec<(usize, u8, i64)>),
    Resume(usize, u8),
    Letters(u8, u64, usize),
    Discard(Vec<u64>),
    BeginReplay(u8, u8, u32),
    SetReplay(u8, bool),
    Replay(i64, u8, usize),
    Restart,
}

fn op() -> impl Strategy<Value = Op> {
    let time = || -3..40_i64;
    let hook = (
        prop::collection::vec(0..SINKS.len(), 0..3),
        0..2u8,
        0..150usize,
        prop::option::weighted(0.3, 0..6u8),
    );
    // Mostly of the rows that were given out last: they are claimed still.
    let record = (0..6usize, 0..6u8, time());
    prop_oneof![
        6 => (time(), prop::collection::vec(hook, 0..4)).prop_map(|(t, h)| Op::Enqueue(t, h)),
        8 => (0..SINKS.len(), 0..2u8, 0..60_i64, 0..5usize, 0..700usize, any::<bool>())
            .prop_map(|(s, o, d, r, b, f)| Op::Claim(s, o, d, r, b, f)),
        8 => prop::collection::vec(record, 0..4).prop_map(Op::Record),
        1 => (0..SINKS.len(), 0..2u8).prop_map(|(s, o)| Op::Resume(s, o)),
        2 => (0..4u8, 0..9u64, 0..9usize).prop_map(|(f, a, m)| Op::Letters(f, a, m)),
        1 => prop::collection::vec(0..9u64, 0..3).prop_map(Op::Discard),
        2 => (0..3u8, 0..4u8, 0..3u32).prop_map(|(j, f, p)| Op::BeginReplay(j, f, p)),
        1 => (0..4u8, any::<bool>()).prop_map(|(j, r)| Op::SetReplay(j, r)),
        3 => (time(), 0..4u8, 0..4usize).prop_map(|(t, j, m)| Op::Replay(t, j, m)),
        1 => Just(Op::Restart),
    ]
}

fn source(number: u8) -> String {
    format!("src-{number}")
}

fn the_lane(sink: usize, source_number: u8) -> Lane {
    lane(SINKS[sink], &source(source_number))
}

fn filter(number: u8) -> Filter {
    let mut filter = Filter::default();
    match number {
        1 => filter.source = Some(source(1)),
        2 => filter.config = Some(true),
        3 => filter.since = Some(20),
        _ => {}
    }
    filter
}

fn job(number: u8) -> Text {
    format!("job-{number}").into()
}

/// Both journals, and the rows they gave out.
struct Pair {
    table: Table,
    disk: Option<DiskJournal>,
    dir: Dir,
    given: Vec<RowId>,
    hooks: usize,
}

impl Pair {
    fn new() -> Self {
        let dir = Dir::new();
        Self {
            table: Table::new(LIMITS),
            disk: Some(Self::open(&dir)),
            dir,
            given: Vec::new(),
            hooks: 0,
        }
    }

    fn open(dir: &Dir) -> DiskJournal {
        let options = DiskOptions {
            max_rows: LIMITS.rows,
            max_bytes: LIMITS.bytes,
            cache_bytes: 1 << 20,
        };
        DiskJournal::open(dir.path(), options).unwrap()
    }

    async fn apply(&mut self, op: &Op) {
        if matches!(op, Op::Restart) {
            self.table.forget_claims();
            // The old one is closed before the new one is opened.
            self.disk = None;
            self.disk = Some(Self::open(&self.dir));
            return self.compare().await;
        }
        let disk = self.disk.as_ref().unwrap();
        let table = &mut self.table;
        match op {
            Op::Enqueue(now, hooks) => {
                let hooks: Vec<_> = hooks
                    .iter()
                    .map(|(to, from, size, name)| {
                        self.hooks += 1;
                        let to: Vec<_> = to.iter().map(|to| SINKS[*to]).collect();
                        let id = self.hooks.to_string();
                        let body = vec![7; *size];
                        Enqueue {
                            envelope: envelope(&id, &source(*from), &body),
                            once: name.map(|name| format!("name-{name}").into()),
                            claim: (size % 5 == 0).then(|| claim_ref("c")),
                            check_in: size % 2 == 0,
                            ..hook(&id, &source(*from), &to)
                        }
                    })
                    .collect();
                let expected = table.enqueue(*now, &hooks);
                assert_eq!(disk.enqueue(*now, hooks).await, expected);
            }
            Op::Claim(sink, from, due_by, max_rows, max_bytes, oversize) => {
                let claim = Claim {
                    lane: the_lane(*sink, *from),
                    due_by: *due_by,
                    max_rows: *max_rows,
                    max_bytes: *max_bytes,
                    oversize: *oversize,
                };
                let expected = table.claim(&claim);
                self.given.extend(expected.rows.iter().map(|row| row.id));
                assert_eq!(disk.claim(claim).await, Ok(expected));
            }
            Op::Record(records) => {
                let given = self.given.iter().rev();
                let given: Vec<_> = given.copied().chain([RowId(1_000)]).collect();
                let records: Vec<_> = records
                    .iter()
                    .map(|(row, what, time)| record(given[row % given.len()], *what, *time))
                    .collect();
                let expected = table.record(&records);
                assert_eq!(disk.record(records).await, expected);
            }
            Op::Resume(sink, from) => {
                let lane = the_lane(*sink, *from);
                let expected = table.resume(&lane);
                assert_eq!(disk.resume(lane).await, Ok(expected));
            }
            Op::Letters(number, after, max) => {
                let expected = table.dead_letters(&filter(*number), DeadId(*after), *max);
                let letters = disk.dead_letters(filter(*number), DeadId(*after), *max);
                assert_eq!(letters.await, Ok(expected));
            }
            Op::Discard(letters) => {
                let letters: Vec<_> = letters.iter().copied().map(DeadId).collect();
                let expected = table.discard(&letters);
                assert_eq!(disk.discard(letters).await, Ok(expected));
            }
            Op::BeginReplay(number, means, pause_after) => {
                let mut job = ReplayJob::new(job(*number), filter(*means));
                job.pause_after = *pause_after;
                let expected = table.begin_replay(job.clone());
                assert_eq!(disk.begin_replay(job).await, expected);
            }
            Op::SetReplay(number, running) => {
                let expected = table.set_replay(&job(*number), *running);
                assert_eq!(disk.set_replay(job(*number), *running).await, expected);
            }
            Op::Replay(now, number, max) => {
                let expected = table.replay(*now, &job(*number), *max);
                assert_eq!(disk.replay(*now, job(*number), *max).await, expected);
            }
            Op::Restart => {}
        }
        self.compare().await;
    }

    async fn compare(&self) {
        let disk = self.disk.as_ref().unwrap();
        assert_eq!(disk.lanes().await, Ok(self.table.lanes()));
        assert_eq!(disk.stopped().await, Ok(self.table.stopped()));
        assert_eq!(disk.replays().await, Ok(self.table.replays()));
    }
}

/// The second of two refs stays away where a hook has the first.
fn claim_ref(id: &str) -> ClaimRef {
    ClaimRef::derive(None, 1, id).unwrap()
}

fn record(row: RowId, what: u8, time: i64) -> Record {
    let claim = match time.rem_euclid(4) {
        0 => Some(claim_ref("a")),
        1 => Some(claim_ref("b")),
        _ => None,
    };
    match what {
        0 | 1 => Record::Delivered {
            row,
            message_id: (what == 0).then(|| format!("message-{time}").into()),
            claim,
        },
        2 => Record::Retry {
            row,
            due: time,
            attempts: 3,
            first_attempt_at: time - 1,
            maybe_stored: time % 2 == 0,
            claim,
        },
        3 | 4 => Record::Dead {
            row,
            cause: Cause {
                error_class: ErrorClass::Permanent,
                config: time % 2 == 0,
                kind: "sink".into(),
                message: format!("at {time}").into(),
                maybe_stored: time % 3 == 0,
            },
            attempts: 4,
            first_attempt_at: (what == 3).then_some(time),
            died_at: time,
            stop: what == 4,
            claim,
        },
        _ => Record::Release { row },
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn the_journal_answers_as_its_model_does(ops in prop::collection::vec(op(), 1..60)) {
        smol::block_on(async {
            let mut pair = Pair::new();
            for op in &ops {
                pair.apply(op).await;
            }
            pair.apply(&Op::Restart).await;
            // What is left is the same to the last row.
            for sink in 0..SINKS.len() {
                for from in 0..2 {
                    pair.apply(&Op::Claim(sink, from, i64::MAX, 100, 100_000, false)).await;
                }
            }
            pair.apply(&Op::Letters(0, 0, 100)).await;
        });
    }
}
