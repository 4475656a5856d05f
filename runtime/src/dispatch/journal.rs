//! The journal, its type forgotten.

use std::future::Future;
use std::pin::Pin;

use pubsink_core::journal::{
    Claim, Claimed, DeadId, DeadLetter, Enqueue, Enqueued, Filter, JournalError, Lane, Record,
    ReplayJob, RowId, StoppedLane,
};
use pubsink_core::text::Text;

use crate::journal::Journal;

/// A journal's answer on its way.
pub(super) type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, JournalError>> + Send + 'a>>;

/// A [`Journal`] whose type is forgotten, so that a handle has none either. One call serves many
/// rows, which a box is nothing beside.
pub(super) trait AnyJournal: Send + Sync {
    fn durable(&self) -> bool;
    fn begin(&self);
    fn lanes(&self) -> Answer<'_, Vec<(Lane, i64)>>;
    fn enqueue(&self, now: i64, hooks: Vec<Enqueue>) -> Answer<'_, Vec<Enqueued>>;
    fn claim(&self, claim: Claim) -> Answer<'_, Claimed>;
    fn record(&self, records: Vec<Record>) -> Answer<'_, ()>;
    fn stopped(&self) -> Answer<'_, Vec<StoppedLane>>;
    fn resume(&self, lane: Lane) -> Answer<'_, Option<i64>>;
    fn dead_letters(
        &self,
        filter: Filter,
        after: DeadId,
        max: usize,
    ) -> Answer<'_, Vec<DeadLetter>>;
    fn discard(&self, letters: Vec<DeadId>) -> Answer<'_, usize>;
    fn begin_replay(&self, job: ReplayJob) -> Answer<'_, ReplayJob>;
    fn replays(&self) -> Answer<'_, Vec<ReplayJob>>;
    fn set_replay(&self, id: Text, running: bool) -> Answer<'_, ReplayJob>;
    fn replay(&self, now: i64, id: Text, max: usize)
    -> Answer<'_, (ReplayJob, Vec<(RowId, Lane)>)>;
}

impl<J: Journal> AnyJournal for J {
    fn durable(&self) -> bool {
        Journal::durable(self)
    }

    fn begin(&self) {
        Journal::begin(self);
    }

    fn lanes(&self) -> Answer<'_, Vec<(Lane, i64)>> {
        Box::pin(Journal::lanes(self))
    }

    fn enqueue(&self, now: i64, hooks: Vec<Enqueue>) -> Answer<'_, Vec<Enqueued>> {
        Box::pin(Journal::enqueue(self, now, hooks))
    }

    fn claim(&self, claim: Claim) -> Answer<'_, Claimed> {
        Box::pin(Journal::claim(self, claim))
    }

    fn record(&self, records: Vec<Record>) -> Answer<'_, ()> {
        Box::pin(Journal::record(self, records))
    }

    fn stopped(&self) -> Answer<'_, Vec<StoppedLane>> {
        Box::pin(Journal::stopped(self))
    }

    fn resume(&self, lane: Lane) -> Answer<'_, Option<i64>> {
        Box::pin(Journal::resume(self, lane))
    }

    fn dead_letters(
        &self,
        filter: Filter,
        after: DeadId,
        max: usize,
    ) -> Answer<'_, Vec<DeadLetter>> {
        Box::pin(Journal::dead_letters(self, filter, after, max))
    }

    fn discard(&self, letters: Vec<DeadId>) -> Answer<'_, usize> {
        Box::pin(Journal::discard(self, letters))
    }

    fn begin_replay(&self, job: ReplayJob) -> Answer<'_, ReplayJob> {
        Box::pin(Journal::begin_replay(self, job))
    }

    fn replays(&self) -> Answer<'_, Vec<ReplayJob>> {
        Box::pin(Journal::replays(self))
    }

    fn set_replay(&self, id: Text, running: bool) -> Answer<'_, ReplayJob> {
        Box::pin(Journal::set_replay(self, id, running))
    }

    fn replay(
        &self,
        now: i64,
        id: Text,
        max: usize,
    ) -> Answer<'_, (ReplayJob, Vec<(RowId, Lane)>)> {
        Box::pin(Journal::replay(self, now, id, max))
    }
}
