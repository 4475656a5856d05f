//! What goes into a dispatcher machine, and what comes out.

use std::sync::Arc;
use std::time::Instant;

use crate::claim::{ClaimError, ClaimRef};
use crate::delivery::DeliveryContext;
use crate::envelope::Envelope;
use crate::failure::Failure;
use crate::journal::{
    Cause, Claim, Claimed, Destination, Enqueue, Enqueued, JournalError, Lane, OnceState, Record,
    ReplayJob, Row, RowId,
};
use crate::sink::Receipt;
use crate::text::Text;

use super::breaker::BreakerState;

/// A sink, as far as dispatch needs to know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SinkSpec {
    /// Its name, in rows and dead letters: it must stay the same over restarts.
    pub name: Text,
    /// Whether it batches deliveries, so that its attempts are not counted against the
    /// concurrency. Where it keeps order, those with an ordering key are: they go one to a
    /// request.
    pub batched: bool,
    /// Whether the rows of an ordering key go one at a time and in order.
    pub ordered: bool,
    /// The largest body it sends itself: larger ones are checked in first. None: it uses no
    /// claims, or there is no store to check bodies in at.
    pub inline_max_bytes: Option<usize>,
}

/// A hook that came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    /// The hook.
    pub envelope: Arc<Envelope>,
    /// The sinks it is to go to, and its ordering key at those that keep order.
    pub to: Vec<Destination>,
    /// Where its body lies when it is too large to travel. None: where one of its sinks does not
    /// send a body of its size itself, it is checked in.
    pub claim: Option<ClaimRef>,
    /// See [`Enqueue::once`].
    pub once: Option<Text>,
}

/// The number of a call to the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub(super) u64);

/// The number of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttemptId(pub(super) u64);

impl AttemptId {
    /// The number itself.
    #[must_use]
    pub fn number(self) -> u64 {
        self.0
    }
}

/// The number of a check-in: a body on its way to the claim store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CheckInId(pub(super) u64);

impl CheckInId {
    /// The number itself.
    #[must_use]
    pub fn number(self) -> u64 {
        self.0
    }
}

/// Something that happened. `T` is the caller's own mark of a hook, given back when it is kept.
#[derive(Debug)]
#[non_exhaustive]
pub enum DispatchInput<T> {
    /// A hook came in.
    Enqueue {
        /// Comes back in [`DispatchOutput::Accepted`].
        tag: T,
        /// The hook.
        hook: Hook,
    },
    /// What the journal said to a [`DispatchOutput::Store`].
    Stored {
        /// The call.
        call: CallId,
        /// An answer for each hook.
        result: Result<Vec<Enqueued>, JournalError>,
    },
    /// A lane has rows, the first of them due then (unix milliseconds): at the start, or after
    /// something else than this machine added some.
    Due {
        /// The lane.
        lane: Lane,
        /// When.
        due: i64,
    },
    /// What the journal said to a [`DispatchOutput::Claim`].
    Claimed {
        /// The call.
        call: CallId,
        /// The rows.
        result: Result<Claimed, JournalError>,
    },
    /// What the sink said to a [`DispatchOutput::Attempt`].
    Attempted {
        /// The attempt.
        attempt: AttemptId,
        /// What it said.
        outcome: Result<Receipt, Failure>,
    },
    /// What the claim store said to a [`DispatchOutput::CheckIn`].
    CheckedIn {
        /// The check-in.
        check_in: CheckInId,
        /// Whether the body lies there.
        result: Result<(), ClaimError>,
    },
    /// What the journal said to a [`DispatchOutput::Record`].
    Recorded {
        /// The call.
        call: CallId,
        /// Whether they are kept.
        result: Result<(), JournalError>,
    },
    /// A replay job is to go on: it was begun, resumed, or found at the start.
    Replay(ReplayJob),
    /// What the journal said to a [`DispatchOutput::Replay`].
    Replayed {
        /// The call.
        call: CallId,
        /// The job as it is now, and the rows it made.
        result: Result<(ReplayJob, Vec<(RowId, Lane)>), JournalError>,
    },
    /// Begin nothing more. At the deadline what is still attempted is given back to the journal.
    Close {
        /// When to give up. None: every attempt gets its time.
        deadline: Option<Instant>,
    },
}

/// Something to do.
#[derive(Debug)]
#[non_exhaustive]
pub enum DispatchOutput<T> {
    /// Keep these hooks, then answer with [`DispatchInput::Stored`].
    Store {
        /// The call.
        call: CallId,
        /// The hooks.
        hooks: Vec<Enqueue>,
    },
    /// A hook is kept, or is not. Only now may its sender be told.
    Accepted {
        /// The mark it came with.
        tag: T,
        /// What became of it.
        result: Result<Accepted, EnqueueError>,
    },
    /// Ask the journal for rows, then answer with [`DispatchInput::Claimed`].
    Claim {
        /// The call.
        call: CallId,
        /// Which rows.
        claim: Claim,
    },
    /// Deliver this row to its sink, then answer with [`DispatchInput::Attempted`].
    Attempt {
        /// The attempt.
        attempt: AttemptId,
        /// The row. Its lane names the sink.
        row: Arc<Row>,
        /// The context of the delivery. Which headers are forwarded is the sink's setting.
        context: DeliveryContext,
    },
    /// Stop this attempt: it took too long. An answer is not waited for.
    Abort(AttemptId),
    /// Check the body of this row's hook in at the claim store, then answer with
    /// [`DispatchInput::CheckedIn`]. Attempts of its rows wait for that.
    CheckIn {
        /// The check-in.
        check_in: CheckInId,
        /// The ref to check it in under.
        claim: ClaimRef,
        /// The first row that waits for it.
        row: Arc<Row>,
    },
    /// Stop this check-in: it took too long. An answer is not waited for.
    AbortCheckIn(CheckInId),
    /// Keep these, all or none, then answer with [`DispatchInput::Recorded`].
    Record {
        /// The call.
        call: CallId,
        /// What became of rows.
        records: Vec<Record>,
    },
    /// Have the journal send dead letters again, then answer with [`DispatchInput::Replayed`].
    Replay {
        /// The call.
        call: CallId,
        /// The replay job.
        job: Text,
        /// At most so many.
        max: usize,
    },
    /// Something worth telling.
    Event(Event),
}

/// A hook that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Accepted {
    /// It will be delivered, or become a dead letter: one row for each destination.
    Stored(Vec<RowId>),
    /// The journal knew it already.
    Known(OnceState),
}

/// A hook that is not kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EnqueueError {
    /// More hooks come in than the journal can keep.
    #[error("{held} {what} wait for the journal, which is the limit; try again in a moment")]
    Busy {
        /// Hooks or bytes.
        what: &'static str,
        /// How many wait.
        held: usize,
    },
    /// The hook is to go nowhere.
    #[error("the hook names no sink")]
    NoSink,
    /// The hook names a sink that there is not.
    #[error("there is no sink {0:?}")]
    UnknownSink(Text),
    /// The hook names a sink twice.
    #[error("the hook names the sink {0:?} twice")]
    SinkTwice(Text),
    /// The dispatcher is closed.
    #[error("the dispatcher is closed")]
    Closed,
    /// The journal did not keep it.
    #[error("the hook was not kept: {0}")]
    Journal(#[from] JournalError),
}

/// Something worth telling, once it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A row is done with.
    Settled(Settled),
    /// An attempt failed and there will be another.
    Retry {
        /// The row.
        row: Arc<Row>,
        /// Which attempt it was, from 1.
        attempt: u32,
        /// Why it failed.
        failure: Failure,
        /// When the next one is due, unix milliseconds.
        due: i64,
    },
    /// A sink is left alone, probed, or back.
    Breaker {
        /// The sink.
        sink: Text,
        /// Where its breaker stands now.
        state: BreakerState,
    },
    /// The journal failed. It is asked again.
    Journal {
        /// What was asked: `claim`, `record` or `replay`; at the start `lanes` or `replays`.
        what: &'static str,
        /// What it said.
        error: JournalError,
    },
    /// A replay job sends no more: it paused itself, or is done.
    ///
    /// Done means that every one of its messages was sent, not that they arrived: its counts are
    /// those of this moment, and nothing is told once the last one was delivered or died again.
    /// For that ask the journal for its replay jobs (a handle's `replays()`) until this one
    /// [is settled](ReplayJob::is_settled).
    Replay(ReplayJob),
    /// There are rows for a sink that there is not. They are kept and left alone.
    UnknownSink(Text),
}

/// A row that is done with: its hook was delivered, or is a dead letter.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settled {
    /// The row.
    pub row: Arc<Row>,
    /// How many attempts were made.
    pub attempts: u32,
    /// The receipt, or why it was given up.
    pub outcome: Result<Receipt, (Failure, Cause)>,
}

/// Why a dispatcher waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum DispatchWait {
    /// A row is due then.
    Row,
    /// An attempt has until then.
    Attempt,
    /// A check-in has until then.
    CheckIn,
    /// A sink is probed then.
    Probe,
    /// A replay job sends its next messages then.
    Replay,
    /// The journal is asked again then.
    Journal,
    /// Closing gives up then.
    Closing,
    /// Nothing is due; only an input can change that.
    Input,
    /// It is closed, and everything it had claimed is recorded or given back.
    Closed,
}

/// An input that does not fit the machine's state: a bug of the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DispatchMisuse {
    /// The journal was not called under that number, or answered before.
    #[error("call {} waits for no such answer", .0.0)]
    UnknownCall(CallId),
    /// There was no such attempt.
    #[error("attempt {} was never begun", .0.0)]
    UnknownAttempt(AttemptId),
    /// There was no such check-in.
    #[error("check-in {} was never begun", .0.0)]
    UnknownCheckIn(CheckInId),
}

/// What a dispatcher holds at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct DispatchGauges {
    /// Hooks on their way to the journal.
    pub intake: usize,
    /// Rows that are claimed.
    pub rows: usize,
    /// Their bytes.
    pub bytes: usize,
    /// Attempts under way, those that wait for a check-in among them.
    pub attempts: usize,
    /// Check-ins under way, and those that wait for their turn.
    pub check_ins: usize,
    /// Rows whose outcome is not recorded yet.
    pub unrecorded: usize,
    /// Lanes that have rows, claimed or not.
    pub lanes: usize,
    /// Sinks that are left alone.
    pub open_breakers: usize,
}
