//! The answer to a pull.

use std::borrow::Cow;
use std::collections::BTreeMap;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::failing::Call;
use super::super::received::{Parted, Pulled, Unreadable, UnreadableProblem};
use super::super::time::parse_rfc3339;
use super::{failure, object, unreadable_success};
use crate::failure::MessageId;
use crate::subscribe::{AckId, CallFailure, ReceivedMessage};
use crate::token::Token;
use crate::wire::base64_text::{decode_into, decoded_len_max};
use crate::wire::error_document::ErrorDocument;
use crate::wire::reply::Reply;

/// Reads the answer to a pull. One that came to nothing in time is one without messages.
///
/// Each message has a buffer of its own, so that none keeps the whole answer in memory.
///
/// # Errors
///
/// [`CallFailure`]; where the reply repeats `token`, as a proxy's error page may, it does not.
pub fn read_pull(reply: &Reply, token: Option<&Token>) -> Result<Pulled, CallFailure> {
    if reply.status == 200 {
        return read_messages(&reply.body).ok_or_else(|| unreadable_success(reply, token));
    }
    if is_timeout(reply) {
        return Ok(Pulled::default());
    }
    let leases = None;
    Err(failure(Call { leases, token }, reply))
}

/// Whether nothing came before somebody's deadline.
fn is_timeout(reply: &Reply) -> bool {
    match ErrorDocument::parse(&reply.body) {
        Some(document) if !document.status.is_empty() => document.status == "DEADLINE_EXCEEDED",
        _ => reply.status == 504,
    }
}

/// An answer. Unknown keys are passed over, everywhere.
#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow, rename = "receivedMessages")]
    received_messages: Option<Vec<&'a RawValue>>,
}

/// One leased message. Its parts are read one by one, so that as much as possible of a bad one
/// is known.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Received<'a> {
    #[serde(borrow)]
    ack_id: Option<JsonText<'a>>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    delivery_attempt: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Message<'a> {
    #[serde(borrow)]
    data: Option<JsonText<'a>>,
    attributes: Option<BTreeMap<String, String>>,
    #[serde(borrow)]
    message_id: Option<JsonText<'a>>,
    #[serde(borrow)]
    publish_time: Option<JsonText<'a>>,
    ordering_key: Option<String>,
}

/// Text, borrowed where it has no escapes.
#[derive(Deserialize)]
struct JsonText<'a>(#[serde(borrow)] Cow<'a, str>);

impl JsonText<'_> {
    fn of<'t>(text: Option<&'t JsonText<'_>>) -> &'t str {
        text.map_or("", |JsonText(text)| text)
    }
}

fn read_messages(body: &[u8]) -> Option<Pulled> {
    let answer: Answer<'_> = object(body)?;
    let received = answer.received_messages.unwrap_or_default();
    let mut parted = Parted::default();
    for raw in received {
        parted.add(read_message(raw));
    }
    let Parted {
        messages,
        unreadable,
    } = parted;
    Some(Pulled {
        messages,
        unreadable,
    })
}

fn read_message(raw: &RawValue) -> Result<ReceivedMessage, Unreadable> {
    let Some(received) = object::<Received<'_>>(raw.get().as_bytes()) else {
        return Err(Unreadable::unknown(UnreadableProblem::Malformed));
    };
    let ack_id = JsonText::of(received.ack_id.as_ref());
    if ack_id.is_empty() {
        return Err(Unreadable::unknown(UnreadableProblem::NoAckId));
    }
    let leased = |problem| Unreadable::leased(AckId::from(ack_id), problem);
    let message = match received.message {
        Some(raw) => object(raw.get().as_bytes()),
        None => Some(Message::default()),
    };
    let Some(message) = message else {
        return Err(leased(UnreadableProblem::Malformed));
    };
    let message_id = JsonText::of(message.message_id.as_ref());
    if message_id.is_empty() {
        return Err(leased(UnreadableProblem::NoMessageId));
    }
    let data = JsonText::of(message.data.as_ref());
    let message_id = MessageId::new(message_id);
    let Some((ack_id, data)) = one_buffer(ack_id, data) else {
        return Err(Unreadable {
            message_id: Some(message_id),
            ..leased(UnreadableProblem::NotBase64)
        });
    };
    let mut read = ReceivedMessage::new(ack_id, message_id, data);
    read.attributes = message.attributes.into_iter().flatten().collect();
    read.ordering_key = message.ordering_key.unwrap_or_default();
    // A message is worth more than its time.
    let time = JsonText::of(message.publish_time.as_ref());
    read.publish_time = parse_rfc3339(time).unwrap_or_default();
    read.delivery_attempt = received.delivery_attempt.and_then(attempt);
    Ok(read)
}

/// The ack id and the data as slices of one buffer. `None` where the data is no base64.
fn one_buffer(ack_id: &str, data: &str) -> Option<(AckId, Bytes)> {
    let mut buffer = Vec::with_capacity(ack_id.len() + decoded_len_max(data.len()));
    buffer.extend_from_slice(ack_id.as_bytes());
    decode_into(data.as_bytes(), &mut buffer)?;
    let mut rest = Bytes::from(buffer);
    let ack_id = AckId::from_utf8(rest.split_to(ack_id.len()))?;
    Some((ack_id, rest))
}

/// A number of deliveries, as a number or as text. 0 is none.
fn attempt(raw: &RawValue) -> Option<u32> {
    let attempt = raw.get().trim_matches('"').parse().ok()?;
    (attempt > 0).then_some(attempt)
}
