//! What a dispatcher does in tasks of their own: calls to the journal, attempts, and check-ins.

use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

use futures_util::future::{AbortHandle, Abortable};
use pubsink_core::claim::{ClaimError, ClaimRef};
use pubsink_core::delivery::DeliveryContext;
use pubsink_core::dispatch::{AttemptId, CallId, CheckInId, DispatchInput, Event};
use pubsink_core::failure::Failure;
use pubsink_core::journal::{Claim, Enqueue, JournalError, Record, Row};
use pubsink_core::sink::Receipt;
use pubsink_core::text::Text;

use super::acceptance::{Done, JournalCall};
use super::check_in::check_in;
use super::journal::AnyJournal;
use super::shared::Shared;
use super::sinks::Sinks;
use super::span;
use super::tell::{Observer, tell};
use crate::claims::AnyClaimStore;
use crate::in_span::in_span;
use crate::place::{Place, spawn};
use crate::promise::promised;
use crate::sink::{broken, deliver_safely};
use crate::slots::SlotId;
use crate::waiter::Waiter;

/// What the user gave, and how it is called: nothing it does goes further than its own call.
pub(super) struct Tasks {
    pub(super) place: Arc<dyn Place>,
    pub(super) shared: Arc<Shared>,
    pub(super) journal: Arc<dyn AnyJournal>,
    pub(super) claims: Option<Arc<dyn AnyClaimStore>>,
    pub(super) sinks: Sinks,
    pub(super) observer: Option<Observer>,
}

type Input = DispatchInput<SlotId>;

/// A task that the driver may stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TaskId {
    Attempt(AttemptId),
    CheckIn(CheckInId),
}

impl Tasks {
    pub(super) fn now(&self) -> Instant {
        self.place.now()
    }

    pub(super) fn tell(&self, event: &Event) {
        tell(self.observer.as_ref(), event);
    }

    pub(super) fn store(&self, call: CallId, now: i64, hooks: Vec<Enqueue>) {
        let journal = Arc::clone(&self.journal);
        let metrics = self.shared.metrics.clone();
        self.call(
            async move { journal.enqueue(now, hooks).await },
            move |result| {
                // The others are told as events.
                if result.is_err() {
                    metrics.journal_failed("enqueue");
                }
                Input::Stored { call, result }
            },
        );
    }

    pub(super) fn claim(&self, call: CallId, claim: Claim) {
        let journal = Arc::clone(&self.journal);
        self.call(async move { journal.claim(claim).await }, move |result| {
            Input::Claimed { call, result }
        });
    }

    pub(super) fn record(&self, call: CallId, records: Vec<Record>) {
        let journal = Arc::clone(&self.journal);
        self.call(
            async move { journal.record(records).await },
            move |result| Input::Recorded { call, result },
        );
    }

    pub(super) fn replay(&self, call: CallId, now: i64, job: Text, max: usize) {
        let journal = Arc::clone(&self.journal);
        self.call(
            async move { journal.replay(now, job, max).await },
            move |result| Input::Replayed { call, result },
        );
    }

    pub(super) fn attempt(
        &self,
        attempt: AttemptId,
        row: Arc<Row>,
        context: DeliveryContext,
    ) -> AbortHandle {
        let sink = self.sinks.get(&row.lane.sink);
        let (metrics, clock) = (self.shared.metrics.clone(), Arc::clone(&self.place));
        let work = async move {
            let Some(sink) = sink else {
                return Err(Failure::transient("there is no sink of that name"));
            };
            let attempting = metrics.attempting(&row.lane.sink, || clock.now());
            let span = span::attempt(&row, &context);
            let delivery = deliver_safely(&*sink, &row.envelope, &context);
            let outcome = in_span(&span, delivery).await;
            span::mark(&span, &outcome);
            attempting.ended(|| clock.now(), &outcome);
            outcome
        };
        self.task(
            TaskId::Attempt(attempt),
            work,
            lost_attempt,
            move |outcome| Input::Attempted { attempt, outcome },
        )
    }

    pub(super) fn check_in(&self, id: CheckInId, claim: ClaimRef, row: Arc<Row>) -> AbortHandle {
        let (store, metrics) = (self.claims.clone(), self.shared.metrics.clone());
        let work = async move {
            match store {
                Some(store) => check_in(&*store, &claim, &row.envelope, &metrics).await,
                None => Err(ClaimError::unavailable("there is none")),
            }
        };
        let answer = move |result| Input::CheckedIn {
            check_in: id,
            result,
        };
        self.task(TaskId::CheckIn(id), work, lost_check_in, answer)
    }

    /// A call that somebody waits for. It is made whether he does or not, and the machine is told
    /// what follows.
    pub(super) fn ask<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, JournalError>> + Send + 'static,
        follows: impl FnOnce(&T) -> Option<Input> + Send + 'static,
        done: fn(Result<T, JournalError>) -> Done,
        read: fn(Done) -> Result<T, JournalError>,
    ) -> JournalCall<T> {
        let Some(slot) = self.shared.open() else {
            return JournalCall::new(None, read);
        };
        let waiter = Waiter::new(&self.shared, slot);
        let (place, shared) = (Arc::clone(&self.place), Arc::clone(&self.shared));
        let give = move |result: Result<T, JournalError>| {
            let input = result.as_ref().ok().and_then(follows);
            shared.answer(place.now(), slot, done(result), input);
        };
        self.spawn(promised(work, lost_call, give));
        JournalCall::new(Some(waiter), read)
    }

    /// A call of the machine.
    fn call<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, JournalError>> + Send + 'static,
        answer: impl FnOnce(Result<T, JournalError>) -> Input + Send + 'static,
    ) {
        let (place, shared) = (Arc::clone(&self.place), Arc::clone(&self.shared));
        let give = move |result| shared.input(place.now(), answer(result));
        self.spawn(promised(work, lost_call, give));
    }

    /// A task of the machine that it may stop.
    fn task<T: Send + 'static>(
        &self,
        id: TaskId,
        work: impl Future<Output = T> + Send + 'static,
        lost: fn() -> T,
        answer: impl FnOnce(T) -> Input + Send + 'static,
    ) -> AbortHandle {
        let (place, shared) = (Arc::clone(&self.place), Arc::clone(&self.shared));
        let give = move |done| shared.task_ended(place.now(), id, answer(done));
        let (abort, registration) = AbortHandle::new_pair();
        let work = promised(work, lost, give);
        self.spawn(async move {
            // What is aborted is dropped here, where it may panic.
            let _ = Abortable::new(work, registration).await;
        });
        abort
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        spawn(&*self.place, task);
    }
}

const LOST: &str = "its task panicked or was dropped";

fn lost_call<T>() -> Result<T, JournalError> {
    Err(JournalError::Storage(LOST.into()))
}

fn lost_check_in() -> Result<(), ClaimError> {
    Err(ClaimError::unavailable(LOST))
}

fn lost_attempt() -> Result<Receipt, Failure> {
    Err(broken(LOST))
}
