//! The journal: the rows of what is still to be delivered, and the dead letters.
//!
//! A row is one hook on its way to one sink. A journal keeps it from the moment the hook was
//! accepted until it was delivered or became a dead letter, over any number of restarts. What a
//! journal has to do is written down as [`Table`], which does it in memory; one on disk does the
//! same and is tested against it.
//!
//! A [`Lane`] is one queue of rows: those of one source for one sink, by when they are due; or,
//! for a sink that keeps order, those of one ordering key of it, in the order they came.

mod dead_letter;
mod error;
mod replay;
mod row;
mod table;

pub use dead_letter::{Cause, DeadId, DeadLetter, Filter};
pub use error::JournalError;
pub use replay::{Progress, ReplayJob, ReplayState};
pub use row::{
    Claim, Claimed, Destination, Enqueue, Enqueued, Lane, OnceState, Record, Row, RowId,
};
pub use table::{StoppedLane, Table, TableLimits};
