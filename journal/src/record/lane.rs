//! A lane, as a key.

use prost::Message;
use pubsink_core::journal::Lane;

use super::decode;
use crate::error::Fault;

#[derive(Clone, PartialEq, Message)]
struct LaneRecord {
    #[prost(string, tag = "1")]
    sink: String,
    #[prost(string, tag = "2")]
    source: String,
    #[prost(string, optional, tag = "3")]
    key: Option<String>,
}

/// The bytes that stand for a lane. Equal lanes have equal ones.
pub(crate) fn lane_key(lane: &Lane) -> Vec<u8> {
    let record = LaneRecord {
        sink: lane.sink.to_string(),
        source: lane.source.to_string(),
        key: lane.key.as_ref().map(ToString::to_string),
    };
    record.encode_to_vec()
}

/// The lane those bytes stand for.
pub(crate) fn decode_lane(bytes: &[u8]) -> Result<Lane, Fault> {
    let record: LaneRecord = decode("a lane", bytes)?;
    Ok(Lane {
        sink: record.sink.into(),
        source: record.source.into(),
        key: record.key.map(Into::into),
    })
}
