//! A journal that ends with the process.

use std::sync::{Mutex, PoisonError};

use pubsink_core::journal::{
    Claim, Claimed, DeadId, DeadLetter, Enqueue, Enqueued, Filter, JournalError, Lane, Record,
    ReplayJob, RowId, StoppedLane, Table, TableLimits,
};
use pubsink_core::text::Text;

use super::Journal;

/// A journal in memory, for hooks that somebody else can send again.
#[derive(Debug)]
pub struct MemoryJournal(Mutex<Table>);

impl MemoryJournal {
    /// An empty journal that holds at most `limits`.
    #[must_use]
    pub fn new(limits: TableLimits) -> Self {
        Self(Mutex::new(Table::new(limits)))
    }

    fn with<T>(&self, work: impl FnOnce(&mut Table) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Default for MemoryJournal {
    fn default() -> Self {
        Self::new(TableLimits::MEMORY)
    }
}

impl Journal for MemoryJournal {
    fn durable(&self) -> bool {
        false
    }

    fn begin(&self) {
        self.with(Table::forget_claims);
    }

    async fn lanes(&self) -> Result<Vec<(Lane, i64)>, JournalError> {
        Ok(self.with(|table| table.lanes()))
    }

    async fn enqueue(&self, now: i64, hooks: Vec<Enqueue>) -> Result<Vec<Enqueued>, JournalError> {
        self.with(|table| table.enqueue(now, &hooks))
    }

    async fn claim(&self, claim: Claim) -> Result<Claimed, JournalError> {
        Ok(self.with(|table| table.claim(&claim)))
    }

    async fn record(&self, records: Vec<Record>) -> Result<(), JournalError> {
        self.with(|table| table.record(&records))
    }

    async fn stopped(&self) -> Result<Vec<StoppedLane>, JournalError> {
        Ok(self.with(|table| table.stopped()))
    }

    async fn resume(&self, lane: Lane) -> Result<Option<i64>, JournalError> {
        Ok(self.with(|table| table.resume(&lane)))
    }

    async fn dead_letters(
        &self,
        filter: Filter,
        after: DeadId,
        max: usize,
    ) -> Result<Vec<DeadLetter>, JournalError> {
        Ok(self.with(|table| table.dead_letters(&filter, after, max)))
    }

    async fn discard(&self, letters: Vec<DeadId>) -> Result<usize, JournalError> {
        Ok(self.with(|table| table.discard(&letters)))
    }

    async fn begin_replay(&self, job: ReplayJob) -> Result<ReplayJob, JournalError> {
        self.with(|table| table.begin_replay(job))
    }

    async fn replays(&self) -> Result<Vec<ReplayJob>, JournalError> {
        Ok(self.with(|table| table.replays()))
    }

    async fn set_replay(&self, id: Text, running: bool) -> Result<ReplayJob, JournalError> {
        self.with(|table| table.set_replay(&id, running))
    }

    async fn replay(
        &self,
        now: i64,
        id: Text,
        max: usize,
    ) -> Result<(ReplayJob, Vec<(RowId, Lane)>), JournalError> {
        self.with(|table| table.replay(now, &id, max))
    }
}
