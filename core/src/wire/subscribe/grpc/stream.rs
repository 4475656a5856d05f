//! The responses of a stream.

use std::collections::BTreeMap;

use bytes::Bytes;
use prost::Message as _;

use super::super::failing::unreadable;
use super::super::received::{Streamed, Unreadable, UnreadableProblem, part};
use super::super::time::from_timestamp;
use crate::failure::MessageId;
use crate::subscribe::{
    AckId, CallFailure, Confirmations, IdFailure, ReceivedMessage, StreamAnswer,
};
use crate::text::Text;
use crate::wire::grpc::proto;

/// What became of an ack id, in the words that calls about leases have for it.
const INVALID: &str = "PERMANENT_FAILURE_INVALID_ACK_ID";
const UNORDERED: &str = "TRANSIENT_FAILURE_UNORDERED_ACK_ID";
const TEMPORARY: &str = "TRANSIENT_FAILURE";

/// Reads one message of a stream. Ids and data are slices of it.
///
/// # Errors
///
/// [`CallFailure`] where it is none: the stream cannot be trusted any more.
pub fn read_stream_message(message: Bytes) -> Result<Streamed, CallFailure> {
    let response = proto::StreamingPullResponse::decode(message)
        .map_err(|_| unreadable("a message that is no StreamingPullResponse".into()))?;
    let (messages, unreadable) = part(response.received_messages.into_iter().map(read_message));
    let properties = response.subscription_properties;
    let answer = StreamAnswer {
        messages,
        exactly_once: properties
            .as_ref()
            .map(|of| of.exactly_once_delivery_enabled),
        ordered: properties.as_ref().map(|of| of.message_ordering_enabled),
        acks: acks(response.acknowledge_confirmation.unwrap_or_default()),
        deadlines: deadlines(
            response
                .modify_ack_deadline_confirmation
                .unwrap_or_default(),
        ),
    };
    Ok(Streamed { answer, unreadable })
}

fn read_message(raw: Bytes) -> Result<ReceivedMessage, Unreadable> {
    let received = proto::ReceivedMessage::decode(raw)
        .map_err(|_| Unreadable::unknown(UnreadableProblem::Malformed))?;
    if received.ack_id.is_empty() {
        return Err(Unreadable::unknown(UnreadableProblem::NoAckId));
    }
    let ack_id = AckId::from_utf8(received.ack_id)
        .ok_or_else(|| Unreadable::unknown(UnreadableProblem::NotUtf8("ack id")))?;
    let leased = |problem| Unreadable::leased(ack_id.clone(), problem);
    let message = proto::PubsubMessage::decode(received.message)
        .map_err(|_| leased(UnreadableProblem::Malformed))?;
    if message.message_id.is_empty() {
        return Err(leased(UnreadableProblem::NoMessageId));
    }
    let message_id = MessageId::from_utf8(message.message_id)
        .ok_or_else(|| leased(UnreadableProblem::NotUtf8("id")))?;
    let not_utf8 = |part| Unreadable {
        message_id: Some(message_id.clone()),
        ..leased(UnreadableProblem::NotUtf8(part))
    };
    // Sorted, so that however many there are, each is put at the end.
    let mut map = BTreeMap::new();
    for attribute in &message.attributes {
        let name = text(&attribute.key).ok_or_else(|| not_utf8("attribute name"))?;
        let value = text(&attribute.value).ok_or_else(|| not_utf8("attribute"))?;
        map.insert(name, value);
    }
    let ordering_key = text(&message.ordering_key).ok_or_else(|| not_utf8("ordering key"))?;
    let mut read = ReceivedMessage::new(ack_id, message_id, message.data);
    read.attributes = map.into_iter().collect();
    read.ordering_key = ordering_key;
    let time = message.publish_time.unwrap_or_default();
    read.publish_time = from_timestamp(time.seconds, time.nanos);
    let attempt = u32::try_from(received.delivery_attempt).ok();
    read.delivery_attempt = attempt.filter(|attempt| *attempt > 0);
    Ok(read)
}

fn text(bytes: &[u8]) -> Option<String> {
    std::str::from_utf8(bytes).ok().map(str::to_owned)
}

fn acks(of: proto::AcknowledgeConfirmation) -> Confirmations {
    let invalid = failed(of.invalid_ack_ids, IdFailure::Permanent, INVALID);
    let unordered = failed(of.unordered_ack_ids, IdFailure::Transient, UNORDERED);
    let temporary = failed(of.temporary_failed_ack_ids, IdFailure::Transient, TEMPORARY);
    Confirmations {
        ok: ids(of.ack_ids).collect(),
        failed: invalid.chain(unordered).chain(temporary).collect(),
    }
}

fn deadlines(of: proto::ModifyAckDeadlineConfirmation) -> Confirmations {
    let invalid = failed(of.invalid_ack_ids, IdFailure::Permanent, INVALID);
    let temporary = failed(of.temporary_failed_ack_ids, IdFailure::Transient, TEMPORARY);
    Confirmations {
        ok: ids(of.ack_ids).collect(),
        failed: invalid.chain(temporary).collect(),
    }
}

/// Those that are not UTF-8 are none of ours.
fn ids(ids: Vec<Bytes>) -> impl Iterator<Item = AckId> {
    ids.into_iter().filter_map(AckId::from_utf8)
}

fn failed(
    of: Vec<Bytes>,
    failure: fn(Text) -> IdFailure,
    word: &str,
) -> impl Iterator<Item = (AckId, IdFailure)> + use<> {
    let failure = failure(Text::new(word));
    ids(of).map(move |id| (id, failure.clone()))
}
