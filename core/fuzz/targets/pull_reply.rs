//! Any reply to a pull, or to a call about leases, has a meaning, the same one each time, and
//! what it keeps is bounded.

use bytes::Bytes;
use pubsink_core::reason::Reason;
use pubsink_core::subscribe::{AckId, CallClass, CallFailure};
use pubsink_core::text::TEXT_MAX_BYTES;
use pubsink_core::wire::subscribe::rest::{read_answer, read_pull};
use pubsink_core::wire::{RETRY_AFTER_MAX, Reply};

/// The statuses that mean something, then any.
const STATUSES: [u16; 12] = [200, 400, 401, 403, 404, 413, 429, 500, 502, 503, 504, 204];

pub(crate) fn run(data: &[u8]) {
    let [status, body @ ..] = data else {
        return;
    };
    let reply = Reply {
        status: STATUSES.get(usize::from(*status)).copied().unwrap_or(599),
        body: Bytes::copy_from_slice(body),
        ..Reply::default()
    };
    let pulled = read_pull(&reply, None);
    assert_eq!(pulled, read_pull(&reply, None));
    match pulled {
        Ok(pulled) => {
            let mut read = 0;
            for message in &pulled.messages {
                assert!(!message.ack_id.as_str().is_empty());
                assert!(!message.message_id.as_str().is_empty());
                assert_ne!(message.delivery_attempt, Some(0));
                read += message.bytes();
            }
            assert!(read <= body.len());
            assert!(reply.status == 200 || pulled.messages.is_empty());
        }
        Err(failure) => {
            assert!(failure.ids.is_empty());
            bounded(&failure);
        }
    }
    let leases = [AckId::from("a"), AckId::from("b")];
    match read_answer(&reply, &leases, None) {
        Ok(()) => assert_eq!(reply.status, 200),
        Err(failure) => {
            assert_eq!(failure.class == CallClass::PerId, !failure.ids.is_empty());
            assert!(failure.ids.keys().all(|id| leases.contains(id)));
            bounded(&failure);
        }
    }
}

fn bounded(failure: &CallFailure) {
    if let CallClass::Throttled(pause) = failure.class {
        assert!(pause.unwrap_or_default() <= RETRY_AFTER_MAX);
    }
    let texts = match &*failure.reason {
        Reason::Pubsub {
            status,
            message,
            error_reason,
            ..
        } => {
            vec![Some(status), Some(message), error_reason.as_ref()]
        }
        Reason::Status { body, .. } => vec![Some(body)],
        Reason::UnreadableReply { detail } => vec![Some(detail)],
        _ => panic!("a reason this target does not know"),
    };
    for text in texts.into_iter().flatten() {
        assert!(text.len() <= TEXT_MAX_BYTES + 40);
    }
}
