//! The gRPC wire of a subscription: a stream of messages, and calls about leases.

mod answer;
mod stream;

use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use http::header::{AUTHORIZATION, CONTENT_TYPE, TE};
use http::{HeaderName, HeaderValue, Method, Request, Uri, Version};
use percent_encoding::utf8_percent_encode;
use prost::Message as _;

use super::size::{ack_id_bytes, ack_overhead_bytes};
use crate::options::UNRESERVED;
use crate::subscribe::{AckId, SubscriberOptions, Wire};
use crate::token::Token;
use crate::wire::grpc::proto::StreamingPullRequest;
use crate::wire::grpc::write_frame;

pub use answer::{read_answer, read_stream_end};
pub use stream::read_stream_message;

/// Tells Google's front end, which does not read messages, what the call is about.
const REQUEST_PARAMS: HeaderName = HeaderName::from_static("x-goog-request-params");
const TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");

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
        write_field(out, 1, options.subscription_name());
        for id in ids {
            write_field(out, 2, id.as_str());
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
        write_field(out, 1, options.subscription_name());
        if seconds > 0 {
            out.put_u8(3 << 3);
            write_varint(out, seconds.into());
        }
        for id in ids {
            write_field(out, 4, id.as_str());
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

/// A field of text. Its number is below 16.
fn write_field(out: &mut BytesMut, number: u8, text: &str) {
    out.put_u8(number << 3 | 2);
    write_varint(out, text.len() as u64);
    out.put_slice(text.as_bytes());
}

fn write_varint(out: &mut BytesMut, mut value: u64) {
    loop {
        let [low, ..] = value.to_le_bytes();
        value >>= 7;
        if value == 0 {
            return out.put_u8(low);
        }
        out.put_u8(low | 0x80);
    }
}

/// A call of one request and one response, with a deadline that the server knows.
fn unary(
    options: &SubscriberOptions,
    method: &str,
    body: Bytes,
    token: Option<&Token>,
) -> Request<Bytes> {
    let mut request = request(options, method, body, token);
    if let Ok(timeout) = HeaderValue::try_from(timeout(options.timeout())) {
        request.headers_mut().insert(TIMEOUT, timeout);
    }
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
    let mut request = Request::new(body);
    *request.method_mut() = Method::POST;
    *request.version_mut() = Version::HTTP_2;
    // Only an endpoint near the longest URL there can be makes one that is too long, and then
    // there is no server to send it to.
    *request.uri_mut() = Uri::try_from(url).unwrap_or_default();
    let headers = request.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    headers.insert(TE, HeaderValue::from_static("trailers"));
    let subscription = utf8_percent_encode(options.subscription_name(), UNRESERVED);
    if let Ok(params) = HeaderValue::try_from(format!("subscription={subscription}")) {
        headers.insert(REQUEST_PARAMS, params);
    }
    if let Some(token) = token {
        headers.insert(AUTHORIZATION, token.header());
    }
    request
}

/// A `grpc-timeout`: at most eight digits and a unit. Never shorter than `timeout`, but for the
/// ones beyond 11,000 years.
fn timeout(timeout: Duration) -> String {
    const DIGITS_MAX: u128 = 99_999_999;
    let nanos = timeout.as_nanos();
    let units = [
        (1_000_000, 'm'),
        (1_000_000_000, 'S'),
        (60 * 1_000_000_000, 'M'),
        (3_600 * 1_000_000_000, 'H'),
    ];
    let mut counts = units
        .map(|(unit, name)| (nanos.div_ceil(unit), name))
        .into_iter();
    let fits = counts.find(|(count, _)| *count <= DIGITS_MAX);
    let (count, unit) = fits.unwrap_or((DIGITS_MAX, 'H'));
    format!("{count}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_have_at_most_eight_digits_and_are_rounded_up() {
        let of = |seconds, nanos| timeout(Duration::new(seconds, nanos));
        assert_eq!(of(5, 0), "5000m");
        assert_eq!(of(0, 1), "1m");
        assert_eq!(of(0, 1_500_000), "2m");
        assert_eq!(of(99_999, 999_000_000), "99999999m");
        assert_eq!(of(99_999, 999_000_001), "100000S");
        assert_eq!(of(100_000_000, 0), "1666667M");
        assert_eq!(of(6_000_000_000, 0), "1666667H");
        assert_eq!(of(u64::MAX, 0), "99999999H");
    }

    #[test]
    fn varints_are_prosts() {
        for value in [0, 1, 127, 128, 300, 16_383, 16_384, 1 << 32, usize::MAX] {
            let mut out = BytesMut::new();
            write_varint(&mut out, value as u64);
            assert_eq!(prost::decode_length_delimiter(&mut out), Ok(value));
            assert!(out.is_empty());
        }
    }
}
