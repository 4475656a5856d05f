//! Any reply to a request has a verdict, the same one each time, and what it keeps is bounded.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use pubsink_core::reason::Reason;
use pubsink_core::text::TEXT_MAX_BYTES;
use pubsink_core::wire::{RETRY_AFTER_MAX, Reply, Verdict, read_reply};

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
    match &verdict {
        Verdict::Delivered(ids) => assert_eq!((reply.status, ids.len()), (200, expected)),
        Verdict::Throttled {
            reason, at_least, ..
        } => {
            assert!(at_least.unwrap_or_default() <= RETRY_AFTER_MAX);
            bounded(reason);
        }
        Verdict::Refused(reason)
        | Verdict::TooLarge(reason)
        | Verdict::Unauthenticated(reason)
        | Verdict::Config(reason)
        | Verdict::Transient { reason, .. } => bounded(reason),
        _ => panic!("a verdict this target does not know"),
    }
}

fn bounded(reason: &Reason) {
    // Lossy decoding makes at most three bytes of one, in each of three texts.
    assert!(reason.to_string().len() <= 3 * (4 * TEXT_MAX_BYTES + 200));
}
