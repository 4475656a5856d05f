//! The handle.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use pubsink_core::dispatch::{BreakerState, DispatchGauges, DispatchInput, Hook};
use pubsink_core::journal::{
    DeadId, DeadLetter, Filter, JournalError, Lane, ReplayJob, StoppedLane,
};
use pubsink_core::sink::{Description, Subject};
use pubsink_core::text::Text;

use super::acceptance::{Acceptance, Done, JournalCall, Shutdown};
use super::incoming::Incoming;
use super::tasks::Tasks;
use crate::waiter::Waiter;

/// Delivers hooks to sinks. Clones share everything; dropping the last one closes it in the
/// background: what was handed over is kept, attempts under way get their time, and the rest
/// waits in the journal for the next time.
///
/// A sink or an observer that holds a handle keeps it from closing by itself: it has to be
/// [shut down](Self::shutdown).
#[derive(Clone)]
pub struct Dispatch(Arc<Handle>);

struct Handle(Arc<Tasks>);

impl Dispatch {
    pub(super) fn new(tasks: Arc<Tasks>) -> Self {
        Self(Arc::new(Handle(tasks)))
    }

    /// Delivers a hook, to every sink unless it [says otherwise](Incoming::to).
    ///
    /// It is on its way when this returns, and the future tells when it is kept: only then may its
    /// sender be told that it was received. Past a ceiling it is refused at once.
    pub fn enqueue(&self, hook: impl Into<Incoming>) -> Acceptance {
        let Incoming {
            envelope,
            to,
            claim,
            once,
        } = hook.into();
        let tasks = self.tasks();
        // Asks the sinks, so before the lock is taken.
        let to = tasks.sinks.destinations(to, &envelope);
        let hook = Hook {
            // Ours is dropped last, after the lock: a body may be foreign memory.
            envelope: Arc::clone(&envelope),
            to,
            claim,
            once,
        };
        match tasks.shared.enqueue(tasks.now(), hook) {
            Ok(slot) => Acceptance::waiting(&tasks.shared, slot),
            Err(error) => Acceptance::refused(error),
        }
    }

    /// Delivers a hook to the sinks of these names. See [`enqueue`](Self::enqueue).
    pub fn enqueue_to<N: AsRef<str>>(
        &self,
        hook: impl Into<Incoming>,
        sinks: impl IntoIterator<Item = N>,
    ) -> Acceptance {
        self.enqueue(hook.into().to(sinks))
    }

    /// Delivers a hook unless one came before under the same name. See [`enqueue`](Self::enqueue)
    /// and [`Incoming::once`].
    pub fn enqueue_once(&self, name: impl Into<Text>, hook: impl Into<Incoming>) -> Acceptance {
        self.enqueue(hook.into().once(name))
    }

    /// The dead letters that `filter` means and that come after `after`, by number and at most
    /// `max`: the first page is after [`DeadId::default()`], the next one after the last of it.
    pub fn dead_letters(
        &self,
        filter: Filter,
        after: DeadId,
        max: usize,
    ) -> JournalCall<Vec<DeadLetter>> {
        let journal = Arc::clone(&self.tasks().journal);
        let letters = async move { journal.dead_letters(filter, after, max).await };
        self.tasks().ask(
            letters,
            |_| None,
            Done::DeadLetters,
            |done| match done {
                Done::DeadLetters(result) => result,
                _ => Err(JournalError::Closed),
            },
        )
    }

    /// Removes dead letters for good. Tells how many there were.
    pub fn discard(&self, letters: impl IntoIterator<Item = DeadId>) -> JournalCall<usize> {
        let journal = Arc::clone(&self.tasks().journal);
        let letters: Vec<_> = letters.into_iter().collect();
        let discard = async move { journal.discard(letters).await };
        self.tasks().ask(
            discard,
            |_| None,
            Done::Discarded,
            |done| match done {
                Done::Discarded(result) => result,
                _ => Err(JournalError::Closed),
            },
        )
    }

    /// Begins to send dead letters again: those there are now and that the job means.
    pub fn begin_replay(&self, job: ReplayJob) -> JournalCall<ReplayJob> {
        let journal = Arc::clone(&self.tasks().journal);
        let begin = async move { journal.begin_replay(job).await };
        self.replay(begin)
    }

    /// Pauses a replay job, or lets it go on.
    pub fn set_replay(&self, id: impl Into<Text>, running: bool) -> JournalCall<ReplayJob> {
        let (journal, id) = (Arc::clone(&self.tasks().journal), id.into());
        let set = async move { journal.set_replay(id, running).await };
        self.replay(set)
    }

    /// Every replay job, by id: where it stands, and what became of its messages so far.
    pub fn replays(&self) -> JournalCall<Vec<ReplayJob>> {
        let journal = Arc::clone(&self.tasks().journal);
        let replays = async move { journal.replays().await };
        self.tasks().ask(
            replays,
            |_| None,
            Done::Replays,
            |done| match done {
                Done::Replays(result) => result,
                _ => Err(JournalError::Closed),
            },
        )
    }

    /// The queues that stopped when one of their messages died.
    pub fn stopped(&self) -> JournalCall<Vec<StoppedLane>> {
        let journal = Arc::clone(&self.tasks().journal);
        let stopped = async move { journal.stopped().await };
        self.tasks().ask(
            stopped,
            |_| None,
            Done::Stopped,
            |done| match done {
                Done::Stopped(result) => result,
                _ => Err(JournalError::Closed),
            },
        )
    }

    /// Lets a stopped queue go on. Tells when its first row is due, unix milliseconds; none, where
    /// it has none or was not stopped.
    pub fn resume(&self, lane: Lane) -> JournalCall<Option<i64>> {
        let journal = Arc::clone(&self.tasks().journal);
        let asked = lane.clone();
        let resume = async move { journal.resume(asked).await };
        let follows = |due: &Option<i64>| Some(DispatchInput::Due { lane, due: (*due)? });
        self.tasks()
            .ask(resume, follows, Done::Resumed, |done| match done {
                Done::Resumed(result) => result,
                _ => Err(JournalError::Closed),
            })
    }

    /// Takes nothing more and begins nothing more, and resolves once what is under way is recorded:
    /// after `limit` it is given up, and due again the next time.
    pub fn shutdown(&self, limit: Duration) -> Shutdown {
        let tasks = self.tasks();
        let now = tasks.now();
        let slot = tasks.shared.open();
        let waiter = slot.map(|slot| Waiter::new(&tasks.shared, slot));
        let deadline = now.checked_add(limit);
        tasks.shared.input(now, DispatchInput::Close { deadline });
        Shutdown::new(waiter)
    }

    /// What it holds.
    #[must_use]
    pub fn gauges(&self) -> DispatchGauges {
        self.tasks().shared.gauges().0
    }

    /// Where each sink's breaker stands.
    #[must_use]
    pub fn breakers(&self) -> Vec<(Text, BreakerState)> {
        self.tasks().shared.breakers()
    }

    /// Whether its driver runs. When it does not, every hook is refused.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.tasks().shared.gauges().1
    }

    /// The largest body that every sink sends itself. One that is larger is checked in at the
    /// [claim store](super::DispatchBuilder::claims); without a store it should come with its
    /// [claim](Incoming::claim), or the sink that needs one gives the hook up.
    #[must_use]
    pub fn inline_max_bytes(&self) -> Option<usize> {
        self.tasks().sinks.inline_max_bytes()
    }

    /// Where the sinks send the hooks of `subject`, by name, for those that say.
    #[must_use]
    pub fn describe(&self, subject: &Subject) -> Vec<(Text, Description)> {
        self.tasks().sinks.describe(subject)
    }

    fn replay(
        &self,
        work: impl Future<Output = Result<ReplayJob, JournalError>> + Send + 'static,
    ) -> JournalCall<ReplayJob> {
        let follows = |job: &ReplayJob| Some(DispatchInput::Replay(job.clone()));
        self.tasks()
            .ask(work, follows, Done::Replay, |done| match done {
                Done::Replay(result) => result,
                _ => Err(JournalError::Closed),
            })
    }

    fn tasks(&self) -> &Tasks {
        &self.0.0
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let close = DispatchInput::Close { deadline: None };
        self.0.shared.input(self.0.now(), close);
    }
}

impl fmt::Debug for Dispatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dispatch")
            .field("gauges", &self.gauges())
            .field("breakers", &self.breakers())
            .finish_non_exhaustive()
    }
}
