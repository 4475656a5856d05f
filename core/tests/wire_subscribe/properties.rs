//! What goes in comes out, whatever it is: against messages declared independently.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use bytes::Bytes;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use prost::Message as _;
use pubsink_core::subscribe::{AckId, Confirmations, IdFailure, ReceivedMessage};
use pubsink_core::wire::subscribe::{grpc, rest};
use serde_json::{Value, json};

use crate::help::{defaults, reply};
use crate::oracle::{self, of_frame};

fn texts() -> impl Strategy<Value = String> {
    prop_oneof!["(?s).{0,20}", "[\\x00-\\x1F\"\\\\/é😀]{0,60}"]
}

fn received() -> impl Strategy<Value = oracle::ReceivedMessage> {
    let ids = ("(?s).{1,40}", "[0-9]{1,20}");
    // The times that a publish time can have.
    let time = (-62_135_596_800..253_402_300_800_i64, 0..1_000_000_000);
    (
        ids,
        vec(any::<u8>(), 0..300),
        btree_map(texts(), texts(), 0..6),
        proptest::option::of(time),
        texts(),
        0..200_i32,
    )
        .prop_map(|(ids, data, attributes, time, ordering_key, attempt)| {
            oracle::ReceivedMessage {
                ack_id: ids.0,
                message: Some(oracle::PubsubMessage {
                    data,
                    attributes,
                    message_id: ids.1,
                    publish_time: time.map(|(seconds, nanos)| oracle::Timestamp { seconds, nanos }),
                    ordering_key,
                }),
                delivery_attempt: attempt,
            }
        })
}

/// Whether `read` is what `sent` says.
fn assert_same(read: &ReceivedMessage, sent: &oracle::ReceivedMessage) {
    let message = sent.message.as_ref().unwrap();
    assert_eq!(read.ack_id.as_str(), sent.ack_id);
    assert_eq!(read.message_id.as_str(), message.message_id);
    assert_eq!(read.data, message.data);
    let attributes: BTreeMap<_, _> = read.attributes.iter().collect();
    let sent_attributes = message.attributes.iter();
    assert_eq!(
        attributes,
        sent_attributes
            .map(|(name, value)| (&**name, &**value))
            .collect()
    );
    assert_eq!(read.ordering_key, message.ordering_key);
    let time = message.publish_time.clone().unwrap_or_default();
    assert_eq!(
        read.publish_time,
        time.seconds * 1_000 + i64::from(time.nanos / 1_000_000)
    );
    let attempt = (sent.delivery_attempt > 0).then_some(sent.delivery_attempt as u32);
    assert_eq!(read.delivery_attempt, attempt);
}

/// A message as REST has it, where empty parts are left out. Its time is left to tests of times.
fn as_json(sent: &oracle::ReceivedMessage, base64: usize) -> Value {
    let message = sent.message.as_ref().unwrap();
    let engines = [&STANDARD, &STANDARD_NO_PAD, &URL_SAFE, &URL_SAFE_NO_PAD];
    let mut inner = json!({ "messageId": message.message_id });
    if !message.data.is_empty() {
        inner["data"] = engines[base64].encode(&message.data).into();
    }
    if !message.attributes.is_empty() {
        inner["attributes"] = json!(message.attributes);
    }
    if !message.ordering_key.is_empty() {
        inner["orderingKey"] = json!(message.ordering_key);
    }
    let mut outer = json!({ "ackId": sent.ack_id, "message": inner });
    if sent.delivery_attempt > 0 {
        outer["deliveryAttempt"] = json!(sent.delivery_attempt);
    }
    outer
}

proptest! {
    #[test]
    fn messages_of_a_stream(sent in vec(received(), 0..8)) {
        let response = oracle::StreamingPullResponse {
            received_messages: sent.clone(),
            ..Default::default()
        };
        let streamed = grpc::read_stream_message(response.encode_to_vec().into()).unwrap();
        prop_assert!(streamed.unreadable.is_empty());
        let read = streamed.answer.messages;
        prop_assert_eq!(read.len(), sent.len());
        for (read, sent) in read.iter().zip(&sent) {
            assert_same(read, sent);
        }
    }

    #[test]
    fn messages_of_a_pull(mut sent in vec(received(), 0..8), base64 in 0..4_usize) {
        for message in &mut sent {
            message.message.as_mut().unwrap().publish_time = None;
        }
        let messages: Vec<_> = sent.iter().map(|message| as_json(message, base64)).collect();
        let body = json!({ "receivedMessages": messages });
        for text in [body.to_string(), serde_json::to_string_pretty(&body).unwrap()] {
            let pulled = rest::read_pull(&reply(200, text), None).unwrap();
            prop_assert!(pulled.unreadable.is_empty());
            prop_assert_eq!(pulled.messages.len(), sent.len());
            for (read, sent) in pulled.messages.iter().zip(&sent) {
                assert_same(read, sent);
            }
        }
    }

    #[test]
    fn confirmations(lists in vec(vec(texts(), 0..4), 7)) {
        let of = |at: usize| lists[at].clone();
        let response = oracle::StreamingPullResponse {
            acknowledge_confirmation: Some(oracle::AcknowledgeConfirmation {
                ack_ids: of(0),
                invalid_ack_ids: of(1),
                unordered_ack_ids: of(2),
                temporary_failed_ack_ids: of(3),
            }),
            modify_ack_deadline_confirmation: Some(oracle::ModifyAckDeadlineConfirmation {
                ack_ids: of(4),
                invalid_ack_ids: of(5),
                temporary_failed_ack_ids: of(6),
            }),
            ..Default::default()
        };
        let read = grpc::read_stream_message(response.encode_to_vec().into()).unwrap().answer;
        let ids = |at: usize| lists[at].iter().map(|id| AckId::from(&**id)).collect::<Vec<_>>();
        let parted = |confirmations: &Confirmations| {
            let failed = confirmations.failed.iter().cloned();
            let (permanent, transient): (Vec<_>, Vec<_>) =
                failed.partition(|(_, why)| matches!(why, IdFailure::Permanent(_)));
            let ids = |of: Vec<(AckId, _)>| of.into_iter().map(|(id, _)| id).collect::<Vec<_>>();
            (confirmations.ok.clone(), ids(permanent), ids(transient))
        };
        prop_assert_eq!(parted(&read.acks), (ids(0), ids(1), [ids(2), ids(3)].concat()));
        prop_assert_eq!(parted(&read.deadlines), (ids(4), ids(5), ids(6)));
    }

    #[test]
    fn ids_of_requests(sent in vec(texts(), 0..20), seconds in any::<u16>()) {
        let ids: Vec<_> = sent.iter().map(|id| AckId::from(&**id)).collect();
        let options = defaults();
        let body = |request: http::Request<Bytes>| request.into_body();
        let acks: oracle::AcknowledgeRequest =
            of_frame(&body(grpc::acknowledge(&options, &ids, None)));
        prop_assert_eq!(acks.subscription, options.subscription_name());
        prop_assert_eq!(&acks.ack_ids, &sent);
        let change: oracle::ModifyAckDeadlineRequest =
            of_frame(&body(grpc::modify_ack_deadline(&options, &ids, seconds, None)));
        prop_assert_eq!(change.subscription, options.subscription_name());
        prop_assert_eq!(&change.ack_ids, &sent);
        prop_assert_eq!(change.ack_deadline_seconds, i32::from(seconds));
        let json = |body: &Bytes| serde_json::from_slice::<Value>(body).unwrap();
        let acks = json(&body(rest::acknowledge(&options, &ids, None)));
        prop_assert_eq!(acks, json!({ "ackIds": &sent }));
        let change = json(&body(rest::modify_ack_deadline(&options, &ids, seconds, None)));
        prop_assert_eq!(change, json!({ "ackIds": &sent, "ackDeadlineSeconds": seconds }));
    }
}
