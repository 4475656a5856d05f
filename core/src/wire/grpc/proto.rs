//! The messages of gRPC calls, by their public field numbers (google/pubsub/v1/pubsub.proto,
//! google/rpc, google/protobuf).
//!
//! Text that stays a slice of what came is `Bytes` here, which is the same on the wire; whether it
//! is UTF-8 is for the reader to check. The messages of a stream come often, and are read
//! [by hand](super::fields).

use std::collections::BTreeMap;

use bytes::Bytes;
use prost::Message;

/// As a server writes it. The publisher reads it [by hand](super::fields).
#[cfg(feature = "test-util")]
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct PublishResponse {
    #[prost(bytes = "bytes", repeated, tag = "1")]
    pub(crate) message_ids: Vec<Bytes>,
}

/// The first request of a StreamingPull. Without the fields that settle leases: those go by calls
/// of their own.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct StreamingPullRequest {
    #[prost(string, tag = "1")]
    pub(crate) subscription: String,
    #[prost(int32, tag = "5")]
    pub(crate) stream_ack_deadline_seconds: i32,
    #[prost(string, tag = "6")]
    pub(crate) client_id: String,
    #[prost(int64, tag = "7")]
    pub(crate) max_outstanding_messages: i64,
    #[prost(int64, tag = "8")]
    pub(crate) max_outstanding_bytes: i64,
    #[prost(int64, tag = "10")]
    pub(crate) protocol_version: i64,
}

/// What became of acks that were sent on the stream.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct AcknowledgeConfirmation {
    #[prost(bytes = "bytes", repeated, tag = "1")]
    pub(crate) ack_ids: Vec<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "2")]
    pub(crate) invalid_ack_ids: Vec<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "3")]
    pub(crate) unordered_ack_ids: Vec<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "4")]
    pub(crate) temporary_failed_ack_ids: Vec<Bytes>,
}

/// What became of deadline changes that were sent on the stream.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct ModifyAckDeadlineConfirmation {
    #[prost(bytes = "bytes", repeated, tag = "1")]
    pub(crate) ack_ids: Vec<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "2")]
    pub(crate) invalid_ack_ids: Vec<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "3")]
    pub(crate) temporary_failed_ack_ids: Vec<Bytes>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct SubscriptionProperties {
    #[prost(bool, tag = "1")]
    pub(crate) exactly_once_delivery_enabled: bool,
    #[prost(bool, tag = "2")]
    pub(crate) message_ordering_enabled: bool,
}

/// `google.protobuf.Duration`.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(crate) struct Duration {
    #[prost(int64, tag = "1")]
    pub(crate) seconds: i64,
    #[prost(int32, tag = "2")]
    pub(crate) nanos: i32,
}

/// `google.rpc.Status`.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct Status {
    #[prost(int32, tag = "1")]
    pub(crate) code: i32,
    #[prost(bytes = "bytes", tag = "2")]
    pub(crate) message: Bytes,
    #[prost(message, repeated, tag = "3")]
    pub(crate) details: Vec<Any>,
}

/// `google.protobuf.Any`.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct Any {
    #[prost(bytes = "bytes", tag = "1")]
    pub(crate) type_url: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    pub(crate) value: Bytes,
}

/// `google.rpc.ErrorInfo`, without its domain.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct ErrorInfo {
    #[prost(string, tag = "1")]
    pub(crate) reason: String,
    #[prost(btree_map = "string, string", tag = "3")]
    pub(crate) metadata: BTreeMap<String, String>,
}

/// `google.rpc.RetryInfo`.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(crate) struct RetryInfo {
    #[prost(message, optional, tag = "1")]
    pub(crate) retry_delay: Option<Duration>,
}
