//! The thread that changes the file: calls are gathered into groups, and each group is one
//! transaction that is synced before any of its calls is answered.

mod enqueue;
mod group;
mod letters;
mod records;
mod replays;

use std::path::Path;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use async_channel::Receiver;
use pubsink_core::journal::JournalError;
use redb::ReadableDatabase as _;

use crate::calls::{Call, Change, Changed};
use crate::claims::Claims;
use crate::disk::Shared;
use crate::error::{Fault, OpenError};
use crate::options::DiskOptions;
use crate::tables::ROWS;

use group::{Aftermath, Counters, Group};

/// The most rows of a group: a transaction of this size takes as long as some syncs, so a larger
/// one would gain little and be waited for longer.
const GROUP_ROWS: usize = 1_024;
/// The most bytes of a group, unless one call has more.
const GROUP_BYTES: usize = 8 * 1024 * 1024;
/// The most a group is waited for, see [`Writer::gather`].
const GATHER_MAX: Duration = Duration::from_millis(1);
/// How often a group that is waited for is looked at.
const GATHER_STEP: Duration = Duration::from_micros(50);

pub(crate) struct Writer {
    shared: Arc<Shared>,
    options: DiskOptions,
    calls: Receiver<Call<Change, Changed>>,
    counters: Counters,
    /// A call that did not fit into the last group.
    next: Option<Call<Change, Changed>>,
    /// How many calls the last group had, and how long it took.
    last: (usize, Duration),
}

/// The answers of a group that was applied, and what follows from it if it is committed.
struct Applied {
    answers: Vec<Result<Changed, JournalError>>,
    counters: Counters,
}

impl Writer {
    pub(crate) fn new(
        shared: Arc<Shared>,
        options: DiskOptions,
        calls: Receiver<Call<Change, Changed>>,
        dir: &Path,
    ) -> Result<Self, OpenError> {
        let counters = shared.store.with(Counters::read);
        let counters = counters.map_err(|fault| OpenError::Damaged {
            dir: dir.into(),
            detail: fault.to_string().into(),
        })?;
        Ok(Self {
            shared,
            options,
            calls,
            counters,
            next: None,
            last: (0, Duration::ZERO),
        })
    }

    pub(crate) fn run(mut self) {
        loop {
            let first = self
                .next
                .take()
                .map_or_else(|| self.calls.recv_blocking(), Ok);
            let Ok(first) = first else {
                return;
            };
            let calls = self.gather(first);
            let begun = Instant::now();
            self.last.0 = calls.len();
            self.keep(calls);
            self.last.1 = begun.elapsed();
        }
    }

    /// Takes what waits. Callers that were answered just now are about to call again: a group is
    /// given a fraction of the time a sync takes to become as large as the last one, so that they
    /// do not take turns in two halves, each waiting for the other's sync.
    fn gather(&mut self, first: Call<Change, Changed>) -> Vec<Call<Change, Changed>> {
        let patience = (self.last.1 / 4).min(GATHER_MAX);
        let begun = Instant::now();
        while self.calls.len() + 1 < self.last.0 && begun.elapsed() < patience {
            thread::sleep(GATHER_STEP);
        }
        let (mut rows, mut bytes) = first.ask.weight();
        let mut calls = vec![first];
        while rows < GROUP_ROWS && bytes < GROUP_BYTES {
            let Ok(call) = self.calls.try_recv() else {
                break;
            };
            let weight = call.ask.weight();
            rows = rows.saturating_add(weight.0);
            bytes = bytes.saturating_add(weight.1);
            if rows > GROUP_ROWS || bytes > GROUP_BYTES {
                self.next = Some(call);
                break;
            }
            calls.push(call);
        }
        calls
    }

    /// Does the calls and answers them.
    fn keep(&mut self, calls: Vec<Call<Change, Changed>>) {
        let asks: Vec<_> = calls.iter().map(|call| &call.ask).collect();
        match self.commit(&asks) {
            Ok(answers) => {
                for (call, answer) in calls.into_iter().zip(answers) {
                    // Nobody may wait any more.
                    drop(call.reply.send(answer));
                }
            }
            // One of them met something damaged: the others are not to suffer for it.
            Err(Fault::Damaged(_) | Fault::Panicked(_)) if calls.len() > 1 => {
                for call in calls {
                    self.keep(vec![call]);
                }
            }
            Err(fault) => {
                for call in calls {
                    drop(call.reply.send(Err((&fault).into())));
                }
            }
        }
    }

    /// Does the calls in one transaction: an answer for each, or nothing is done.
    fn commit(&mut self, asks: &[&Change]) -> Result<Vec<Result<Changed, JournalError>>, Fault> {
        self.mend()?;
        let serial = self.counters.serial + 1;
        let mut aftermath = Aftermath::default();
        let mut applied = None;
        let done = self.transaction(asks, &mut aftermath, &mut applied);
        let done = match done {
            Err(fault @ (Fault::Disk(_) | Fault::Panicked(_))) => {
                // It may be that only what follows a commit failed: then the file has it.
                let mended = self.mend();
                if mended.is_ok() && applied.is_some() && self.counters.serial == serial {
                    Ok(())
                } else {
                    Err(fault)
                }
            }
            done => done,
        };
        let mut claims = lock(&self.shared);
        match (done, applied) {
            (Ok(()), Some(applied)) => {
                aftermath.settle(&mut claims);
                self.counters = applied.counters;
                Ok(applied.answers)
            }
            (done, _) => {
                aftermath.undo(&mut claims);
                Err(done.err().unwrap_or_else(|| Fault::damaged("no answers")))
            }
        }
    }

    fn transaction(
        &self,
        asks: &[&Change],
        aftermath: &mut Aftermath,
        applied: &mut Option<Applied>,
    ) -> Result<(), Fault> {
        let shared = &self.shared;
        shared.store.with(|database| {
            let tx = database.begin_write()?;
            let mut group = Group::open(&tx, shared, self.options, self.counters, aftermath)?;
            let answers: Result<_, Fault> = asks.iter().map(|ask| group.apply(ask)).collect();
            let answers = answers?;
            let counters = group.finish()?;
            drop(group);
            *applied = Some(Applied { answers, counters });
            if counters == self.counters {
                tx.abort()?;
            } else {
                tx.commit()?;
            }
            Ok(())
        })
    }

    /// Opens the file again, if it is broken, and looks at what is in it.
    fn mend(&mut self) -> Result<(), Fault> {
        if !self.shared.store.is_broken() {
            return Ok(());
        }
        self.shared.store.mend()?;
        self.counters = self.shared.store.with(Counters::read)?;
        // If the last transaction was done although it failed, its rows are not where they were.
        let places = lock(&self.shared).places();
        let moved = self.shared.store.with(|database| {
            let rows = database.begin_read()?.open_table(ROWS)?;
            let mut moved = Vec::new();
            for place in places {
                if rows.get(&place.key())?.is_none() {
                    moved.push(place.row);
                }
            }
            Ok(moved)
        })?;
        let mut claims = lock(&self.shared);
        for row in moved {
            claims.gone(row);
        }
        Ok(())
    }
}

fn lock(shared: &Shared) -> MutexGuard<'_, Claims> {
    shared.claims.lock().unwrap_or_else(PoisonError::into_inner)
}
