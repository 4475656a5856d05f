//! What became of rows, on its way to the journal.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::io::{CallId, Event};
use crate::journal::{JournalError, Record, Row};

/// The most records of one call.
const CALL_RECORDS: usize = 1_000;
/// How many calls at a time.
const CALLS: usize = 2;

/// One row's record, and what follows once it is kept.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) row: Arc<Row>,
    pub(super) record: Record,
    /// Told once it is kept.
    pub(super) event: Option<Event>,
    /// When its lane has something due because of it, unix milliseconds.
    pub(super) due: Option<i64>,
}

/// Records that are not kept yet. Their rows stay claimed until they are.
#[derive(Debug, Default)]
pub(super) struct Records {
    waiting: VecDeque<Pending>,
    /// Records of calls that failed, each in a call of its own from then on: one that cannot be
    /// kept must not hold up the others.
    alone: VecDeque<Pending>,
    calls: BTreeMap<CallId, Call>,
    backoff: Backoff,
    /// Of those that are alone. That others are kept says nothing of them, or one that can never
    /// be kept would be tried again for each of the others.
    alone_backoff: Backoff,
}

#[derive(Debug)]
struct Call {
    alone: bool,
    batch: Vec<Pending>,
}

impl Records {
    pub(super) fn push(&mut self, pending: Pending) {
        self.waiting.push_back(pending);
    }

    /// How many are not kept yet.
    pub(super) fn len(&self) -> usize {
        let called: usize = self.calls.values().map(|call| call.batch.len()).sum();
        self.waiting.len() + self.alone.len() + called
    }

    /// When the journal is asked again, after it failed.
    pub(super) fn due(&self) -> Option<Instant> {
        let all = self.backoff.until();
        let alone = all.max(self.alone_backoff.until());
        let waiting = all.filter(|_| !self.waiting.is_empty());
        let alone = alone.filter(|_| !self.alone.is_empty());
        waiting.into_iter().chain(alone).min()
    }

    /// The records of the next call, if there is one to make.
    pub(super) fn next(
        &mut self,
        now: Instant,
        call: impl FnOnce() -> CallId,
    ) -> Option<(CallId, Vec<Record>)> {
        if self.calls.len() >= CALLS || !self.backoff.is_over(now) {
            return None;
        }
        let alone = self.alone_backoff.is_over(now);
        let first = alone.then(|| self.alone.pop_front()).flatten();
        let alone = first.is_some();
        let batch: Vec<_> = if let Some(first) = first {
            vec![first]
        } else {
            let count = self.waiting.len().min(CALL_RECORDS);
            self.waiting.drain(..count).collect()
        };
        if batch.is_empty() {
            return None;
        }
        let records = batch.iter().map(|pending| pending.record.clone()).collect();
        let call = call();
        self.calls.insert(call, Call { alone, batch });
        Some((call, records))
    }

    /// The call was answered: what is kept. Of a call that failed nothing is, and its records are
    /// tried again, but for one whose row the journal does not know as claimed.
    pub(super) fn answered(
        &mut self,
        now: Instant,
        call: CallId,
        result: Result<(), &JournalError>,
    ) -> Option<Vec<Pending>> {
        let Call { alone, batch } = self.calls.remove(&call)?;
        let Err(error) = result else {
            self.backoff.reset();
            if alone {
                self.alone_backoff.reset();
            }
            return Some(batch);
        };
        if let JournalError::NotClaimed(lost) = error {
            let (lost, others) = batch
                .into_iter()
                .partition(|pending| pending.record.row() == *lost);
            self.alone.extend::<Vec<_>>(others);
            return Some(lost);
        }
        if alone || self.alone.is_empty() {
            self.alone_backoff.failed(now);
        }
        if !alone {
            self.backoff.failed(now);
        }
        self.alone.extend(batch);
        Some(Vec::new())
    }

    /// Everything is given up: it stays claimed in the journal, and is due again after a restart.
    pub(super) fn take_all(&mut self) -> Vec<Pending> {
        let called = std::mem::take(&mut self.calls).into_values();
        let called = called.flat_map(|call| call.batch);
        let waiting = std::mem::take(&mut self.waiting);
        let alone = std::mem::take(&mut self.alone);
        called.chain(alone).chain(waiting).collect()
    }
}

/// How long a journal that failed is left alone: a second, doubling to half a minute. A full disk
/// does not get better by asking, and is not to be asked in a loop.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    failures: u32,
    until: Option<Instant>,
}

impl Backoff {
    const FIRST: Duration = Duration::from_secs(1);
    const MAX: Duration = Duration::from_secs(30);

    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.until.is_none_or(|until| until <= now)
    }

    /// When it is over; none if it is not on.
    pub(super) fn until(&self) -> Option<Instant> {
        self.until
    }

    pub(super) fn failed(&mut self, now: Instant) {
        let factor = 1u32.checked_shl(self.failures.min(16)).unwrap_or(1);
        let pause = Self::FIRST.saturating_mul(factor).min(Self::MAX);
        self.failures = self.failures.saturating_add(1);
        self.until = now.checked_add(pause);
    }

    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::Envelope;
    use crate::journal::{Lane, RowId};

    fn pending(id: u64) -> Pending {
        let envelope = Envelope::new(id.to_string(), "src", 0, "");
        let lane = Lane {
            sink: "a".into(),
            source: "src".into(),
            key: None,
        };
        let row = Row {
            id: RowId(id),
            lane,
            envelope: Arc::new(envelope),
            claim: None,
            check_in: false,
            enqueued_at: 0,
            due: 0,
            attempts: 0,
            first_attempt_at: None,
            maybe_stored: false,
            replay_id: None,
            once: None,
        };
        Pending {
            record: Record::Release { row: row.id },
            row: Arc::new(row),
            event: None,
            due: None,
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "time has to begin somewhere")]
    fn one_that_cannot_be_kept_is_left_alone_and_holds_up_nobody() {
        const BAD: u64 = 0;
        let full = JournalError::Storage("no".into());
        let start = Instant::now();
        let mut records = Records::default();
        records.push(pending(BAD));
        let (mut calls, mut asked, mut kept) = (0, 0, 0);
        // A minute in which one other comes every tenth of a second.
        for number in 1..=600 {
            let now = start + Duration::from_millis(100) * number;
            records.push(pending(u64::from(number)));
            loop {
                let next = records.next(now, || {
                    calls += 1;
                    CallId(calls)
                });
                let Some((call, batch)) = next else {
                    break;
                };
                let bad = batch.iter().any(|record| record.row() == RowId(BAD));
                asked += u32::from(bad);
                let result = if bad { Err(&full) } else { Ok(()) };
                kept += records.answered(now, call, result).unwrap().len();
            }
        }
        assert_eq!((kept, records.len()), (600, 1));
        // After 1, 2, 4, 8, 16 s, more or less.
        assert!((5..=9).contains(&asked), "asked {asked} times");
        assert!(records.due().is_some(), "it is asked again");
    }
}
