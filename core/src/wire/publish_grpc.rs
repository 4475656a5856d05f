//! A publish request over gRPC: its protobuf, and the reply to it.

use bytes::{BufMut as _, Bytes};
use http::{HeaderMap, Request};

use super::grpc::call::{call, set_timeout};
use super::grpc::fields::Fields;
use super::grpc::frame::{PREFIX_BYTES, prefix};
use super::grpc::status::{GrpcStatus, read_status};
use super::grpc::write::{write_field, write_head};
use super::grpc::{FrameReader, MESSAGE_MAX_BYTES};
use super::publish_request::{EncodedPublish, Written};
use super::reply::{Reply, Verdict, read_document, read_reply_hiding, unexpected};
use super::retry_hint::parse_retry_after;
use super::size::{content_len, field, protobuf_len};
use super::with_room;
use crate::failure::MessageId;
use crate::json::append;
use crate::options::{PublisherOptions, Wire};
use crate::publish::{Body, Content};
use crate::token::Token;

/// Encodes the messages of a batch straight into one frame of exactly the right size: a
/// `PublishRequest` of the topic's name and the messages.
pub(super) fn encode<'a>(
    topic_name: &str,
    messages: impl ExactSizeIterator<Item = &'a Body> + Clone,
    buffer: Vec<u8>,
) -> EncodedPublish {
    let sizes = messages.clone().map(|message| message.sizes().protobuf);
    let len = protobuf_len(topic_name, sizes.sum());
    let mut out = with_room(buffer, PREFIX_BYTES + len);
    let mut starts = Vec::with_capacity(messages.len() + 1);
    let mut before = Written::default();
    out.put_slice(&prefix(len));
    write_field(&mut out, 1, topic_name.as_bytes());
    for message in messages {
        starts.push(out.len());
        write_message(&mut out, &mut before, message);
    }
    starts.push(out.len());
    debug_assert_eq!(out.len(), PREFIX_BYTES + len, "the size was counted wrong");
    EncodedPublish::new(Wire::Grpc, out, starts)
}

/// The frame of some messages of another one; `head` is what stands before that one's first.
pub(super) fn part(head: &[u8], messages: &[u8]) -> Bytes {
    let topic = &head[PREFIX_BYTES..];
    let prefix = prefix(topic.len() + messages.len());
    Bytes::from([&prefix, topic, messages].concat())
}

/// The call that carries `body`.
pub(super) fn http_request(
    options: &PublisherOptions,
    body: Bytes,
    token: Option<&Token>,
) -> Request<Bytes> {
    let subject = ("topic", options.topic_name());
    let mut request = call(options.publish_url().clone(), subject, body, token);
    set_timeout(&mut request, options.timeout());
    request
}

/// Reads the answer to a request of `expected` messages over gRPC. The trailers are empty where
/// none came.
///
/// The class is decided as over REST ([`read_reply`](super::read_reply)), by the name of the code
/// that the call ended with and the HTTP status it stands for: `INVALID_ARGUMENT` and 400,
/// `UNAVAILABLE` and 503, and so on. What answers without a `grpc-status` is no gRPC server: a
/// status other than 200 is read like a reply over REST, a 200 is unexpected.
#[must_use]
pub fn read_grpc_reply(reply: &Reply, trailers: &HeaderMap, expected: usize) -> Verdict {
    read_grpc_reply_hiding(reply, trailers, expected, None)
}

/// The same; where the answer repeats `token` no reason does.
pub(crate) fn read_grpc_reply_hiding(
    reply: &Reply,
    trailers: &HeaderMap,
    expected: usize,
    token: Option<&Token>,
) -> Verdict {
    match read_status(&reply.headers, trailers) {
        Some(GrpcStatus::Failed { http, document }) => {
            let pause = |fields| parse_retry_after(fields, reply.received_at_ms);
            let at_least = pause(&reply.headers).max(pause(trailers));
            read_document(http, &document, at_least, token)
        }
        _ if reply.status != 200 => read_reply_hiding(reply, expected, token),
        Some(GrpcStatus::Ok) => match read_ids(&reply.body, expected) {
            Some(ids) => Verdict::Delivered(ids),
            None => unexpected(reply, token),
        },
        None => unexpected(reply, token),
    }
}

/// The ids of a body that is one frame, of a message with exactly as many.
fn read_ids(body: &Bytes, expected: usize) -> Option<Vec<MessageId>> {
    let mut reader = FrameReader::new(MESSAGE_MAX_BYTES);
    let mut rest = body.clone();
    let message = reader.next_message(&mut rest).ok()??;
    if !rest.is_empty() {
        return None;
    }
    // A reply that lies about itself is not worth more than its bytes: an id takes two.
    let mut ids = Vec::with_capacity(expected.min(message.len() / 2));
    let mut fields = Fields::of(&message);
    while let Some((number, value)) = fields.next().ok()? {
        if number == 1 {
            ids.push(MessageId::from_utf8(value.bytes().ok()?)?);
        }
    }
    (ids.len() == expected).then_some(ids)
}

fn write_message<'a>(out: &mut Vec<u8>, before: &mut Written<'a>, message: &'a Body) {
    let sizes = message.sizes();
    write_head(out, 2, content_len(sizes.protobuf));
    if sizes.data > 0 {
        write_head(out, 1, sizes.data);
        match message.content() {
            Content::Plain(data) => out.put_slice(data),
            Content::Hook(hook) => hook.encode_into(out),
        }
    }
    before.write(out, message.attributes(), |out| {
        for (name, value) in message.attributes().iter() {
            write_head(out, 2, field(name.len()) + field(value.len()));
            for (number, text) in [(1, name), (2, value)] {
                write_head(out, number, text.len());
                append(out, text.as_bytes());
            }
        }
    });
    if !message.ordering_key().is_empty() {
        write_field(out, 5, message.ordering_key().as_bytes());
    }
}
