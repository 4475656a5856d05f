//! The messages of gRPC calls, by their public field numbers (google/pubsub/v1/pubsub.proto,
//! google/rpc, google/protobuf).
//!
//! Text that stays a slice of what came is `Bytes` here, which is the same on the wire; whether it
//! is UTF-8 is for the reader to check. So is a message inside a list: one that cannot be decoded
//! then spoils no other.

use std::collections::BTreeMap;

use bytes::Bytes;
use prost::Message;

/// The first request of a StreamingPull. Without the fields that settle leases: those go by calls
/// of their own.
#[derive(Clone, PartialEq, Eq, Message)]
pub(in crate::wire) struct StreamingPullRequest {
    #[prost(string, tag = "1")]
    pub(in crate::wire) subscription: String,
    #[prost(int32, tag = "5")]
    pub(in crate::wire) stream_ack_deadline_seconds: i32,
    #[prost(string, tag = "6")]
    pub(in crate::wire) client_id: String,
    #[prost(int64, tag = "7")]
    pub(in crate::wire) max_outstanding_messages: i64,
    #[prost(int64, tag = "8")]
    pub(in crate::wire) max_outstanding_bytes: i64,
    #[prost(int64, tag = "10")]
    pub(in crate::wire) protocol_version: i64,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(in crate::wire) struct StreamingPullResponse {
    /// Each a [`ReceivedMessage`].
    #[prost(bytes = "bytes", repeated, tag = "1")]
    pub(in crate::wire) received_messages: Vec<Bytes>,
    #[prost(message, optional, tag = "3")]
    pub(in crate::wire) modify_ack_deadline_confirmation: Option<ModifyAckDeadlineConfirmation>,
    #[prost(message, optional, tag = "4")]
    pub(in crate::wire) subscription_properties: Option<SubscriptionProperties>,
    #[prost(message, optional, tag = "5")]
    pub(in crate::wire) acknowledge_confirmation: Option<AcknowledgeConfirmation>,
}

/// What became of acks that were sent on the stream.
#[derive(Clone, PartialEq, Eq, Message)]
pub(in crate::wire) struct AcknowledgeConfirmation {
    #[prost(bytes = "bytes", repeated, tag = "1")]
    pub(in crate::wire) ack_ids: Vec<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "2")]
    pub(in crate::wire) invalid_ack_ids: Vec<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "3")]
    pub(in crate::wire) unordered_ack_ids: Vec<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "4")]
    pub(in crate::wire) temporary_failed_ack_ids: Vec<Bytes>,
}

/// What became of deadline changes that were sent on the stream.
#[derive(Clone, PartialEq, Eq, Message)]
pub(in crate::wire) struct ModifyAckDeadlineConfirmation {
    #[prost(bytes = "bytes", repeated, tag = "1")]
    pub(in crate::wire) ack_ids: Vec<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "2")]
    pub(in crate::wire) invalid_ack_ids: Vec<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "3")]
    pub(in crate::wire) temporary_failed_ack_ids: Vec<Bytes>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(in crate::wire) struct SubscriptionProperties {
    #[prost(bool, tag = "1")]
    pub(in crate::wire) exactly_once_delivery_enabled: bool,
    #[prost(bool, tag = "2")]
    pub(in crate::wire) message_ordering_enabled: bool,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(in crate::wire) struct ReceivedMessage {
    #[prost(bytes = "bytes", tag = "1")]
    pub(in crate::wire) ack_id: Bytes,
    /// A [`PubsubMessage`].
    #[prost(bytes = "bytes", tag = "2")]
    pub(in crate::wire) message: Bytes,
    #[prost(int32, tag = "3")]
    pub(in crate::wire) delivery_attempt: i32,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(in crate::wire) struct PubsubMessage {
    #[prost(bytes = "bytes", tag = "1")]
    pub(in crate::wire) data: Bytes,
    #[prost(message, repeated, tag = "2")]
    pub(in crate::wire) attributes: Vec<Attribute>,
    #[prost(bytes = "bytes", tag = "3")]
    pub(in crate::wire) message_id: Bytes,
    #[prost(message, optional, tag = "4")]
    pub(in crate::wire) publish_time: Option<Timestamp>,
    #[prost(bytes = "bytes", tag = "5")]
    pub(in crate::wire) ordering_key: Bytes,
}

/// An entry of a map of text.
#[derive(Clone, PartialEq, Eq, Message)]
pub(in crate::wire) struct Attribute {
    #[prost(bytes = "bytes", tag = "1")]
    pub(in crate::wire) key: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    pub(in crate::wire) value: Bytes,
}

/// `google.protobuf.Timestamp`.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(in crate::wire) struct Timestamp {
    #[prost(int64, tag = "1")]
    pub(in crate::wire) seconds: i64,
    #[prost(int32, tag = "2")]
    pub(in crate::wire) nanos: i32,
}

/// `google.protobuf.Duration`.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(in crate::wire) struct Duration {
    #[prost(int64, tag = "1")]
    pub(in crate::wire) seconds: i64,
    #[prost(int32, tag = "2")]
    pub(in crate::wire) nanos: i32,
}

/// `google.rpc.Status`.
#[derive(Clone, PartialEq, Eq, Message)]
pub(in crate::wire) struct Status {
    #[prost(int32, tag = "1")]
    pub(in crate::wire) code: i32,
    #[prost(bytes = "bytes", tag = "2")]
    pub(in crate::wire) message: Bytes,
    #[prost(message, repeated, tag = "3")]
    pub(in crate::wire) details: Vec<Any>,
}

/// `google.protobuf.Any`.
#[derive(Clone, PartialEq, Eq, Message)]
pub(in crate::wire) struct Any {
    #[prost(bytes = "bytes", tag = "1")]
    pub(in crate::wire) type_url: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    pub(in crate::wire) value: Bytes,
}

/// `google.rpc.ErrorInfo`, without its domain.
#[derive(Clone, PartialEq, Eq, Message)]
pub(in crate::wire) struct ErrorInfo {
    #[prost(string, tag = "1")]
    pub(in crate::wire) reason: String,
    #[prost(btree_map = "string, string", tag = "3")]
    pub(in crate::wire) metadata: BTreeMap<String, String>,
}

/// `google.rpc.RetryInfo`.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(in crate::wire) struct RetryInfo {
    #[prost(message, optional, tag = "1")]
    pub(in crate::wire) retry_delay: Option<Duration>,
}
