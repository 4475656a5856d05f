//! The gRPC wire of a subscription: a stream of messages, and calls about leases.

mod answer;
mod stream;

use bytes::{BufMut as _, Bytes, BytesMut};
use http::{Request, Uri};
use prost::Message as _;

use super::size::{ack_id_bytes, ack_overhead_bytes};
use crate::subscribe::{AckId, SubscriberOptions, Wire};
use crate::token::Token;
use crate::wire::grpc::call::{call, set_timeout};
use crate::wire::grpc::proto::StreamingPullRequest;
use crate::wire::grpc::write::{write_field, write_varint};
use crate::wire::grpc::write_frame;

pub use answer::{read_answer, read_stream_end};
pub use stream::read_stream_message;

/// The head of a `StreamingPull`. [`stream_first`] follows at once; the answer's head may come
/// with the first message only.
#[must_use]
pub fn streaming_pull(options: &SubscriberOptions, token: Option<&Token>) -> Request<()> {
    request(options, "StreamingPull", (), token)
}

/// The first frame of a stream: messages are leased for `ack_deadline_seconds`, 10 to 600, and
/// are sent as long as less than
/// [`max_outstanding`](SubscriberOptions::max_outstanding) messages and
/// [`max_outstanding_bytes`](SubscriberOptions::max_outstanding_bytes) are unsettled. Streams of
/// one `client_id` get what was sent on one of them before, where Pub/Sub can.
///
/// It asks for heartbeats: responses without messages.
#[must_use]
pub fn stream_first(
    options: &SubscriberOptions,
    ack_deadline_seconds: u16,
    client_id: &str,
) -> Bytes {
    let limit = |limit: usize| i64::try_from(limit).unwrap_or(i64::MAX);
    let request = StreamingPullRequest {
        subscription: options.subscription_name().to_owned(),
        stream_ack_deadline_seconds: ack_deadline_seconds.into(),
        client_id: client_id.to_owned(),
        max_outstanding_messages: limit(options.max_outstanding()),
        max_outstanding_bytes: limit(options.max_outstanding_bytes()),
        protocol_version: 1,
    };
    frame(request.encoded_len(), |out| request.encode_raw(out))
}

/// The frame that keeps a silent stream alive: an empty request.
#[must_use]
pub fn stream_ping() -> Bytes {
    Bytes::from_static(&[0; 5])
}

/// `Acknowledge`.
#[must_use]
pub fn acknowledge(
    options: &SubscriberOptions,
    ids: &[AckId],
    token: Option<&Token>,
) -> Request<Bytes> {
    let body = frame(ids_len(options, ids), |out| {
        write_field(out, 1, options.subscription_name().as_bytes());
        for id in ids {
            write_field(out, 2, id.as_bytes());
        }
    });
    unary(options, "Acknowledge", body, token)
}

/// `ModifyAckDeadline`: `seconds` from when it arrives, 0 to 600; 0 gives the messages back.
#[must_use]
pub fn modify_ack_deadline(
    options: &SubscriberOptions,
    ids: &[AckId],
    seconds: u16,
    token: Option<&Token>,
) -> Request<Bytes> {
    let body = frame(ids_len(options, ids), |out| {
        write_field(out, 1, options.subscription_name().as_bytes());
        if seconds > 0 {
            out.put_u8(3 << 3);
            write_varint(out, seconds.into());
        }
        for id in ids {
            write_field(out, 4, id.as_bytes());
        }
    });
    unary(options, "ModifyAckDeadline", body, token)
}

fn ids_len(options: &SubscriberOptions, ids: &[AckId]) -> usize {
    let ids = ids.iter().map(|id| ack_id_bytes(Wire::Grpc, id));
    ids.sum::<usize>() + ack_overhead_bytes(Wire::Grpc, options)
}

/// A frame of its own, of about `len` bytes.
fn frame(len: usize, message: impl FnOnce(&mut BytesMut)) -> Bytes {
    let mut out = BytesMut::with_capacity(len + 5);
    // More than 4 GiB of ack ids leave a body without a frame, which every server refuses.
    let _ = write_frame(&mut out, message);
    out.freeze()
}

/// A call of one request and one response, with a deadline that the server knows.
fn unary(
    options: &SubscriberOptions,
    method: &str,
    body: Bytes,
    token: Option<&Token>,
) -> Request<Bytes> {
    let mut request = request(options, method, body, token);
    set_timeout(&mut request, options.timeout());
    request
}

fn request<B>(
    options: &SubscriberOptions,
    method: &str,
    body: B,
    token: Option<&Token>,
) -> Request<B> {
    let url = format!(
        "{}/google.pubsub.v1.Subscriber/{method}",
        options.endpoint()
    );
    // The options leave room for it: there is none that is too long.
    let url = Uri::try_from(url).unwrap_or_default();
    let subject = ("subscription", options.subscription_name());
    call(url, subject, body, token)
}
