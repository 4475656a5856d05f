//! The responses of a stream.

use bytes::Bytes;
use prost::Message as _;

use super::super::failing::unreadable;
use super::super::received::{Parted, Streamed, Unreadable, UnreadableProblem};
use super::super::time::from_timestamp;
use crate::attributes::{Attributes, NotUtf8};
use crate::failure::MessageId;
use crate::subscribe::{
    AckId, CallFailure, Confirmations, IdFailure, ReceivedMessage, StreamAnswer,
};
use crate::text::Text;
use crate::wire::grpc::fields::{Fields, Malformed};
use crate::wire::grpc::proto;

/// What became of an ack id, in the words that calls about leases have for it.
const INVALID: &str = "PERMANENT_FAILURE_INVALID_ACK_ID";
const UNORDERED: &str = "TRANSIENT_FAILURE_UNORDERED_ACK_ID";
const TEMPORARY: &str = "TRANSIENT_FAILURE";

/// A message of more than this is large: keeping it costs more than a copy of its ack id, which has
/// some two hundred bytes.
const LARGE_BYTES: usize = 4 * 1024;

/// Reads one message of a stream. Data and the ack ids of small messages are slices of it.
///
/// # Errors
///
/// [`CallFailure`] where it is none: the stream cannot be trusted any more.
#[allow(clippy::needless_pass_by_value, reason = "its slices keep it")]
pub fn read_stream_message(message: Bytes) -> Result<Streamed, CallFailure> {
    read(&message).ok_or_else(|| unreadable("a message that is no StreamingPullResponse".into()))
}

fn read(response: &Bytes) -> Option<Streamed> {
    let mut fields = Fields::of(response);
    let mut reader = MessageReader::new(response);
    let mut received = Parted::default();
    let mut properties: Option<proto::SubscriptionProperties> = None;
    let mut acks = proto::AcknowledgeConfirmation::default();
    let mut deadlines = proto::ModifyAckDeadlineConfirmation::default();
    while let Some((number, value)) = fields.next().ok()? {
        match number {
            1 => received.add(reader.read(value.bytes().ok()?)),
            3 => deadlines
                .merge(response.slice_ref(value.bytes().ok()?))
                .ok()?,
            4 => {
                let properties = properties.get_or_insert_default();
                properties.merge(value.bytes().ok()?).ok()?;
            }
            5 => acks.merge(response.slice_ref(value.bytes().ok()?)).ok()?,
            _ => {}
        }
    }
    let answer = StreamAnswer {
        messages: received.messages,
        exactly_once: properties
            .as_ref()
            .map(|of| of.exactly_once_delivery_enabled),
        ordered: properties.as_ref().map(|of| of.message_ordering_enabled),
        acks: confirmed_acks(acks),
        deadlines: confirmed_deadlines(deadlines),
    };
    let unreadable = received.unreadable;
    Some(Streamed { answer, unreadable })
}

/// Reads the messages of one response.
struct MessageReader<'a> {
    response: &'a Bytes,
    /// The attributes of the message that is read, as they came.
    attributes: Vec<(&'a [u8], &'a [u8])>,
}

/// What there is of a message, as it came.
#[derive(Default)]
struct Raw<'a> {
    data: &'a [u8],
    id: &'a [u8],
    ordering_key: &'a [u8],
    /// Seconds and nanoseconds.
    time: (i64, i32),
}

impl<'a> MessageReader<'a> {
    fn new(response: &'a Bytes) -> Self {
        let attributes = Vec::new();
        Self {
            response,
            attributes,
        }
    }

    fn read(&mut self, received: &'a [u8]) -> Result<ReceivedMessage, Unreadable> {
        let (ack_id, message, attempt) = envelope(received)
            .map_err(|Malformed| Unreadable::unknown(UnreadableProblem::Malformed))?;
        if ack_id.is_empty() {
            return Err(Unreadable::unknown(UnreadableProblem::NoAckId));
        }
        let ack_id = AckId::from_utf8(self.ack_id(ack_id, message))
            .ok_or_else(|| Unreadable::unknown(UnreadableProblem::NotUtf8("ack id")))?;
        let leased = |problem| Unreadable::leased(ack_id.clone(), problem);
        let raw = self
            .message(message)
            .map_err(|Malformed| leased(UnreadableProblem::Malformed))?;
        if raw.id.is_empty() {
            return Err(leased(UnreadableProblem::NoMessageId));
        }
        let message_id =
            MessageId::from_utf8(raw.id).ok_or_else(|| leased(UnreadableProblem::NotUtf8("id")))?;
        let not_utf8 = |part| Unreadable {
            message_id: Some(message_id.clone()),
            ..leased(UnreadableProblem::NotUtf8(part))
        };
        let attributes = Attributes::read(&self.attributes).map_err(|problem| match problem {
            NotUtf8::Name => not_utf8("attribute name"),
            NotUtf8::Value => not_utf8("attribute"),
        })?;
        let ordering_key =
            std::str::from_utf8(raw.ordering_key).map_err(|_| not_utf8("ordering key"))?;
        let ordering_key = ordering_key.to_owned();
        let mut read = ReceivedMessage::new(ack_id, message_id, self.slice(raw.data));
        read.attributes = attributes;
        read.ordering_key = ordering_key;
        let (seconds, nanos) = raw.time;
        read.publish_time = from_timestamp(seconds, nanos);
        let attempt = u32::try_from(attempt).ok();
        read.delivery_attempt = attempt.filter(|attempt| *attempt > 0);
        Ok(read)
    }

    /// Reads a `PubsubMessage`.
    fn message(&mut self, message: &'a [u8]) -> Result<Raw<'a>, Malformed> {
        self.attributes.clear();
        let mut raw = Raw::default();
        let mut fields = Fields::of(message);
        while let Some((number, value)) = fields.next()? {
            match number {
                1 => raw.data = value.bytes()?,
                2 => self.attributes.push(entry(value.bytes()?)?),
                3 => raw.id = value.bytes()?,
                4 => timestamp(value.bytes()?, &mut raw.time)?,
                5 => raw.ordering_key = value.bytes()?,
                _ => {}
            }
        }
        Ok(raw)
    }

    /// An ack id is kept for longer than its message: until it is told that the message is done. Of a
    /// large message it is copied, so that it does not keep the response for itself.
    fn ack_id(&self, ack_id: &[u8], message: &[u8]) -> Bytes {
        match message.len() > LARGE_BYTES {
            true => Bytes::copy_from_slice(ack_id),
            false => self.slice(ack_id),
        }
    }

    /// What stands in the response, without a copy. What is empty does not keep the response.
    fn slice(&self, bytes: &[u8]) -> Bytes {
        match bytes.is_empty() {
            true => Bytes::new(),
            false => self.response.slice_ref(bytes),
        }
    }
}

/// A `ReceivedMessage`: ack id, message and delivery attempt.
fn envelope(received: &[u8]) -> Result<(&[u8], &[u8], i32), Malformed> {
    let (mut ack_id, mut message, mut attempt) = (&[][..], &[][..], 0);
    let mut fields = Fields::of(received);
    while let Some((number, value)) = fields.next()? {
        match number {
            1 => ack_id = value.bytes()?,
            2 => message = value.bytes()?,
            3 => attempt = value.int32()?,
            _ => {}
        }
    }
    Ok((ack_id, message, attempt))
}

/// An entry of a map of text.
fn entry(entry: &[u8]) -> Result<(&[u8], &[u8]), Malformed> {
    let (mut name, mut text) = (&[][..], &[][..]);
    let mut fields = Fields::of(entry);
    while let Some((number, value)) = fields.next()? {
        match number {
            1 => name = value.bytes()?,
            2 => text = value.bytes()?,
            _ => {}
        }
    }
    Ok((name, text))
}

/// A `google.protobuf.Timestamp`. One that comes in parts is put together.
fn timestamp(bytes: &[u8], (seconds, nanos): &mut (i64, i32)) -> Result<(), Malformed> {
    let mut fields = Fields::of(bytes);
    while let Some((number, value)) = fields.next()? {
        match number {
            1 => *seconds = value.int64()?,
            2 => *nanos = value.int32()?,
            _ => {}
        }
    }
    Ok(())
}

fn confirmed_acks(of: proto::AcknowledgeConfirmation) -> Confirmations {
    let invalid = failed(of.invalid_ack_ids, IdFailure::Permanent, INVALID);
    let unordered = failed(of.unordered_ack_ids, IdFailure::Transient, UNORDERED);
    let temporary = failed(of.temporary_failed_ack_ids, IdFailure::Transient, TEMPORARY);
    Confirmations {
        ok: ids(of.ack_ids).collect(),
        failed: invalid.chain(unordered).chain(temporary).collect(),
    }
}

fn confirmed_deadlines(of: proto::ModifyAckDeadlineConfirmation) -> Confirmations {
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
