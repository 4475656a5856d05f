//! What counts as a hook on the way in.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pubsink_core::message;
use pubsink_fixtures::hooks::sample_ndjson;
use serde_json::json;

use super::support::{Scratch, TOPIC, hooks, ids, publish, server, stored_bodies, stored_ids};

#[test]
fn sample_hooks_are_published_from_standard_input_and_from_a_file() {
    let count = sample_ndjson().lines().count();
    let server = server();
    let done = publish(&server, sample_ndjson()).done().exits(0);
    assert_eq!(
        done.summary(),
        format!("pubsink: {count} delivered, 0 failed")
    );
    let scratch = Scratch::new();
    let file = scratch.file("hooks.ndjson", sample_ndjson());
    let done = publish(&server, "")
        .arguments(&["--input", &file])
        .done()
        .exits(0);
    assert_eq!(done.outcomes().len(), count);
    let mut from_stdin = stored_bodies(&server);
    let mut from_file = from_stdin.split_off(count);
    from_stdin.sort_unstable();
    from_file.sort_unstable();
    assert_eq!((from_stdin.len(), &from_stdin), (count, &from_file));
}

#[test]
fn no_input_is_no_request_and_a_success() {
    let server = server();
    let done = publish(&server, "").done().exits(0);
    assert_eq!(
        (done.stdout.as_str(), done.summary()),
        ("", "pubsink: 0 delivered, 0 failed")
    );
    assert_eq!(server.log().total(), 0);
}

#[test]
fn a_byte_order_mark_at_the_head_is_no_part_of_the_first_line() {
    let server = server();
    let marked = hooks(2).replacen("body 2", "\u{feff}body 2", 1);
    publish(&server, format!("\u{feff}{marked}"))
        .done()
        .exits(0);
    let mut bodies = stored_bodies(&server);
    bodies.sort_unstable();
    assert_eq!(bodies, ["body 1", "\u{feff}body 2"]);
}

#[test]
fn the_last_line_needs_no_newline() {
    let server = server();
    let done = publish(&server, hooks(3).trim_end()).done().exits(0);
    assert_eq!((done.outcomes().len(), stored_ids(&server)), (3, ids(3)));
}

#[test]
fn blank_lines_are_passed_over_but_counted() {
    let server = server();
    let input = "\n  \n{\"id\":\"a\"}\n\t\r\n{\"id\":\"b\"}\n\n";
    let outcomes = publish(&server, input).done().exits(0).outcomes();
    let lines: Vec<_> = outcomes
        .iter()
        .map(|outcome| (&outcome["line"], &outcome["id"]))
        .collect();
    assert_eq!(lines, [(&json!(3), &json!("a")), (&json!(5), &json!("b"))]);
    assert_eq!(stored_ids(&server), ["a", "b"]);
}

#[test]
fn lines_may_end_in_a_carriage_return() {
    let server = server();
    publish(&server, hooks(2).replace('\n', "\r\n"))
        .done()
        .exits(0);
    assert_eq!(stored_bodies(&server), ["body 1", "body 2"]);
}

#[test]
fn what_a_line_leaves_out_is_filled_in() {
    let server = server();
    let done = publish(&server, "{\"body\":\"x\"}\n{}\n").done().exits(0);
    let outcomes = done.outcomes();
    let stored = server.stored(TOPIC);
    for (stored, outcome) in stored.iter().zip(outcomes) {
        let message = message::decode(&stored.message.data).unwrap();
        let id = uuid::Uuid::parse_str(&message.id).unwrap();
        assert_eq!(
            (id.get_version_num(), outcome["id"].as_str()),
            (7, Some(message.id.as_str()))
        );
        assert_eq!(
            (message.source_id.as_str(), message.tenant_id),
            ("cli", None)
        );
        let now = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap();
        let age = i64::try_from(now.as_millis()).unwrap() - message.received_at;
        assert!((0..60_000).contains(&age), "{age}");
    }
    assert_eq!(stored_bodies(&server), ["x", ""]);
}

#[test]
fn a_body_is_carried_byte_for_byte_in_either_form() {
    let nested = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let bodies: Vec<Vec<u8>> = vec![
        br#"{"a":1.0,"b":1,"a":2}"#.to_vec(),
        br#"{"n":12345678901234567890123, "x":1e400}"#.to_vec(),
        b"\xEF\xBB\xBF{}".to_vec(),
        br#"{"s":"\u00e9\ud83d\ude00"}"#.to_vec(),
        b"\xFF\xFE\x00\x80".to_vec(),
        b"{ }\n".to_vec(),
        b"{ }\r\n".to_vec(),
        nested.into_bytes(),
        Vec::new(),
        vec![0; 1_000_000],
        b"aGVsbG8=".to_vec(),
        "\u{0}\u{ffff}\u{2028}\"\\".as_bytes().to_vec(),
    ];
    let line = |body: &Vec<u8>| match std::str::from_utf8(body) {
        Ok(text) => json!({"body": text}).to_string(),
        Err(_) => json!({"body_base64": STANDARD.encode(body)}).to_string(),
    };
    let as_base64 = |body: &Vec<u8>| json!({"body_base64": STANDARD.encode(body)}).to_string();
    let lines: Vec<_> = bodies
        .iter()
        .flat_map(|body| [line(body), as_base64(body)])
        .collect();
    let server = server();
    let large = ["--inline-max-bytes", "2000000"];
    publish(&server, lines.join("\n"))
        .arguments(&large)
        .done()
        .exits(0);
    let twice: Vec<_> = bodies.iter().flat_map(|body| [body, body]).collect();
    let mut stored = stored_bodies(&server);
    assert_eq!(stored.len(), twice.len());
    stored.sort_unstable();
    let mut twice: Vec<_> = twice
        .into_iter()
        .map(|body| body.clone().into())
        .collect::<Vec<bytes::Bytes>>();
    twice.sort_unstable();
    assert!(stored == twice, "a body was changed");
}

#[test]
fn headers_come_as_an_object_or_as_pairs() {
    let server = server();
    let input = concat!(
        r#"{"id":"a","headers":{"X-Event":"push","X-Two":["1","2"]}}"#,
        "\n",
        r#"{"id":"b","headers":[["X-Event","push"],["X-Two","1"],["X-Two","2"],["Cookie","c"]]}"#,
        "\n",
    );
    publish(&server, input).done().exits(0);
    for stored in server.stored(TOPIC) {
        let data: serde_json::Value = serde_json::from_slice(&stored.message.data).unwrap();
        assert_eq!(data["headers"], json!({"x-event": "push", "x-two": "1, 2"}));
    }
    assert_eq!(stored_ids(&server), ["a", "b"]);
}

#[test]
fn a_line_that_is_no_hook_is_named_with_line_and_column_and_stops_no_other() {
    let server = server();
    let good = |id: &str| format!("{{\"id\":\"{id}\"}}\n").into_bytes();
    let bad: [(&[u8], &str); 8] = [
        (b"{\"id\":", "line 2, column 7: expected a JSON value"),
        (b"[1]", "line 2, column 1: expected an object"),
        (
            b"{\"id\":\"a\",\"id\":\"b\"}",
            "line 2, column 11: expected each key once",
        ),
        (
            b"{\"id\":\"\"}",
            "line 2, column 7: expected text that is not empty",
        ),
        (b"{\"body\":\"\xC5z\"}", "line 2, column 10: expected UTF-8"),
        (b"{\"body\":\"\\ud800\"}", "line 2, column "),
        (
            b"{\"body\":\"\",\"body_base64\":\"\"}",
            "line 2, column 12: expected either",
        ),
        (
            b"{\"received_at\":1.5}",
            "line 2, column 16: expected an integer",
        ),
    ];
    for (line, words) in bad {
        let input = [good("one"), line.to_vec(), b"\n".to_vec(), good("three")].concat();
        let outcomes = publish(&server, input).done().exits(1).outcomes();
        assert_eq!(outcomes.len(), 3);
        assert_eq!(
            (&outcomes[0]["outcome"], &outcomes[2]["outcome"]),
            (&json!("delivered"), &json!("delivered"))
        );
        let (failed, reason) = (&outcomes[1], &outcomes[1]["reason"]);
        assert_eq!(
            (&failed["line"], &failed["id"], &failed["class"]),
            (&json!(2), &json!(null), &json!("permanent"))
        );
        assert_eq!(
            (&failed["attempts"], &failed["config"]),
            (&json!(0), &json!(false))
        );
        assert_eq!(
            (&reason["kind"], &reason["problem"]),
            (&json!("invalid_message"), &json!("unreadable_line"))
        );
        let error = reason["error"].as_str().unwrap();
        assert!(error.starts_with(words), "{error}");
    }
    assert_eq!(server.stored(TOPIC).len(), 2 * bad.len());
}

#[test]
fn a_line_of_a_megabyte_is_one_hook() {
    let server = server();
    let body = "x".repeat(1_000_000);
    let input = format!("{{\"id\":\"large\",\"body\":\"{body}\"}}\n{{\"id\":\"small\"}}\n");
    publish(&server, input)
        .arguments(&["--inline-max-bytes", "1000000"])
        .done()
        .exits(0);
    let mut lengths: Vec<_> = stored_bodies(&server)
        .iter()
        .map(bytes::Bytes::len)
        .collect();
    lengths.sort_unstable();
    assert_eq!(lengths, [0, 1_000_000]);
}

#[test]
fn a_hook_that_pubsub_cannot_carry_names_what_is_wrong_and_harms_no_neighbour() {
    let server = server();
    let bad_header = r#"{"id":"bad","headers":{"X-Name":["fine",{"base64":"Y2Fm6Q=="}]}}"#;
    let input = format!("{}{bad_header}\n", hooks(10));
    let outcomes = publish(&server, input).done().exits(1).outcomes();
    let reason = json!({"kind": "invalid_message", "problem": "header_not_utf8", "name": "x-name"});
    assert_eq!(
        (&outcomes[10]["id"], &outcomes[10]["reason"]),
        (&json!("bad"), &reason)
    );
    assert_eq!(stored_ids(&server), ids(10));
}
