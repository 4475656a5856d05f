//! Any status that a gRPC call may end with has a meaning, in headers as in trailers.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use pubsink_core::reason::Reason;
use pubsink_core::subscribe::{AckId, CallClass, CallFailure, StreamEnd};
use pubsink_core::text::TEXT_MAX_BYTES;
use pubsink_core::wire::subscribe::grpc::{read_answer, read_stream_end};
use pubsink_core::wire::{RETRY_AFTER_MAX, Reply};

pub(crate) fn run(data: &[u8]) {
    let [code, message_len, rest @ ..] = data else {
        return;
    };
    let (message, details) = rest.split_at(usize::from(*message_len).min(rest.len()));
    let mut fields = HeaderMap::new();
    // Digits, but for some codes the message itself, which may be anything.
    let code_text = code.to_string();
    let code_text = if *code == 255 {
        message
    } else {
        code_text.as_bytes()
    };
    for (name, value) in [
        ("grpc-status", code_text),
        ("grpc-message", message),
        (
            "grpc-status-details-bin",
            STANDARD_NO_PAD.encode(details).as_bytes(),
        ),
    ] {
        if let Ok(value) = HeaderValue::from_bytes(value) {
            fields.insert(name, value);
        }
    }
    let empty_message = Bytes::from_static(&[0; 5]);
    let alone = Reply {
        status: 200,
        headers: fields.clone(),
        body: empty_message.clone(),
        ..Reply::default()
    };
    let after = Reply {
        status: 200,
        body: empty_message,
        ..Reply::default()
    };
    let leases = [AckId::from("a"), AckId::from("b")];
    let none = HeaderMap::new();
    let answer = read_answer(&alone, &none, &leases, None);
    assert_eq!(answer, read_answer(&after, &fields, &leases, None));
    let end = read_stream_end(&alone, &none, None);
    assert_eq!(end, read_stream_end(&after, &fields, None));
    match end {
        StreamEnd::Done => assert_eq!(answer, Ok(())),
        StreamEnd::Failed(failure) => {
            assert!(failure.ids.is_empty() && answer.is_err());
            bounded(&failure);
        }
        _ => panic!("an end this target does not know"),
    }
    if let Err(failure) = answer {
        assert_eq!(failure.class == CallClass::PerId, !failure.ids.is_empty());
        assert!(failure.ids.keys().all(|id| leases.contains(id)));
        bounded(&failure);
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
        Reason::UnreadableReply { detail } => vec![Some(detail)],
        _ => panic!("a reason this target does not know"),
    };
    for text in texts.into_iter().flatten() {
        assert!(text.len() <= TEXT_MAX_BYTES + 40);
    }
}
