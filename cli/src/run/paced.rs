//! A journal whose rows are given out no faster than their outcomes are taken.

use std::sync::Arc;

use pubsink_core::journal::{
    Claim, Claimed, DeadId, DeadLetter, Enqueue, Enqueued, Filter, JournalError, Lane, Record,
    ReplayJob, RowId, StoppedLane,
};
use pubsink_core::text::Text;
use pubsink_journal::DiskJournal;
use pubsink_runtime::journal::Journal;

use super::level::Level;

/// The journal, and what has to have room before rows are claimed. Attempts under way go on and
/// are recorded whatever is full: a reader that stopped to read makes nothing time out.
pub(super) struct Paced {
    pub(super) journal: Arc<DiskJournal>,
    pub(super) levels: Vec<Arc<Level>>,
}

impl Journal for Paced {
    async fn lanes(&self) -> Result<Vec<(Lane, i64)>, JournalError> {
        self.journal.lanes().await
    }

    async fn enqueue(&self, now: i64, hooks: Vec<Enqueue>) -> Result<Vec<Enqueued>, JournalError> {
        self.journal.enqueue(now, hooks).await
    }

    async fn claim(&self, claim: Claim) -> Result<Claimed, JournalError> {
        for level in &self.levels {
            level.room().await;
        }
        self.journal.claim(claim).await
    }

    async fn record(&self, records: Vec<Record>) -> Result<(), JournalError> {
        self.journal.record(records).await
    }

    async fn stopped(&self) -> Result<Vec<StoppedLane>, JournalError> {
        self.journal.stopped().await
    }

    async fn resume(&self, lane: Lane) -> Result<Option<i64>, JournalError> {
        self.journal.resume(lane).await
    }

    async fn dead_letters(
        &self,
        filter: Filter,
        after: DeadId,
        max: usize,
    ) -> Result<Vec<DeadLetter>, JournalError> {
        self.journal.dead_letters(filter, after, max).await
    }

    async fn discard(&self, letters: Vec<DeadId>) -> Result<usize, JournalError> {
        self.journal.discard(letters).await
    }

    async fn begin_replay(&self, job: ReplayJob) -> Result<ReplayJob, JournalError> {
        self.journal.begin_replay(job).await
    }

    async fn replays(&self) -> Result<Vec<ReplayJob>, JournalError> {
        self.journal.replays().await
    }

    async fn set_replay(&self, id: Text, running: bool) -> Result<ReplayJob, JournalError> {
        self.journal.set_replay(id, running).await
    }

    async fn replay(
        &self,
        now: i64,
        id: Text,
        max: usize,
    ) -> Result<(ReplayJob, Vec<(RowId, Lane)>), JournalError> {
        self.journal.replay(now, id, max).await
    }
}
