//! The message: pinned bytes, and agreement with an independent decoder.

#![allow(clippy::unwrap_used, clippy::panic)]

use bytes::Bytes;
use proptest::prelude::*;
use pubsink_core::claim::ClaimRef;
use pubsink_core::delivery::{DeliveryContext, ForwardHeaders};
use pubsink_core::envelope::Envelope;
use pubsink_core::message::{self, DecodedMessage, HookMessage};
use pubsink_core::reason::{ClaimProblem, InvalidMessage, Reason};

const INLINE_MAX: usize = 65_536;

fn envelope() -> Envelope {
    Envelope {
        id: "019ad465-4e4c-7650-a69e-0d37f2a74de4".into(),
        source_id: "github".into(),
        tenant_id: Some("acme".into()),
        received_at: 1_764_500_000_332,
        method: "POST".into(),
        path: "/hooks/github".into(),
        headers: headers(&[
            ("Accept", b"*/*"),
            ("Content-Type", b"application/json"),
            ("Authorization", b"Basic c2VjcmV0"),
            ("X-GitHub-Event", b"push"),
            ("X-Trace", b"one"),
            ("x-trace", b"two \"quoted\""),
            ("X-Ankusa-Id", b"forged"),
        ]),
        content_type: Some("application/json".into()),
        body: Bytes::from_static(b"{\"action\":\"opened\"}"),
        dedupe_key: Some("d23f0824".into()),
    }
}

fn headers(pairs: &[(&str, &[u8])]) -> Vec<(String, Bytes)> {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), Bytes::copy_from_slice(value)))
        .collect()
}

fn encode(envelope: &Envelope, context: &DeliveryContext, inline_max: usize) -> Bytes {
    let (message, _) = HookMessage::new(envelope, context, inline_max).unwrap();
    let encoded = message.encode();
    assert_eq!(message.encoded_len(), encoded.len());
    let mut appended = b"before".to_vec();
    message.encode_into(&mut appended);
    assert_eq!(&appended[6..], &encoded[..]);
    encoded
}

fn text(bytes: &Bytes) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn attribute_lines(envelope: &Envelope, context: &DeliveryContext) -> String {
    message::attributes(envelope, context)
        .iter()
        .map(|(name, value)| format!("{name}={value}\n"))
        .collect()
}

#[test]
fn inline() {
    let context = DeliveryContext::default();
    insta::assert_snapshot!("inline", text(&encode(&envelope(), &context, INLINE_MAX)));
    insta::assert_snapshot!("inline_attributes", attribute_lines(&envelope(), &context));
}

#[test]
fn claimed() {
    let envelope = envelope();
    let claim = ClaimRef::derive(Some("acme"), envelope.received_at, &envelope.id).unwrap();
    let context = DeliveryContext {
        claim: Some(claim),
        ..DeliveryContext::default()
    };
    let inline_max = envelope.size() - 1;
    insta::assert_snapshot!("claimed", text(&encode(&envelope, &context, inline_max)));
    // One byte more, and the claim is not needed.
    assert_eq!(
        encode(&envelope, &context, inline_max + 1),
        encode(&envelope, &DeliveryContext::default(), INLINE_MAX)
    );
}

#[test]
fn bare() {
    for tenant_id in [None, Some(String::new())] {
        let envelope = Envelope {
            id: "hook \"1\"\n".into(),
            tenant_id,
            content_type: None,
            dedupe_key: None,
            body: Bytes::new(),
            headers: Vec::new(),
            received_at: -1,
            ..envelope()
        };
        let context = DeliveryContext::default();
        insta::assert_snapshot!("bare", text(&encode(&envelope, &context, 1)));
        insta::assert_snapshot!("bare_attributes", attribute_lines(&envelope, &context));
    }
}

#[test]
fn replayed() {
    let context = DeliveryContext {
        replay_id: Some("replay-7".into()),
        ..DeliveryContext::default()
    };
    let encoded = encode(&envelope(), &context, INLINE_MAX);
    insta::assert_snapshot!("replayed", text(&encoded));
    insta::assert_snapshot!(
        "replayed_attributes",
        attribute_lines(&envelope(), &context)
    );
    let decoded = message::decode(&encoded).unwrap();
    assert_eq!(decoded.idempotency_key(false), "acme:github:d23f0824");
    assert_eq!(
        decoded.idempotency_key(true),
        "acme:github:d23f0824#replay:replay-7"
    );
}

#[test]
fn forwarded_by_a_list() {
    let list = ["X-TRACE", "authorization", "x-absent"];
    let context = DeliveryContext {
        forward_headers: ForwardHeaders::Only(list.map(str::to_owned).to_vec()),
        ..DeliveryContext::default()
    };
    insta::assert_snapshot!(
        "forwarded_by_a_list",
        text(&encode(&envelope(), &context, INLINE_MAX))
    );
}

#[test]
fn headers_left_out_are_named() {
    let context = DeliveryContext {
        max_headers: Some(2),
        ..DeliveryContext::default()
    };
    let (message, diagnostics) = HookMessage::new(&envelope(), &context, INLINE_MAX).unwrap();
    insta::assert_snapshot!("headers_left_out", text(&message.encode()));
    assert_eq!(diagnostics.headers_left_out, ["x-trace"]);
}

#[test]
fn a_queued_message_shares_its_body_and_shows_none_of_it() {
    let envelope = Envelope {
        body: Bytes::from_static(b"very secret"),
        ..envelope()
    };
    let (message, _) = HookMessage::new(&envelope, &DeliveryContext::default(), 99).unwrap();
    assert!(!format!("{message:?}").contains("secret"));
    let decoded = message::decode(&message.encode()).unwrap();
    assert!(!format!("{decoded:?}").contains("secret"));
    assert!(format!("{decoded:?}").contains("body_len: Some(11)"));
}

#[test]
fn what_cannot_be_a_message_is_refused() {
    let new = |envelope: &Envelope, context: &DeliveryContext, max| {
        HookMessage::new(envelope, context, max).unwrap_err()
    };
    let context = DeliveryContext::default();
    let nameless = Envelope {
        id: String::new(),
        ..envelope()
    };
    assert_eq!(
        new(&nameless, &context, INLINE_MAX),
        Reason::InvalidMessage(InvalidMessage::EmptyId)
    );
    assert_eq!(
        new(&envelope(), &context, 5),
        Reason::ClaimCheck(ClaimProblem::Missing { size: 19, max: 5 })
    );
    let foreign = DeliveryContext {
        claim: Some(ClaimRef::derive(None, 0, "x").unwrap()),
        ..DeliveryContext::default()
    };
    assert_eq!(
        new(&envelope(), &foreign, 5),
        Reason::ClaimCheck(ClaimProblem::TenantMismatch {
            claim: "default".into(),
            hook: "acme".into()
        })
    );
    // A claim that is not used is not looked at.
    encode(&envelope(), &foreign, INLINE_MAX);
}

// R25: webhook headers with odd bytes.
#[test]
fn a_header_that_is_not_utf8_is_refused_by_name_and_never_mangled() {
    for odd in [
        headers(&[("X-Raw", b"\x61\xC5\x7A")]),
        headers(&[("X-Raw", b"caf\xE9")]),
        headers(&[("X-Raw", b"fine"), ("x-raw", b"\xFF")]),
        headers(&[("X-Raw", b"\xED\xA0\x80")]),
    ] {
        let envelope = Envelope {
            headers: odd,
            ..envelope()
        };
        let refused = HookMessage::new(&envelope, &DeliveryContext::default(), INLINE_MAX);
        assert_eq!(
            refused.unwrap_err(),
            Reason::InvalidMessage(InvalidMessage::HeaderNotUtf8 {
                name: "x-raw".into()
            })
        );
        let none = DeliveryContext {
            forward_headers: ForwardHeaders::Only(Vec::new()),
            ..DeliveryContext::default()
        };
        assert!(text(&encode(&envelope, &none, INLINE_MAX)).contains(r#""headers":{}"#));
    }
}

#[test]
fn odd_but_valid_header_values_arrive_as_they_are() {
    for value in [
        "",
        "\0",
        "\u{FFFF}",
        "é😀",
        "\\ud800",
        "\u{7F}\u{85}\u{2028}",
        "\t",
    ] {
        let envelope = Envelope {
            headers: headers(&[("x-odd", value.as_bytes())]),
            ..envelope()
        };
        let encoded = encode(&envelope, &DeliveryContext::default(), INLINE_MAX);
        assert_eq!(message::decode(&encoded).unwrap().headers["x-odd"], value);
        let theirs = ankusa::decode_message(&encoded).unwrap();
        assert_eq!(theirs.headers["x-odd"], value);
    }
}

// R36: bodies are bytes.
#[test]
fn every_body_arrives_byte_for_byte() {
    let bodies: [&[u8]; 12] = [
        br#"{"a":1.0,"b":1,"a":2}"#,
        br#"{"n":12345678901234567890123, "x":1e400}"#,
        b"\xEF\xBB\xBF{}",
        br#"{"s":"\u00e9\ud83d\ude00"}"#,
        b"\xFF\xFE\x00\x80",
        b"{ }\n",
        b"{ }\r\n",
        &[b"[".repeat(100_000), b"]".repeat(100_000)].concat(),
        b"",
        &vec![0; 1_000_000],
        b"aGVsbG8gd29ybGQ=",
        b"{",
    ];
    for body in bodies {
        let envelope = Envelope {
            body: Bytes::copy_from_slice(body),
            ..envelope()
        };
        let encoded = encode(&envelope, &DeliveryContext::default(), 2_000_000);
        let ours = message::decode(&encoded).unwrap();
        let theirs = ankusa::decode_message(&encoded).unwrap();
        assert_eq!(ours.body.as_deref(), Some(body));
        assert_eq!(theirs.body.as_deref(), Some(body));
        // The oracle has checked it against the body.
        assert_eq!(ours.sha256, theirs.sha256);
        assert!(ours.sha256.is_some());
    }
}

#[test]
fn hooks_as_they_are_in_the_wild() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../shared/data/github-hooks.ndjson"
    );
    let Ok(lines) = std::fs::read(path) else {
        eprintln!("NOT TESTED: {path} is not there");
        return;
    };
    let mut hooks = 0;
    for line in lines
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        let envelope = pubsink_core::envelope_line::parse(line)
            .unwrap()
            .into_envelope(|| panic!("every hook has an id"), 0);
        let encoded = encode(&envelope, &DeliveryContext::default(), usize::MAX);
        assert_same(&message::decode(&encoded).unwrap(), &encoded);
        assert_eq!(
            message::decode(&encoded).unwrap().body,
            Some(envelope.body.clone())
        );
        let written = pubsink_core::envelope_line::to_line(&envelope);
        let again = pubsink_core::envelope_line::parse(written.as_bytes()).unwrap();
        assert_eq!(again.into_envelope(String::new, 0), envelope);
        hooks += 1;
    }
    assert!(hooks > 0);
}

/// Holds our decoding of `data` against the oracle's.
fn assert_same(ours: &DecodedMessage, data: &[u8]) {
    let theirs = ankusa::decode_message(data).unwrap();
    assert_eq!(ours.v, theirs.v);
    assert_eq!(ours.id, theirs.id);
    assert_eq!(ours.source_id, theirs.source_id);
    assert_eq!(ours.tenant_id, theirs.tenant_id);
    assert_eq!(ours.received_at, theirs.received_at);
    assert_eq!(ours.content_type, theirs.content_type);
    assert_eq!(ours.size, theirs.size);
    assert_eq!(ours.body.as_deref(), theirs.body.as_deref());
    assert_eq!(
        ours.claim.as_ref().map(ClaimRef::as_str),
        theirs.claim.as_deref()
    );
    assert_eq!(ours.sha256, theirs.sha256);
    assert_eq!(ours.dedupe_key, theirs.dedupe_key);
    assert_eq!(ours.replay_id, theirs.replay_id);
    assert_eq!(ours.idempotency_key, theirs.idempotency_key);
    assert_eq!(ours.headers, theirs.headers);
    let verification = ours.verification.as_ref();
    assert_eq!(
        verification.map(|v| (v.status.as_str(), v.flagged)),
        theirs
            .verification
            .as_ref()
            .map(|v| (v.status.as_str(), v.flagged))
    );
    assert_eq!(ours.traceparent, theirs.traceparent);
    assert_eq!(ours.tracestate, theirs.tracestate);
    assert_eq!(ours.instance, theirs.instance);
    assert_eq!(ours.region, theirs.region);
    for include_replay in [false, true] {
        assert_eq!(
            ours.idempotency_key(include_replay),
            theirs.idempotency_key(include_replay)
        );
    }
}

fn envelopes() -> impl Strategy<Value = Envelope> {
    let name = prop_oneof![
        "[A-Za-z-]{1,6}",
        Just("Cookie".to_owned()),
        Just("x-ankusa-id".to_owned())
    ];
    let value = prop_oneof![".{0,12}", "[a-z]{0,8}"].prop_map(Bytes::from);
    let texts = (
        "(?s).{1,20}",
        "(?s).{0,12}",
        prop::option::of("[A-Za-z0-9_-]{1,12}"),
        prop::option::of("(?s).{0,12}"),
        prop::option::of("(?s).{0,12}"),
    );
    let body = prop::collection::vec(any::<u8>(), 0..200);
    let headers = prop::collection::vec((name, value), 0..8);
    (texts, any::<i64>(), headers, body).prop_map(
        |((id, source_id, tenant_id, content_type, dedupe_key), received_at, headers, body)| {
            Envelope {
                id,
                source_id,
                tenant_id,
                received_at,
                headers,
                content_type,
                body: body.into(),
                dedupe_key,
                ..envelope()
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn what_is_encoded_is_decoded_to_the_same(
        envelope in envelopes(),
        inline_max in 0_usize..200,
        replay_id in prop::option::of("(?s).{0,12}"),
        max_headers in prop::option::of(0_usize..6),
        forward_headers_max_bytes in prop::option::of(0_usize..60),
    ) {
        let tenant = envelope.tenant_id.as_deref();
        let claim = ClaimRef::derive(tenant, envelope.received_at, &envelope.id).unwrap();
        let context = DeliveryContext {
            claim: Some(claim.clone()),
            replay_id: replay_id.clone(),
            max_headers,
            forward_headers_max_bytes,
            ..DeliveryContext::default()
        };
        let encoded = encode(&envelope, &context, inline_max);
        let decoded = message::decode(&encoded).unwrap();
        assert_same(&decoded, &encoded);

        prop_assert_eq!(decoded.v, 1);
        prop_assert_eq!(&decoded.id, &envelope.id);
        prop_assert_eq!(&decoded.source_id, &envelope.source_id);
        prop_assert_eq!(&decoded.tenant_id, &envelope.tenant_id);
        prop_assert_eq!(decoded.received_at, envelope.received_at);
        prop_assert_eq!(&decoded.content_type, &envelope.content_type);
        prop_assert_eq!(decoded.size, envelope.size() as u64);
        prop_assert_eq!(&decoded.dedupe_key, &envelope.dedupe_key);
        prop_assert_eq!(&decoded.replay_id, &replay_id);
        prop_assert_eq!(decoded.idempotency_key(false), message::idempotency_key(&envelope));
        if envelope.size() <= inline_max {
            prop_assert_eq!(decoded.body.as_ref(), Some(&envelope.body));
        } else {
            prop_assert_eq!(decoded.claim, Some(claim));
        }

        // Compact, and written as serde_json would write it.
        let keys = ["v", "id", "source_id", "tenant_id", "received_at", "content_type", "size",
            "dedupe_key", "replay_id", "idempotency_key", "headers", "sha256"];
        let value: serde_json::Value = serde_json::from_slice(&encoded).unwrap();
        let mut expected = String::new();
        for key in keys {
            expected += &format!("{},\"{key}\":{}", "", value[key]);
        }
        let last = if envelope.size() <= inline_max { "body_base64" } else { "claim" };
        expected += &format!(",\"{last}\":{}", value[last]);
        prop_assert_eq!(text(&encoded), format!("{{{}}}", &expected[1..]));
    }
}
