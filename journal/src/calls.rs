//! What is asked of the journal's threads, and what they answer.

use futures_channel::oneshot;
use pubsink_core::journal::{
    Claim, Claimed, DeadId, DeadLetter, Enqueue, Enqueued, Filter, JournalError, Lane, Record,
    ReplayJob, RowId, StoppedLane,
};
use pubsink_core::text::Text;

use crate::record::EncodedHook;

/// A call to a thread: what is asked, and who waits for the answer.
#[derive(Debug)]
pub(crate) struct Call<Ask, Answer> {
    pub(crate) ask: Ask,
    pub(crate) reply: oneshot::Sender<Result<Answer, JournalError>>,
}

/// What changes the file, and is answered when it is synced.
#[derive(Debug)]
pub(crate) enum Change {
    Enqueue {
        now: i64,
        hooks: Vec<NewHook>,
    },
    Record(Vec<Record>),
    Resume(Lane),
    Discard(Vec<DeadId>),
    BeginReplay(ReplayJob),
    SetReplay {
        id: Text,
        running: bool,
    },
    Replay {
        now: i64,
        id: Text,
        max: usize,
    },
    /// Opens the file again, if it is broken.
    Mend,
}

#[derive(Debug)]
pub(crate) enum Changed {
    Enqueued(Vec<Enqueued>),
    Done,
    Due(Option<i64>),
    Discarded(usize),
    Job(ReplayJob),
    Replayed(ReplayJob, Vec<(RowId, Lane)>),
}

/// What changes nothing in the file, and never waits for a sync.
#[derive(Debug)]
pub(crate) enum Look {
    Claim(Claim),
    Release(Vec<RowId>),
    Lanes,
    Stopped,
    Replays,
    Totals,
    Counts,
    /// Whether a row has a body of more bytes than this, and no claim.
    Unclaimed(usize),
    /// The dead letters among the next ones behind a number.
    Letters {
        filter: Filter,
        after: DeadId,
        max: usize,
    },
}

#[derive(Debug)]
pub(crate) enum Looked {
    Claimed(Claimed),
    Released,
    Lanes(Vec<(Lane, i64)>),
    Stopped(Vec<StoppedLane>),
    Replays(Vec<ReplayJob>),
    Totals(Totals),
    Counts(Vec<(Lane, u64)>),
    Unclaimed(bool),
    Letters(Letters),
}

/// How much a journal holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Totals {
    /// Rows.
    pub rows: u64,
    /// Dead letters.
    pub dead_letters: u64,
    /// Bytes of the hooks of both, as [`Row::bytes`](pubsink_core::journal::Row::bytes) counts
    /// them.
    pub bytes: u64,
}

/// The dead letters that were found in one look.
#[derive(Debug)]
pub(crate) struct Letters {
    pub(crate) found: Vec<DeadLetter>,
    /// Behind which to look next. None: that was all.
    pub(crate) next: Option<DeadId>,
}

/// A hook to keep, written down by its caller so that the one writer need not.
#[derive(Debug)]
pub(crate) struct NewHook {
    pub(crate) id: String,
    pub(crate) encoded: EncodedHook,
    pub(crate) lanes: Vec<Lane>,
    pub(crate) once: Option<Text>,
    /// What each of its rows counts against a ceiling of bytes.
    pub(crate) bytes: u64,
}

impl NewHook {
    pub(crate) fn new(hook: &Enqueue) -> Self {
        let envelope = &*hook.envelope;
        let source = Text::new(&envelope.source_id);
        let lanes = hook.to.iter().map(|to| Lane {
            sink: to.sink.clone(),
            source: source.clone(),
            key: to.key.clone(),
        });
        Self {
            id: envelope.id.clone(),
            encoded: EncodedHook::new(envelope, hook.claim.as_ref(), hook.check_in),
            lanes: lanes.collect(),
            once: hook.once.clone(),
            bytes: envelope.bytes() as u64,
        }
    }
}

impl Change {
    /// How many rows it touches and how many bytes it brings, for the size of a group.
    pub(crate) fn weight(&self) -> (usize, usize) {
        match self {
            Self::Enqueue { hooks, .. } => {
                let rows = hooks.iter().map(|hook| hook.lanes.len()).sum();
                (rows, hooks.iter().map(|hook| hook.encoded.len()).sum())
            }
            Self::Record(records) => (records.len(), 0),
            Self::Discard(letters) => (letters.len(), 0),
            Self::Replay { max, .. } => (*max, 0),
            Self::Resume(_) | Self::BeginReplay(_) | Self::SetReplay { .. } | Self::Mend => (1, 0),
        }
    }
}
