//! Any reply to a request has a verdict, the same one each time, and what it keeps is bounded.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use pubsink_core::wire::{Reply, Verdict, read_reply};

use crate::verdict::is_bounded;

/// The statuses that mean something, then any.
const STATUSES: [u16; 16] = [
    200, 400, 401, 403, 404, 408, 409, 413, 429, 499, 500, 502, 503, 504, 204, 302,
];

pub(crate) fn run(data: &[u8]) {
    let [status, expected, header_len, rest @ ..] = data else {
        return;
    };
    let (header, body) = rest.split_at(usize::from(*header_len).min(rest.len()));
    let mut headers = HeaderMap::new();
    if let Ok(value) = HeaderValue::from_bytes(header) {
        headers.insert("retry-after", value);
    }
    let reply = Reply {
        status: STATUSES.get(usize::from(*status)).copied().unwrap_or(599),
        headers,
        body: Bytes::copy_from_slice(body),
        received_at_ms: 784_111_777_000,
    };
    let expected = usize::from(*expected);
    let verdict = read_reply(&reply, expected);
    assert_eq!(verdict, read_reply(&reply, expected));
    if let Verdict::Delivered(ids) = &verdict {
        assert_eq!((reply.status, ids.len()), (200, expected));
    }
    is_bounded(&verdict);
}
