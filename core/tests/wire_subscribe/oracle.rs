//! The messages of google/pubsub/v1/pubsub.proto as a client of one's own would declare them.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub(crate) struct StreamingPullRequest {
    #[prost(string, tag = "1")]
    pub(crate) subscription: String,
    #[prost(string, repeated, tag = "2")]
    pub(crate) ack_ids: Vec<String>,
    #[prost(int32, repeated, tag = "3")]
    pub(crate) modify_deadline_seconds: Vec<i32>,
    #[prost(string, repeated, tag = "4")]
    pub(crate) modify_deadline_ack_ids: Vec<String>,
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

#[derive(Clone, PartialEq, Message)]
pub(crate) struct AcknowledgeRequest {
    #[prost(string, tag = "1")]
    pub(crate) subscription: String,
    #[prost(string, repeated, tag = "2")]
    pub(crate) ack_ids: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ModifyAckDeadlineRequest {
    #[prost(string, tag = "1")]
    pub(crate) subscription: String,
    #[prost(int32, tag = "3")]
    pub(crate) ack_deadline_seconds: i32,
    #[prost(string, repeated, tag = "4")]
    pub(crate) ack_ids: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct StreamingPullResponse {
    #[prost(message, repeated, tag = "1")]
    pub(crate) received_messages: Vec<ReceivedMessage>,
    #[prost(message, optional, tag = "3")]
    pub(crate) modify_ack_deadline_confirmation: Option<ModifyAckDeadlineConfirmation>,
    #[prost(message, optional, tag = "4")]
    pub(crate) subscription_properties: Option<SubscriptionProperties>,
    #[prost(message, optional, tag = "5")]
    pub(crate) acknowledge_confirmation: Option<AcknowledgeConfirmation>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct AcknowledgeConfirmation {
    #[prost(string, repeated, tag = "1")]
    pub(crate) ack_ids: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    pub(crate) invalid_ack_ids: Vec<String>,
    #[prost(string, repeated, tag = "3")]
    pub(crate) unordered_ack_ids: Vec<String>,
    #[prost(string, repeated, tag = "4")]
    pub(crate) temporary_failed_ack_ids: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ModifyAckDeadlineConfirmation {
    #[prost(string, repeated, tag = "1")]
    pub(crate) ack_ids: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    pub(crate) invalid_ack_ids: Vec<String>,
    #[prost(string, repeated, tag = "3")]
    pub(crate) temporary_failed_ack_ids: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct SubscriptionProperties {
    #[prost(bool, tag = "1")]
    pub(crate) exactly_once_delivery_enabled: bool,
    #[prost(bool, tag = "2")]
    pub(crate) message_ordering_enabled: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ReceivedMessage {
    #[prost(string, tag = "1")]
    pub(crate) ack_id: String,
    #[prost(message, optional, tag = "2")]
    pub(crate) message: Option<PubsubMessage>,
    #[prost(int32, tag = "3")]
    pub(crate) delivery_attempt: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct PubsubMessage {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) data: Vec<u8>,
    #[prost(btree_map = "string, string", tag = "2")]
    pub(crate) attributes: BTreeMap<String, String>,
    #[prost(string, tag = "3")]
    pub(crate) message_id: String,
    #[prost(message, optional, tag = "4")]
    pub(crate) publish_time: Option<Timestamp>,
    #[prost(string, tag = "5")]
    pub(crate) ordering_key: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Timestamp {
    #[prost(int64, tag = "1")]
    pub(crate) seconds: i64,
    #[prost(int32, tag = "2")]
    pub(crate) nanos: i32,
}

/// `google.rpc.Status`.
#[derive(Clone, PartialEq, Message)]
struct Status {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(message, repeated, tag = "3")]
    details: Vec<Any>,
}

#[derive(Clone, PartialEq, Message)]
struct Any {
    #[prost(string, tag = "1")]
    type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ErrorInfo {
    #[prost(string, tag = "1")]
    pub(crate) reason: String,
    #[prost(string, tag = "2")]
    pub(crate) domain: String,
    #[prost(btree_map = "string, string", tag = "3")]
    pub(crate) metadata: BTreeMap<String, String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct RetryInfo {
    #[prost(message, optional, tag = "1")]
    pub(crate) retry_delay: Option<Duration>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Duration {
    #[prost(int64, tag = "1")]
    pub(crate) seconds: i64,
    #[prost(int32, tag = "2")]
    pub(crate) nanos: i32,
}

/// `grpc-status-details-bin` of a failure with one detail, without padding.
pub(crate) fn details(code: u16, name: &str, detail: &impl Message) -> String {
    let status = Status {
        code: code.into(),
        message: "no".to_owned(),
        details: vec![Any {
            type_url: format!("type.googleapis.com/google.rpc.{name}"),
            value: detail.encode_to_vec(),
        }],
    };
    STANDARD_NO_PAD.encode(status.encode_to_vec())
}

/// The message of a body that is one frame.
pub(crate) fn of_frame<M: Message + Default>(frame: &[u8]) -> M {
    let (prefix, message) = frame.split_at(5);
    assert_eq!(prefix[0], 0);
    let len = u32::from_be_bytes(prefix[1..].try_into().unwrap());
    assert_eq!(len as usize, message.len());
    M::decode(message).unwrap()
}
