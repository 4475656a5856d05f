//! Rows, and what is asked of a journal about them.

use std::sync::Arc;

use super::dead_letter::Cause;
use crate::claim::ClaimRef;
use crate::envelope::Envelope;
use crate::text::Text;

/// The number of a row in its journal. Later rows have larger ones; none is used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct RowId(pub u64);

/// One queue of rows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lane {
    /// The sink's name.
    pub sink: Text,
    /// The source of its hooks.
    pub source: Text,
    /// The ordering key, where its rows go one at a time and in the order they came. Without one
    /// they go by when they are due.
    pub key: Option<Text>,
}

/// Where a hook is to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// The sink's name.
    pub sink: Text,
    /// The hook's ordering key there, for a sink that keeps order.
    pub key: Option<Text>,
}

/// A hook to keep until it is delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enqueue {
    /// The hook.
    pub envelope: Arc<Envelope>,
    /// Where it is to go: a row for each.
    pub to: Vec<Destination>,
    /// Where its body lies when it is too large to travel.
    pub claim: Option<ClaimRef>,
    /// Whether its body is checked in before a sink is handed it. Says nothing once there is a
    /// [`claim`](Self::claim).
    pub check_in: bool,
    /// A name by which the journal knows the hook again: a second one of that name is not stored.
    /// Remembered for as long as the journal lives. None: every hook is a new one.
    pub once: Option<Text>,
}

/// What became of an [`Enqueue`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Enqueued {
    /// Its rows are kept, in the order of its destinations.
    Stored(Vec<(RowId, Lane)>),
    /// The journal knew it.
    Known(OnceState),
}

/// What is known of a hook that was enqueued under a [name](Enqueue::once).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OnceState {
    /// The hook's id, as it was first enqueued.
    pub hook_id: String,
    /// How many of its rows are still on their way.
    pub pending: u32,
    /// How many were delivered.
    pub delivered: u32,
    /// How many are dead letters. One that is replayed is pending again.
    pub dead: u32,
    /// The message id of the last delivery.
    pub message_id: Option<Text>,
}

/// A row that was claimed: nobody else is given it until it is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Its number.
    pub id: RowId,
    /// Its queue.
    pub lane: Lane,
    /// The hook.
    pub envelope: Arc<Envelope>,
    /// Where the hook's body lies when it is too large to travel.
    pub claim: Option<ClaimRef>,
    /// See [`Enqueue::check_in`].
    pub check_in: bool,
    /// When the hook was accepted, unix milliseconds.
    pub enqueued_at: i64,
    /// When it is due, unix milliseconds.
    pub due: i64,
    /// How many attempts were made.
    pub attempts: u32,
    /// When the first one began, unix milliseconds.
    pub first_attempt_at: Option<i64>,
    /// Whether an attempt may have stored it although it failed.
    pub maybe_stored: bool,
    /// The replay job it belongs to.
    pub replay_id: Option<Text>,
    /// The name its hook was [enqueued](Enqueue::once) under.
    pub once: Option<Text>,
}

impl Row {
    /// What it counts against a window of bytes: see [`Envelope::bytes`].
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.envelope.bytes()
    }
}

/// Asks for rows of a lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The lane. Of one with an ordering key only the first row is given, and only when none of
    /// it is claimed.
    pub lane: Lane,
    /// Rows due by then, unix milliseconds.
    pub due_by: i64,
    /// At most so many.
    pub max_rows: usize,
    /// At most so many [bytes](Row::bytes).
    pub max_bytes: usize,
    /// Whether the first row may pass `max_bytes`: nothing else is held, so it would never fit.
    pub oversize: bool,
}

/// What a [`Claim`] got.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Claimed {
    /// The rows, in the lane's order.
    pub rows: Vec<Row>,
    /// When the next row of the lane is due that is not claimed, unix milliseconds; for a lane
    /// with an ordering key, its first row. None: the lane has no other.
    pub next_due: Option<i64>,
}

/// What became of a claimed row. All records of one call are kept, or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// It was delivered: the row is let go.
    Delivered {
        /// The row.
        row: RowId,
        /// The id the destination gave it.
        message_id: Option<Text>,
        /// See [`Record::claim`].
        claim: Option<ClaimRef>,
    },
    /// It is tried again. It keeps its place in a lane with an ordering key.
    Retry {
        /// The row.
        row: RowId,
        /// When, unix milliseconds.
        due: i64,
        /// How many attempts were made.
        attempts: u32,
        /// When the first one began, unix milliseconds.
        first_attempt_at: i64,
        /// Whether an attempt may have stored it.
        maybe_stored: bool,
        /// See [`Record::claim`].
        claim: Option<ClaimRef>,
    },
    /// It becomes a dead letter, and its row is let go.
    Dead {
        /// The row.
        row: RowId,
        /// Why.
        cause: Cause,
        /// How many attempts were made.
        attempts: u32,
        /// When the first one began, unix milliseconds.
        first_attempt_at: Option<i64>,
        /// When it died, unix milliseconds.
        died_at: i64,
        /// Whether its lane, which has an ordering key, stops with it: none of its rows is given
        /// out until it is resumed.
        stop: bool,
        /// See [`Record::claim`].
        claim: Option<ClaimRef>,
    },
    /// It was not tried: it is due as it was.
    Release {
        /// The row.
        row: RowId,
    },
}

impl Record {
    /// The row it is about.
    #[must_use]
    pub fn row(&self) -> RowId {
        match self {
            Self::Delivered { row, .. }
            | Self::Retry { row, .. }
            | Self::Dead { row, .. }
            | Self::Release { row } => *row,
        }
    }

    /// The ref that the body of its hook was checked in under, where the row did not know it yet.
    /// It is kept for the hook: every row and dead letter of it, and every replay, knows it from
    /// then on. A hook keeps the first one it has.
    #[must_use]
    pub fn claim(&self) -> Option<&ClaimRef> {
        match self {
            Self::Delivered { claim, .. }
            | Self::Retry { claim, .. }
            | Self::Dead { claim, .. } => claim.as_ref(),
            Self::Release { .. } => None,
        }
    }
}
