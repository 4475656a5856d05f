//! A row.

use prost::Message;
use pubsink_core::journal::{Lane, Row, RowId};

use super::StoredHook;

/// A row as it is stored, beside what its place says: its lane and its number.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct RowRecord {
    /// The number its hook is stored under.
    #[prost(uint64, tag = "1")]
    pub(crate) hook: u64,
    #[prost(int64, tag = "2")]
    pub(crate) due: i64,
    #[prost(int64, tag = "3")]
    pub(crate) enqueued_at: i64,
    #[prost(uint32, tag = "4")]
    pub(crate) attempts: u32,
    #[prost(int64, optional, tag = "5")]
    pub(crate) first_attempt_at: Option<i64>,
    #[prost(bool, tag = "6")]
    pub(crate) maybe_stored: bool,
    #[prost(string, optional, tag = "7")]
    pub(crate) replay_id: Option<String>,
    /// The name by which the journal knows its hook.
    #[prost(string, optional, tag = "8")]
    pub(crate) once: Option<String>,
    /// What it counts against a ceiling of bytes.
    #[prost(uint64, tag = "9")]
    pub(crate) bytes: u64,
    /// Whether its hook has, or had, other rows.
    #[prost(bool, tag = "10")]
    pub(crate) shared: bool,
    /// Whether its lane keeps order.
    #[prost(bool, tag = "11")]
    pub(crate) ordered: bool,
}

impl RowRecord {
    /// By what it stands in its lane. A row that is replayed goes before those that waited behind
    /// it when it died.
    pub(crate) fn order(&self) -> i64 {
        match (self.ordered, &self.replay_id) {
            (true, Some(_)) => -1,
            (true, None) => 0,
            (false, _) => self.due,
        }
    }

    /// The row it is.
    pub(crate) fn row(self, id: u64, lane: Lane, hook: StoredHook) -> Row {
        Row {
            id: RowId(id),
            lane,
            envelope: hook.envelope.into(),
            claim: hook.claim,
            check_in: hook.check_in,
            enqueued_at: self.enqueued_at,
            due: self.due,
            attempts: self.attempts,
            first_attempt_at: self.first_attempt_at,
            maybe_stored: self.maybe_stored,
            replay_id: self.replay_id.map(Into::into),
            once: self.once.map(Into::into),
        }
    }
}
