//! Where rows are kept: the journal, as a driver calls it.

mod memory;

use std::future::Future;
use std::sync::Arc;

use pubsink_core::journal::{
    Claim, Claimed, DeadId, DeadLetter, Enqueue, Enqueued, Filter, JournalError, Lane, Record,
    ReplayJob, RowId, StoppedLane,
};
use pubsink_core::text::Text;

pub use memory::MemoryJournal;

/// Keeps rows and dead letters. What each call does is written down in
/// [`Table`](pubsink_core::journal::Table), which does it in memory.
///
/// A call is one step that is done whole or not at all, and once it has answered it is done for
/// good, as far as the journal [is durable](Self::durable). A call whose future is dropped may
/// have been done. One process has a journal at a time; a row it had claimed when it ended is
/// due again as it was.
pub trait Journal: Send + Sync + 'static {
    /// Whether what it keeps outlives the process. Default: true.
    fn durable(&self) -> bool {
        true
    }

    /// A dispatcher begins: nothing is claimed any more. What an earlier one of this process had
    /// claimed and not recorded is due again as it was. Default: nothing to be done.
    fn begin(&self) {}

    /// Every lane that has a row to give, and when its next one is due. Not those whose rows are
    /// all claimed, nor those that stopped.
    fn lanes(&self) -> impl Future<Output = Result<Vec<(Lane, i64)>, JournalError>> + Send;

    /// Keeps hooks; answers for each in order. `now` is unix milliseconds.
    fn enqueue(
        &self,
        now: i64,
        hooks: Vec<Enqueue>,
    ) -> impl Future<Output = Result<Vec<Enqueued>, JournalError>> + Send;

    /// Gives out rows of a lane.
    fn claim(&self, claim: Claim) -> impl Future<Output = Result<Claimed, JournalError>> + Send;

    /// Keeps what became of claimed rows.
    fn record(&self, records: Vec<Record>)
    -> impl Future<Output = Result<(), JournalError>> + Send;

    /// The lanes that stopped when one of their messages died.
    fn stopped(&self) -> impl Future<Output = Result<Vec<StoppedLane>, JournalError>> + Send;

    /// Lets a stopped lane go on; tells when its first row is due.
    fn resume(&self, lane: Lane) -> impl Future<Output = Result<Option<i64>, JournalError>> + Send;

    /// The dead letters that `filter` means and that come after `after`, at most `max`.
    fn dead_letters(
        &self,
        filter: Filter,
        after: DeadId,
        max: usize,
    ) -> impl Future<Output = Result<Vec<DeadLetter>, JournalError>> + Send;

    /// Removes dead letters for good; tells how many there were.
    fn discard(
        &self,
        letters: Vec<DeadId>,
    ) -> impl Future<Output = Result<usize, JournalError>> + Send;

    /// Begins a replay job of the dead letters there are now. A running dispatcher has to be told:
    /// call its handle instead.
    fn begin_replay(
        &self,
        job: ReplayJob,
    ) -> impl Future<Output = Result<ReplayJob, JournalError>> + Send;

    /// Every replay job, by id.
    fn replays(&self) -> impl Future<Output = Result<Vec<ReplayJob>, JournalError>> + Send;

    /// Pauses a replay job, or lets it go on.
    fn set_replay(
        &self,
        id: Text,
        running: bool,
    ) -> impl Future<Output = Result<ReplayJob, JournalError>> + Send;

    /// Sends the next dead letters of a running job again, at most `max`.
    fn replay(
        &self,
        now: i64,
        id: Text,
        max: usize,
    ) -> impl Future<Output = Result<(ReplayJob, Vec<(RowId, Lane)>), JournalError>> + Send;
}

impl<J: Journal> Journal for Arc<J> {
    fn durable(&self) -> bool {
        (**self).durable()
    }

    fn begin(&self) {
        (**self).begin();
    }

    async fn lanes(&self) -> Result<Vec<(Lane, i64)>, JournalError> {
        (**self).lanes().await
    }

    async fn enqueue(&self, now: i64, hooks: Vec<Enqueue>) -> Result<Vec<Enqueued>, JournalError> {
        (**self).enqueue(now, hooks).await
    }

    async fn claim(&self, claim: Claim) -> Result<Claimed, JournalError> {
        (**self).claim(claim).await
    }

    async fn record(&self, records: Vec<Record>) -> Result<(), JournalError> {
        (**self).record(records).await
    }

    async fn stopped(&self) -> Result<Vec<StoppedLane>, JournalError> {
        (**self).stopped().await
    }

    async fn resume(&self, lane: Lane) -> Result<Option<i64>, JournalError> {
        (**self).resume(lane).await
    }

    async fn dead_letters(
        &self,
        filter: Filter,
        after: DeadId,
        max: usize,
    ) -> Result<Vec<DeadLetter>, JournalError> {
        (**self).dead_letters(filter, after, max).await
    }

    async fn discard(&self, letters: Vec<DeadId>) -> Result<usize, JournalError> {
        (**self).discard(letters).await
    }

    async fn begin_replay(&self, job: ReplayJob) -> Result<ReplayJob, JournalError> {
        (**self).begin_replay(job).await
    }

    async fn replays(&self) -> Result<Vec<ReplayJob>, JournalError> {
        (**self).replays().await
    }

    async fn set_replay(&self, id: Text, running: bool) -> Result<ReplayJob, JournalError> {
        (**self).set_replay(id, running).await
    }

    async fn replay(
        &self,
        now: i64,
        id: Text,
        max: usize,
    ) -> Result<(ReplayJob, Vec<(RowId, Lane)>), JournalError> {
        (**self).replay(now, id, max).await
    }
}
