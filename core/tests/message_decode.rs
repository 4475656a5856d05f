//! Decoding: the codes in their order, and agreement with an independent decoder on any input.

#![allow(clippy::unwrap_used, clippy::panic)]

use proptest::prelude::*;
use pubsink_core::message::decode;
use serde_json::{Value, json};

const SHA256_OF_HELLO: &str = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
const CLAIM: &str = "urn:ankusa:claim:v1:acme:01M39VMD8RA3C5HR4RBV67Y002";

/// Decodes with both, insists that they agree, and returns the code and field of a refusal.
fn refusal(data: &[u8]) -> Option<(&'static str, Option<&'static str>)> {
    let ours = decode(data);
    let theirs = ankusa::decode_message(data);
    match (&ours, &theirs) {
        (Ok(ours), Ok(theirs)) => {
            assert_eq!(
                (
                    &ours.id,
                    &ours.source_id,
                    &ours.tenant_id,
                    ours.received_at,
                    ours.size
                ),
                (
                    &theirs.id,
                    &theirs.source_id,
                    &theirs.tenant_id,
                    theirs.received_at,
                    theirs.size
                )
            );
            assert_eq!(ours.v, theirs.v);
            assert_eq!(ours.headers, theirs.headers);
            assert_eq!(ours.body.as_deref(), theirs.body.as_deref());
            assert_eq!(
                ours.claim.as_ref().map(|c| c.as_str()),
                theirs.claim.as_deref()
            );
            assert_eq!(ours.sha256, theirs.sha256);
            assert_eq!(
                (
                    &ours.content_type,
                    &ours.dedupe_key,
                    &ours.replay_id,
                    &ours.idempotency_key
                ),
                (
                    &theirs.content_type,
                    &theirs.dedupe_key,
                    &theirs.replay_id,
                    &theirs.idempotency_key
                )
            );
            assert_eq!(
                (
                    &ours.traceparent,
                    &ours.tracestate,
                    &ours.instance,
                    &ours.region
                ),
                (
                    &theirs.traceparent,
                    &theirs.tracestate,
                    &theirs.instance,
                    &theirs.region
                )
            );
            assert_eq!(
                ours.verification.as_ref().map(|v| (&v.status, v.flagged)),
                theirs.verification.as_ref().map(|v| (&v.status, v.flagged))
            );
            for include_replay in [false, true] {
                assert_eq!(
                    ours.idempotency_key(include_replay),
                    theirs.idempotency_key(include_replay)
                );
            }
            None
        }
        (Err(ours), Err(theirs)) => {
            assert_eq!(
                (ours.code.as_str(), ours.field),
                (theirs.code, theirs.field)
            );
            assert!(!ours.is_retryable());
            Some((ours.code.as_str(), ours.field))
        }
        _ => panic!(
            "{:?}: {ours:?}, the oracle {theirs:?}",
            String::from_utf8_lossy(data)
        ),
    }
}

fn message() -> Value {
    json!({
        "v": 1, "id": "hook-1", "source_id": "github", "tenant_id": "acme", "received_at": 1,
        "content_type": null, "size": 5, "dedupe_key": "d", "replay_id": "r",
        "idempotency_key": "acme:github:d", "headers": {"x-a": "1"}, "sha256": SHA256_OF_HELLO,
        "body_base64": "aGVsbG8=",
    })
}

fn with(changes: &[(&str, Value)]) -> Vec<u8> {
    let mut message = message();
    for (key, value) in changes {
        message[*key] = value.clone();
    }
    serde_json::to_vec(&message).unwrap()
}

fn without(key: &str) -> Vec<u8> {
    let mut message = message();
    message.as_object_mut().unwrap().remove(key);
    serde_json::to_vec(&message).unwrap()
}

#[test]
fn optional_keys_may_be_missing() {
    for key in [
        "tenant_id",
        "content_type",
        "dedupe_key",
        "replay_id",
        "idempotency_key",
        "headers",
        "sha256",
    ] {
        assert_eq!(refusal(&without(key)), None, "{key}");
    }
    assert_eq!(
        refusal(&with(&[("v", json!(2)), ("new", json!([{}]))])),
        None
    );
    let tenantless = with(&[("tenant_id", json!("")), ("idempotency_key", json!(""))]);
    assert_eq!(refusal(&tenantless), None);
}

#[test]
fn each_code_is_given_for_its_fault() {
    let null = Value::Null;
    let field = |field| Some(("invalid_field", Some(field)));
    let code = |code| Some((code, None));
    let claim = |changes: &[(&str, Value)]| {
        let claimed = [("body_base64", Value::Null), ("claim", json!(CLAIM))];
        refusal(&with(&[&claimed, changes].concat()))
    };
    assert_eq!(refusal(b""), code("invalid_json"));
    assert_eq!(refusal(b"{} x"), code("invalid_json"));
    assert_eq!(refusal(b"\xFF"), code("invalid_json"));
    assert_eq!(
        refusal(&[&b"{\"x\":"[..], &b"[".repeat(100_000)].concat()),
        code("invalid_json")
    );
    assert_eq!(refusal(b"[1]"), code("not_an_object"));
    assert_eq!(refusal(b"{}"), code("unsupported_version"));
    for v in [json!(0), json!(3), json!(1.0), json!("1"), null.clone()] {
        assert_eq!(refusal(&with(&[("v", v)])), code("unsupported_version"));
    }
    for key in ["id", "source_id", "received_at", "size"] {
        assert_eq!(refusal(&without(key)), field(key));
        assert_eq!(refusal(&with(&[(key, null.clone())])), field(key));
    }
    assert_eq!(refusal(&with(&[("id", json!(""))])), field("id"));
    assert_eq!(refusal(&with(&[("size", json!(-5))])), field("size"));
    assert_eq!(
        refusal(&with(&[("received_at", json!(1.5))])),
        field("received_at")
    );
    for key in ["tenant_id", "region", "headers", "sha256", "verification"] {
        assert_eq!(refusal(&with(&[(key, json!(1))])), field(key));
    }
    assert_eq!(
        refusal(&with(&[("headers", json!({"a": 1}))])),
        field("headers")
    );
    assert_eq!(refusal(&with(&[("sha256", null.clone())])), field("sha256"));
    assert_eq!(
        refusal(&with(&[("sha256", json!(SHA256_OF_HELLO.to_uppercase()))])),
        field("sha256")
    );
    assert_eq!(
        refusal(&with(&[("claim", json!(CLAIM))])),
        code("ambiguous_body")
    );
    assert_eq!(refusal(&without("body_base64")), code("missing_body"));
    for body in [
        json!(1),
        json!("aGVsbG8"),
        json!("aGVsbG9="),
        json!("aGVs bG8="),
        json!("_-=="),
    ] {
        assert_eq!(
            refusal(&with(&[("body_base64", body)])),
            code("invalid_body_base64")
        );
    }
    assert_eq!(refusal(&with(&[("size", json!(4))])), code("size_mismatch"));
    assert_eq!(
        refusal(&with(&[("sha256", json!("0".repeat(64)))])),
        code("integrity")
    );
    assert_eq!(claim(&[]), None);
    assert_eq!(claim(&[("claim", json!(1))]), field("claim"));
    assert_eq!(
        claim(&[("claim", json!(format!("{CLAIM}\n")))]),
        field("claim")
    );
    assert_eq!(
        claim(&[("tenant_id", json!("other"))]),
        code("tenant_mismatch")
    );
    assert_eq!(claim(&[("tenant_id", null)]), None);
}

#[test]
fn the_last_of_a_repeated_key_counts() {
    let text = String::from_utf8(with(&[])).unwrap();
    let open = text.strip_suffix('}').unwrap();
    for (more, expected) in [
        (r#","v":3"#, Some(("unsupported_version", None))),
        (r#","headers":{"a":1,"a":"x"}"#, None),
        (r#","headers":{"a":1},"headers":{}"#, None),
        (r#","headers":{"a":1},"headers":null"#, None),
        (
            r#","verification":{"status":"ok","flagged":true},"verification":{}"#,
            Some(("invalid_field", Some("verification"))),
        ),
        (
            r#","verification":{"status":1,"status":"ok","flagged":0,"flagged":false}"#,
            None,
        ),
        (
            r#","verification":{"status":"","flagged":false}"#,
            Some(("invalid_field", Some("verification"))),
        ),
        (r#","verification":[],"verification":null"#, None),
        (r#","\u0076":2"#, None),
    ] {
        assert_eq!(
            refusal(format!("{open}{more}}}").as_bytes()),
            expected,
            "{more}"
        );
    }
}

#[test]
fn a_refusal_speaks_to_people() {
    let refused = decode(&without("size")).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the message cannot be decoded (invalid_field size): the key is missing or its value is \
         not allowed"
    );
    assert!(
        decode(b"{")
            .unwrap_err()
            .to_string()
            .contains("(invalid_json)")
    );
}

#[test]
fn a_decoded_message_serializes_with_its_body_in_base64() {
    let decoded = serde_json::to_value(decode(&with(&[])).unwrap()).unwrap();
    assert_eq!(decoded["body_base64"], "aGVsbG8=");
    assert_eq!(decoded["claim"], Value::Null);
    assert_eq!(decoded["headers"]["x-a"], "1");
}

fn any_value() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "null",
            "true",
            "false",
            "0",
            "1",
            "2",
            "3",
            "5",
            "-1",
            "-0",
            "1.0",
            "1e400",
            "1e3",
            "18446744073709551615",
            "9223372036854775808",
            "\"\"",
            "\"acme\"",
            "\"aGVsbG8=\"",
            "\"aGVsbG8\"",
            "\"\\ud800\"",
            "\"\\u0061\"",
            "{}",
            "[]",
            "[1,{}]",
            "{\"a\":\"b\"}",
            "{\"a\":1}",
            "{\"status\":\"ok\",\"flagged\":false}",
            "{\"status\":\"ok\"}",
            "tru",
            "",
        ])
        .prop_map(str::to_owned),
        Just(format!("\"{SHA256_OF_HELLO}\"")),
        Just(format!("\"{}\"", "0".repeat(64))),
        Just(format!("\"{CLAIM}\"")),
        "[a-z]{0,4}".prop_map(|text| format!("\"{text}\"")),
    ]
}

/// A valid message with some keys removed and others set, repeated ones included.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let keys = [
        "v",
        "id",
        "source_id",
        "tenant_id",
        "received_at",
        "content_type",
        "size",
        "dedupe_key",
        "replay_id",
        "idempotency_key",
        "headers",
        "sha256",
        "body_base64",
        "claim",
        "verification",
        "traceparent",
        "tracestate",
        "instance",
        "region",
        "unknown",
    ];
    let key = prop::sample::select(keys.to_vec());
    let set = prop::collection::vec((key.clone(), any_value()), 0..4);
    let removed = prop::collection::vec(key, 0..2);
    (set, removed).prop_map(|(set, removed)| {
        let mut base = message();
        for key in removed {
            base.as_object_mut().unwrap().remove(key);
        }
        let mut text = base.to_string();
        text.pop();
        for (key, value) in set {
            text += &format!(",\"{key}\":{value}");
        }
        (text + "}").into_bytes()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8192))]

    #[test]
    fn agrees_with_the_oracle_on_changed_messages(data in mutated()) {
        refusal(&data);
    }

    #[test]
    fn agrees_with_the_oracle_on_damaged_messages(
        mut data in mutated(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..3),
    ) {
        for (at, byte) in damage {
            let at = at.index(data.len());
            data[at] = byte;
        }
        refusal(&data);
    }

    #[test]
    fn agrees_with_the_oracle_on_cut_messages(data in mutated(), at: prop::sample::Index) {
        refusal(&data[..at.index(data.len())]);
    }

    #[test]
    fn agrees_with_the_oracle_on_any_bytes(data in prop::collection::vec(any::<u8>(), 0..64)) {
        refusal(&data);
    }
}
