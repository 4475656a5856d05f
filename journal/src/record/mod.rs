//! What the tables hold, as protobuf.
//!
//! The messages are written by hand and derived, so that no compiler of schemas is needed. A
//! field's number is never given to another one.

mod dead;
mod hook;
mod lane;
mod row;
mod state;

pub(crate) use dead::{DeadRecord, StoppedRecord};
pub(crate) use hook::{EncodedHook, StoredHook, decode_hook};
pub(crate) use lane::{decode_lane, lane_key};
pub(crate) use row::RowRecord;
pub(crate) use state::{OnceRecord, ReplayRecord};

use prost::Message;

use crate::error::Fault;

/// Reads a message; `what` names it where it is damaged.
pub(crate) fn decode<M: Message + Default>(what: &str, bytes: &[u8]) -> Result<M, Fault> {
    M::decode(bytes).map_err(|error| Fault::damaged(format_args!("{what}: {error}")))
}
