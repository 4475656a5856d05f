//! Any answer to a publish over gRPC has a verdict, the same one in headers as in trailers, and what
//! it keeps is bounded.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use pubsink_core::wire::{Reply, Verdict, read_grpc_reply, read_reply};

use crate::verdict::is_bounded;

/// The HTTP statuses that mean something, then any.
const STATUSES: [u16; 8] = [200, 400, 401, 413, 415, 429, 502, 503];
/// The code that stands for no `grpc-status`.
const NONE: u8 = 255;

pub(crate) fn run(data: &[u8]) {
    let [status, expected, code, message_len, rest @ ..] = data else {
        return;
    };
    let (message, body) = rest.split_at(usize::from(*message_len).min(rest.len()));
    let mut fields = HeaderMap::new();
    if *code != NONE {
        fields.insert("grpc-status", u16::from(*code).into());
    }
    for name in ["grpc-message", "grpc-status-details-bin", "retry-after"] {
        if let Ok(value) = HeaderValue::from_bytes(message) {
            fields.insert(name, value);
        }
    }
    let reply = Reply {
        status: STATUSES.get(usize::from(*status)).copied().unwrap_or(599),
        body: Bytes::copy_from_slice(body),
        received_at_ms: 784_111_777_000,
        ..Reply::default()
    };
    let expected = usize::from(*expected);
    let verdict = read_grpc_reply(&reply, &fields, expected);
    let alone = Reply {
        headers: fields.clone(),
        ..reply.clone()
    };
    let none = HeaderMap::new();
    let said = *code != NONE && (*code != 0 || reply.status == 200);
    if said {
        assert_eq!(verdict, read_grpc_reply(&alone, &none, expected));
    } else if reply.status != 200 {
        assert_eq!(verdict, read_reply(&reply, expected));
    }
    if let Verdict::Delivered(ids) = &verdict {
        assert_eq!((reply.status, *code, ids.len()), (200, 0, expected));
    }
    is_bounded(&verdict);
}
