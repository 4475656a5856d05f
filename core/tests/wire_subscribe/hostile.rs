//! Answers that are no use, or meant to do harm: never a panic, and never a success.

use bytes::Bytes;
use http::HeaderMap;
use proptest::prelude::*;
use pubsink_core::reason::Reason;
use pubsink_core::subscribe::{CallFailure, StreamEnd};
use pubsink_core::text::TEXT_MAX_BYTES;
use pubsink_core::wire::Reply;
use pubsink_core::wire::subscribe::{grpc, rest};

use crate::help::{headers, ids, reply};

fn assert_bounded(failure: &CallFailure) {
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
        other => panic!("{other:?}"),
    };
    for text in texts.into_iter().flatten() {
        assert!(text.len() <= TEXT_MAX_BYTES + 40, "{}", text.len());
    }
}

#[test]
fn long_texts_are_cut() {
    let long = "\u{7}".repeat(100_000);
    for status in [200, 400, 502] {
        let page = reply(status, long.clone());
        assert_bounded(&rest::read_pull(&page, None).unwrap_err());
        assert_bounded(&rest::read_answer(&page, &[], None).unwrap_err());
    }
    let long = "x".repeat(100_000);
    let answer = Reply {
        headers: headers([("grpc-status", "5"), ("grpc-message", &*long)]),
        ..reply(200, "")
    };
    assert_bounded(&grpc::read_answer(&answer, &HeaderMap::new(), &[], None).unwrap_err());
}

#[test]
fn deep_nesting_does_no_harm() {
    let (open, close) = ("[".repeat(500_000), "]".repeat(500_000));
    for deep in [
        open.clone(),
        format!(r#"{{"receivedMessages":{open}"#),
        format!(r#"{{"receivedMessages":[{open}{close}"#),
        r#"{"receivedMessages":[{"message":"#.repeat(100_000),
    ] {
        assert!(rest::read_pull(&reply(200, deep.clone()), None).is_err());
        assert!(rest::read_answer(&reply(200, deep), &[], None).is_err());
    }
    // Beside or within messages it is passed over, or spoils no other.
    let body = format!(
        r#"{{"x":{open}{close},"receivedMessages":[{open}{close},
        {{"ackId":"a","message":{{"messageId":"1","x":{open}{close}}}}}]}}"#
    );
    let pulled = rest::read_pull(&reply(200, body), None).unwrap();
    assert_eq!((pulled.messages.len(), pulled.unreadable.len()), (1, 1));
    // Groups in groups, in a field that is not known.
    let groups = [0x7B; 100_000];
    assert!(grpc::read_stream_message(Bytes::copy_from_slice(&groups)).is_err());
}

#[test]
fn text_that_is_not_utf8_is_no_answer() {
    let body = b"{\"receivedMessages\":[{\"ackId\":\"\xFF\",\"message\":{\"messageId\":\"1\"}}]}";
    assert!(rest::read_pull(&reply(200, &body[..]), None).is_err());
}

/// Bytes near what a server sends.
fn near_an_answer() -> impl Strategy<Value = Vec<u8>> {
    let token = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "null",
        "\\u",
        " ",
        "{}",
        "5",
        "\"5\"",
        "\"aGk=\"",
        "\"receivedMessages\":[",
        "\"ackId\":",
        "\"message\":{",
        "\"messageId\":\"1\"",
        "\"data\":",
        "\"attributes\":{",
        "\"publishTime\":",
        "\"error\":{",
        "\"status\":",
        "\"INVALID_ARGUMENT\"",
        "\"details\":[{\"@type\":\"google.rpc.ErrorInfo\",",
        "\"reason\":\"EXACTLY_ONCE_ACKID_FAILURE\"",
        "\"metadata\":{\"one\":",
    ]);
    prop_oneof![
        prop::collection::vec(token, 0..40).prop_map(|tokens| tokens.concat().into_bytes()),
        prop::collection::vec(any::<u8>(), 0..200),
        // Tags and lengths that fit now and then.
        prop::collection::vec(
            prop::sample::select(vec![
                0x0A, 0x12, 0x1A, 0x22, 0x2A, 0, 1, 2, 3, 5, 8, b'a', 0xFF
            ]),
            0..60
        ),
    ]
}

proptest! {
    #[test]
    fn any_answer_has_a_meaning(
        status in prop_oneof![Just(200_u16), 100..1_000_u16],
        body in near_an_answer(),
        code in prop::option::of("[0-9]{1,2}|[ -~]{0,4}"),
        message in "[ -~]{0,20}",
        details in "[A-Za-z0-9+/=_,-]{0,60}",
        retry_after in "[ -~]{0,12}",
    ) {
        let mut fields = headers([
            ("grpc-message", &*message),
            ("grpc-status-details-bin", &details),
            ("retry-after", &retry_after),
        ]);
        if let Some(code) = &code {
            fields.insert("grpc-status", code.parse().unwrap());
        }
        let ids = ids(&["one"]);
        let none = HeaderMap::new();
        let answer = Reply { headers: fields.clone(), ..reply(status, body) };
        let pulled = rest::read_pull(&answer, None);
        prop_assert!(pulled.is_err() || [200, 504].contains(&status));
        let acked = rest::read_answer(&answer, &ids, None);
        prop_assert!(acked.is_err() || status == 200);
        let zero = |code: &String| !code.is_empty() && code.bytes().all(|digit| digit == b'0');
        let is_ok = status == 200 && code.as_ref().is_some_and(zero);
        let over_grpc = grpc::read_answer(&answer, &none, &ids, None);
        prop_assert!(over_grpc.is_err() || is_ok);
        let bare = Reply { headers: none, ..answer };
        let end = grpc::read_stream_end(&bare, &fields, None);
        prop_assert_eq!(end == StreamEnd::Done, is_ok);
        for failure in [acked.err(), over_grpc.err(), pulled.err()].into_iter().flatten() {
            assert_bounded(&failure);
        }
    }

    #[test]
    fn any_message_of_a_stream_can_be_read_or_not(body in near_an_answer()) {
        let _ = grpc::read_stream_message(body.clone().into());
        // As a message within a response.
        if body.len() < 128 {
            let response = [&[0x0A, u8::try_from(body.len()).unwrap()], &body[..]].concat();
            let streamed = grpc::read_stream_message(response.into()).unwrap();
            prop_assert_eq!(streamed.answer.messages.len() + streamed.unreadable.len(), 1);
        }
    }
}
