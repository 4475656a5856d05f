//! What can go wrong with a journal.

use super::row::RowId;
use crate::text::Text;

/// Why a journal did not do what it was asked. Nothing of the call was done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// It holds as much as it may.
    #[error("the journal is full: it holds {held} of {max} {what}; deliver or remove some first")]
    Full {
        /// What there is too much of.
        what: &'static str,
        /// How much it holds.
        held: u64,
        /// How much it may.
        max: u64,
    },
    /// The row is not claimed: it was recorded before, or never given out.
    #[error("row {} is not claimed", .0.0)]
    NotClaimed(RowId),
    /// There is no replay job of that id.
    #[error("there is no replay {0:?}")]
    UnknownReplay(Text),
    /// There is a replay job of that id already.
    #[error("there is a replay {0:?} already; resume it, or choose another id")]
    ReplayExists(Text),
    /// The disk, or what is on it, failed.
    #[error("{0}")]
    Storage(Text),
    /// The journal was closed.
    #[error("the journal is closed")]
    Closed,
}
