//! Envelopes as lines: what is read, where a fault is placed, and the way back.

#![allow(clippy::unwrap_used, clippy::panic)]

use bytes::Bytes;
use proptest::prelude::*;
use pubsink_core::envelope::Envelope;
use pubsink_core::envelope_line::{EnvelopeLine, LineProblem, parse, to_line};

fn read(line: &str) -> EnvelopeLine {
    parse(line.as_bytes()).unwrap_or_else(|error| panic!("{line}: {error}"))
}

fn refused(line: &str) -> (usize, String) {
    let error = parse(line.as_bytes()).unwrap_err();
    let text = error.to_string();
    let (column, problem) = text.split_once(": ").unwrap();
    assert_eq!(column, format!("column {}", error.column));
    (error.column, problem.to_owned())
}

fn pairs(line: &EnvelopeLine) -> Vec<(&str, &[u8])> {
    line.headers
        .iter()
        .map(|(name, value)| (&**name, &**value))
        .collect()
}

#[test]
fn what_a_line_leaves_out_is_filled_in() {
    let envelope = read("{}").into_envelope(|| "made-up".into(), 77);
    assert_eq!(
        envelope,
        Envelope {
            id: "made-up".into(),
            source_id: "cli".into(),
            tenant_id: None,
            received_at: 77,
            method: "POST".into(),
            path: "/".into(),
            headers: Vec::new(),
            content_type: None,
            body: Bytes::new(),
            dedupe_key: None,
        }
    );
    let nulls = r#"{"id":null,"source_id":null,"tenant_id":null,"received_at":null,"method":null,
        "path":null,"headers":null,"content_type":null,"body":null,"body_base64":null,
        "dedupe_key":null,"size":null}"#;
    assert_eq!(read(nulls), read("{}"));
}

#[test]
fn what_a_line_says_is_kept() {
    let line = r#" {"id":"i","source_id":"s","tenant_id":"t","received_at":-5,"method":"PUT",
        "path":"/p","headers":[["B","1"],["a","2"]],"content_type":"text/plain","size":3,
        "body":"h\u00e9","dedupe_key":"d","unknown":[{"deep":1e5}],"unknown":2}"#;
    let envelope = read(&format!("{line}\r\n")).into_envelope(|| panic!("it has an id"), 77);
    assert_eq!(
        envelope,
        Envelope {
            id: "i".into(),
            source_id: "s".into(),
            tenant_id: Some("t".into()),
            received_at: -5,
            method: "PUT".into(),
            path: "/p".into(),
            headers: vec![
                ("B".into(), Bytes::from_static(b"1")),
                ("a".into(), Bytes::from_static(b"2"))
            ],
            content_type: Some("text/plain".into()),
            body: Bytes::from("hé"),
            dedupe_key: Some("d".into()),
        }
    );
}

#[test]
fn headers_keep_their_order_in_every_form() {
    let expected: [(&str, &[u8]); 4] = [("z", b"1"), ("a", b"2"), ("a", b"\xE9"), ("m", b"")];
    for headers in [
        r#"[["z","1"],["a","2"],["a",{"base64":"6Q=="}],["m",""]]"#,
        r#"{"z":"1","a":["2",{"base64":"6Q=="}],"m":""}"#,
        r#"{"z":"1","a":"2","a":{"base64":"6Q=="},"none":[],"m":[""]}"#,
    ] {
        assert_eq!(
            pairs(&read(&format!("{{\"headers\":{headers}}}"))),
            expected,
            "{headers}"
        );
    }
}

#[test]
fn a_body_is_text_or_base64() {
    assert_eq!(read(r#"{"body":"{\"a\":1.0}"}"#).body, "{\"a\":1.0}");
    assert_eq!(
        read(r#"{"body_base64":"//4AgA=="}"#).body,
        &b"\xFF\xFE\0\x80"[..]
    );
    assert_eq!(read(r#"{"body":null,"body_base64":"","size":0}"#).body, "");
}

#[test]
fn a_fault_is_named_with_its_column() {
    let value = |key: &str, expected: &str| format!("expected {expected} as the value of `{key}`");
    for (line, column, problem) in [
        ("", 1, "expected a JSON value".to_owned()),
        ("{\"id\":\"x\"", 10, "expected `,` or `}`".to_owned()),
        ("{\"id\" 1}", 7, "expected `:`".to_owned()),
        ("{} {}", 4, "expected the end of the text".to_owned()),
        (
            " [1]",
            2,
            "expected an object, `{\"id\":…,\"body\":…}`".to_owned(),
        ),
        (
            "{\"body\":\"\\ud800\"}",
            16,
            "expected a valid escape (surrogates only in pairs)".to_owned(),
        ),
        ("{\"id\": 5}", 8, value("id", "text that is not empty")),
        ("{\"id\":\"\"}", 7, value("id", "text that is not empty")),
        ("{\"path\":[]}", 9, value("path", "text")),
        (
            "{\"received_at\":1.5}",
            16,
            value("received_at", "an integer (unix milliseconds)"),
        ),
        (
            "{\"received_at\":\"1\"}",
            16,
            value("received_at", "an integer (unix milliseconds)"),
        ),
        ("{\"size\":-1}", 9, value("size", "an integer from 0")),
        ("{\"body\":{}}", 9, value("body", "text")),
        (
            "{\"body_base64\":\"é\"}",
            16,
            value("body_base64", "text in padded standard base64"),
        ),
        (
            "{\"id\":\"x\",\"id\":\"x\"}",
            11,
            "expected each key once, but `id` comes again".to_owned(),
        ),
        (
            "{\"body\":\"\",\"body_base64\":\"\"}",
            12,
            "expected either `body` or `body_base64`, not both".to_owned(),
        ),
        (
            "{\"size\":2,\"body\":\"é!\"}",
            9,
            "expected the body's length, 3, as `size`, not 2".to_owned(),
        ),
        (
            "{\"headers\":1}",
            12,
            value("headers", "an object or a list of [name, value] pairs"),
        ),
    ] {
        assert_eq!(refused(line), (column, problem), "{line}");
    }
    for (line, column) in [
        (r#"{"headers":[["a"]]}"#, 13),
        (r#"{"headers":[["a","b","c"]]}"#, 22),
        (r#"{"headers":[[1,"b"]]}"#, 14),
        (r#"{"headers":[["a",["b"]]]}"#, 18),
        (r#"{"headers":["a"]}"#, 13),
        (r#"{"headers":{"a":1}}"#, 17),
        (r#"{"headers":{"a":["b",null]}}"#, 22),
        (r#"{"headers":{"a":{}}}"#, 17),
        (r#"{"headers":{"a":{"base64":"?"}}}"#, 17),
        (r#"{"headers":{"a":{"base64":"","x":1}}}"#, 17),
    ] {
        let (found, problem) = refused(line);
        assert_eq!(found, column, "{line}");
        assert!(problem.ends_with("as the value of `headers`"), "{problem}");
    }
}

#[test]
fn bytes_that_are_not_utf8_have_a_column() {
    let error = parse(b"{\"body\":\"caf\xE9\"}").unwrap_err();
    assert_eq!((error.column, error.problem), (13, LineProblem::NotUtf8));
}

#[test]
fn deep_nesting_is_refused_without_harm() {
    for open in ["[", "{\"a\":"] {
        let line = format!("{{\"x\":{}", open.repeat(200_000));
        assert!(refused(&line).1.contains("nesting"));
    }
    let fine = format!("{{\"x\":{}1{}}}", "[".repeat(120), "]".repeat(120));
    read(&fine);
}

#[test]
fn a_line_is_written_in_one_form() {
    let mut envelope =
        read(r#"{"id":"i","tenant_id":"t","headers":{"A":"1","b":{"base64":"6Q=="}},"body":"\n"}"#)
            .into_envelope(String::new, 5);
    insta::assert_snapshot!(to_line(&envelope), @r#"{"id":"i","source_id":"cli","tenant_id":"t","received_at":5,"method":"POST","path":"/","headers":[["A","1"],["b",{"base64":"6Q=="}]],"body":"\n"}"#);
    envelope.body = Bytes::from_static(b"\xFF");
    envelope.headers.clear();
    envelope.tenant_id = None;
    insta::assert_snapshot!(to_line(&envelope), @r#"{"id":"i","source_id":"cli","received_at":5,"method":"POST","path":"/","headers":[],"body_base64":"/w=="}"#);
}

fn envelopes() -> impl Strategy<Value = Envelope> {
    let text = "(?s).{0,10}";
    let bytes = prop_oneof![
        text.prop_map(Bytes::from),
        prop::collection::vec(any::<u8>(), 0..20).prop_map(Bytes::from),
    ];
    let optional = prop::option::of(text);
    (
        ("(?s).{1,10}", text, text, text),
        (optional.clone(), optional.clone(), optional),
        any::<i64>(),
        prop::collection::vec((text, bytes.clone()), 0..5),
        bytes,
    )
        .prop_map(
            |(
                (id, source_id, method, path),
                (tenant_id, content_type, dedupe_key),
                received_at,
                headers,
                body,
            )| Envelope {
                id,
                source_id,
                tenant_id,
                received_at,
                method,
                path,
                headers,
                content_type,
                body,
                dedupe_key,
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn what_is_written_is_read_back_the_same(envelope in envelopes()) {
        let line = to_line(&envelope);
        prop_assert!(!line.contains('\n'));
        let read = parse(line.as_bytes()).unwrap();
        prop_assert_eq!(read.into_envelope(|| panic!("it has an id"), 0), envelope);
    }

    #[test]
    fn no_bytes_do_harm(envelope in envelopes(), at: prop::sample::Index, byte: u8, cut: bool) {
        let mut line = to_line(&envelope).into_bytes();
        let at = at.index(line.len());
        line[at] = byte;
        if cut {
            line.truncate(at + 1);
        }
        if let Err(error) = parse(&line) {
            prop_assert!((1..=line.len() + 1).contains(&error.column));
        }
    }

    #[test]
    fn a_line_that_is_read_is_json(line in "[\\[\\]{}:,\" a-z0-9\\\\]{0,20}") {
        if parse(line.as_bytes()).is_ok() {
            prop_assert!(serde_json::from_str::<serde_json::Value>(&line).is_ok());
        }
    }
}
