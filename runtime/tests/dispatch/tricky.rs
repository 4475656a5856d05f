//! A journal in memory that does other things than it is asked.

use std::future::pending;
use std::sync::Arc;

use pubsink_runtime::core::journal::{
    Claim, Claimed, DeadId, DeadLetter, Enqueue, Enqueued, Filter, JournalError, Lane, Record,
    ReplayJob, RowId, StoppedLane,
};
use pubsink_runtime::core::text::Text;
use pubsink_runtime::journal::{Journal, MemoryJournal};

/// What a journal does when it is asked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Does {
    AsAsked,
    Panic,
    Fail,
    NeverAnswer,
}

/// Does what it is told with each call, by the call's name. Durable, as far as it says.
pub(crate) struct Tricky {
    memory: Arc<MemoryJournal>,
    does: Box<dyn Fn(&'static str) -> Does + Send + Sync>,
}

impl Tricky {
    pub(crate) fn new(
        memory: &Arc<MemoryJournal>,
        does: impl Fn(&'static str) -> Does + Send + Sync + 'static,
    ) -> Self {
        Self {
            memory: Arc::clone(memory),
            does: Box::new(does),
        }
    }

    async fn ask(&self, what: &'static str) -> Result<&MemoryJournal, JournalError> {
        match (self.does)(what) {
            Does::AsAsked => Ok(&self.memory),
            Does::Panic => panic!("a journal that panics"),
            Does::Fail => Err(JournalError::Storage("the disk is full".into())),
            Does::NeverAnswer => pending().await,
        }
    }
}

impl Journal for Tricky {
    async fn lanes(&self) -> Result<Vec<(Lane, i64)>, JournalError> {
        self.ask("lanes").await?.lanes().await
    }

    async fn enqueue(&self, now: i64, hooks: Vec<Enqueue>) -> Result<Vec<Enqueued>, JournalError> {
        self.ask("enqueue").await?.enqueue(now, hooks).await
    }

    async fn claim(&self, claim: Claim) -> Result<Claimed, JournalError> {
        self.ask("claim").await?.claim(claim).await
    }

    async fn record(&self, records: Vec<Record>) -> Result<(), JournalError> {
        self.ask("record").await?.record(records).await
    }

    async fn stopped(&self) -> Result<Vec<StoppedLane>, JournalError> {
        self.ask("stopped").await?.stopped().await
    }

    async fn resume(&self, lane: Lane) -> Result<Option<i64>, JournalError> {
        self.ask("resume").await?.resume(lane).await
    }

    async fn dead_letters(
        &self,
        filter: Filter,
        after: DeadId,
        max: usize,
    ) -> Result<Vec<DeadLetter>, JournalError> {
        let memory = self.ask("dead_letters").await?;
        memory.dead_letters(filter, after, max).await
    }

    async fn discard(&self, letters: Vec<DeadId>) -> Result<usize, JournalError> {
        self.ask("discard").await?.discard(letters).await
    }

    async fn begin_replay(&self, job: ReplayJob) -> Result<ReplayJob, JournalError> {
        self.ask("begin_replay").await?.begin_replay(job).await
    }

    async fn replays(&self) -> Result<Vec<ReplayJob>, JournalError> {
        self.ask("replays").await?.replays().await
    }

    async fn set_replay(&self, id: Text, running: bool) -> Result<ReplayJob, JournalError> {
        self.ask("set_replay").await?.set_replay(id, running).await
    }

    async fn replay(
        &self,
        now: i64,
        id: Text,
        max: usize,
    ) -> Result<(ReplayJob, Vec<(RowId, Lane)>), JournalError> {
        self.ask("replay").await?.replay(now, id, max).await
    }
}
