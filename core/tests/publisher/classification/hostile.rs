//! Bodies that are no use, or meant to do harm: never a panic, and never another class.

use http::HeaderMap;
use proptest::prelude::*;
use pubsink_core::reason::Reason;
use pubsink_core::text::TEXT_MAX_BYTES;
use pubsink_core::wire::{Reply, Verdict, read_reply};

use crate::sim::answers::reply;

/// The text a transient verdict shows.
fn shown(verdict: &Verdict) -> &str {
    let Verdict::Transient { reason, .. } = verdict else {
        panic!("{verdict:?}");
    };
    match reason {
        Reason::Status { body, .. } | Reason::UnexpectedReply { body } => body,
        Reason::Pubsub { message, .. } => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_body_of_8_kib_is_kept_whole_and_a_longer_one_is_cut_and_marked() {
    let whole = "x".repeat(8_192);
    assert_eq!(shown(&read_reply(&reply(500, whole.clone()), 1)), whole);
    let longer = format!("{whole}y");
    let expected = format!("{whole}… (cut, 8193 bytes in all)");
    assert_eq!(shown(&read_reply(&reply(500, longer.clone()), 1)), expected);
    assert_eq!(shown(&read_reply(&reply(200, longer.clone()), 1)), expected);
    let document = serde_json::json!({ "error": { "code": 500, "message": longer } });
    assert_eq!(
        shown(&read_reply(&reply(500, document.to_string()), 1)),
        expected
    );
}

#[test]
fn bytes_that_are_not_text_are_replaced_and_stay_within_the_cap() {
    let verdict = read_reply(&reply(502, &b"\xFF\xFEbad\xC3"[..]), 1);
    assert_eq!(shown(&verdict), "\u{FFFD}\u{FFFD}bad\u{FFFD}");
    for len in [8_000, 8_192, 100_000] {
        let verdict = read_reply(&reply(502, vec![0xFF; len]), 1);
        assert!(
            shown(&verdict).len() <= TEXT_MAX_BYTES + 40,
            "{len}: {}",
            shown(&verdict).len()
        );
        assert!(
            shown(&verdict).ends_with(&format!("… (cut, {len} bytes in all)")),
            "{len}"
        );
    }
}

#[test]
fn deep_nesting_does_no_harm() {
    for deep in [
        "[".repeat(1_000_000),
        r#"{"error":"#.repeat(200_000),
        format!(r#"{{"messageIds":{}"#, "[".repeat(500_000)),
    ] {
        for status in [200, 400, 500] {
            assert!(matches!(
                read_reply(&reply(status, deep.clone()), 1),
                Verdict::Transient { .. }
            ));
        }
    }
    // Beside the ids it is passed over like any other key.
    let (open, close) = ("[".repeat(500_000), "]".repeat(500_000));
    let beside = format!(r#"{{"x":{open}{close},"messageIds":["1"]}}"#);
    assert!(matches!(
        read_reply(&reply(200, beside), 1),
        Verdict::Delivered(_)
    ));
}

#[test]
fn numbers_that_are_none_do_no_harm() {
    for body in [
        r#"{"error":{"code":NaN,"status":"INVALID_ARGUMENT"}}"#,
        r#"{"error":{"code":1e999,"status":"INVALID_ARGUMENT"}}"#,
        r#"{"error":{"code":-,"status":"INVALID_ARGUMENT"}}"#,
        "NaN",
    ] {
        assert!(
            matches!(read_reply(&reply(400, body), 1), Verdict::Transient { .. }),
            "{body}"
        );
    }
    let odd = r#"{"error":{"code":-0.5e-9,"status":"INVALID_ARGUMENT"}}"#;
    assert!(matches!(
        read_reply(&reply(400, odd), 1),
        Verdict::Refused(_)
    ));
}

#[test]
fn text_that_is_not_utf8_is_never_an_id_or_a_document() {
    let ids = b"{\"messageIds\":[\"\xFF\"]}";
    assert!(matches!(
        read_reply(&reply(200, &ids[..]), 1),
        Verdict::Transient { .. }
    ));
    let document = b"{\"error\":{\"code\":404,\"status\":\"NOT_FOUND\",\"message\":\"\xC3\"}}";
    assert!(matches!(
        read_reply(&reply(404, &document[..]), 1),
        Verdict::Transient { .. }
    ));
}

/// Text near the JSON a server sends.
fn near_json() -> impl Strategy<Value = Vec<u8>> {
    let token = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\"error\"",
        "\"code\"",
        "\"status\"",
        "\"messageIds\"",
        "\"INVALID_ARGUMENT\"",
        "\"details\"",
        "\"@type\"",
        "\"retryDelay\"",
        "\"9s\"",
        "400",
        "null",
        "\\u",
        "\\ud800",
        "\u{FEFF}",
        "1e9",
        "-",
        " ",
    ]);
    prop_oneof![
        prop::collection::vec(token, 0..40).prop_map(|tokens| tokens.concat().into_bytes()),
        prop::collection::vec(any::<u8>(), 0..100),
    ]
}

proptest! {
    #[test]
    fn any_reply_has_a_meaning(
        status in 100..1_000_u16,
        body in near_json(),
        retry_after in "[ -~]{0,30}",
        expected in 1..4_usize,
        received_at_ms in any::<u64>(),
    ) {
        let mut headers = HeaderMap::new();
        headers.insert("retry-after", retry_after.parse().unwrap());
        let reply = Reply { status, headers, body: body.into(), received_at_ms };
        let verdict = read_reply(&reply, expected);
        if let Verdict::Delivered(ids) = &verdict {
            prop_assert_eq!((status, ids.len()), (200, expected));
        }
        prop_assert_eq!(status == 200, matches!(
            verdict,
            Verdict::Delivered(_) | Verdict::Transient { reason: Reason::UnexpectedReply { .. }, .. }
        ));
    }

    #[test]
    fn ids_come_out_as_they_went_in(ids in prop::collection::vec("(?s).{0,12}", 1..20)) {
        let body = serde_json::json!({ "messageIds": &ids }).to_string();
        let Verdict::Delivered(read) = read_reply(&reply(200, body), ids.len()) else {
            panic!("not delivered");
        };
        let read: Vec<_> = read.iter().map(|id| id.as_str()).collect();
        prop_assert_eq!(read, ids);
    }
}
