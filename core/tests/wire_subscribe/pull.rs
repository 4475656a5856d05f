//! The answer to a pull.

use pubsink_core::failure::MessageId;
use pubsink_core::subscribe::{AckId, ReceivedMessage};
use pubsink_core::wire::subscribe::{Pulled, UNREADABLE_MAX, Unreadable, UnreadableProblem, rest};
use serde_json::{Value, json};

use crate::help::reply;

fn read(body: &str) -> Pulled {
    rest::read_pull(&reply(200, body.to_owned()), None).unwrap()
}

fn read_all(messages: &Value) -> Pulled {
    read(&json!({ "receivedMessages": messages }).to_string())
}

fn read_one(message: &Value) -> ReceivedMessage {
    let pulled = read_all(&json!([message]));
    assert!(pulled.unreadable.is_empty(), "{:?}", pulled.unreadable);
    pulled.messages.into_iter().next().unwrap()
}

fn with(message: Value) -> Value {
    let mut leased = json!({ "ackId": "a", "message": { "messageId": "1" } });
    let Value::Object(members) = message else {
        panic!("{message}");
    };
    for (name, value) in members {
        leased["message"][name] = value;
    }
    leased
}

#[test]
fn nothing_is_nothing_however_it_is_written() {
    for body in [
        "{}",
        "{\n}\n",
        r#"{"receivedMessages":[]}"#,
        r#"{"receivedMessages":null}"#,
        r#"{"other":[{"ackId":"a"}]}"#,
    ] {
        assert_eq!(read(body), Pulled::default(), "{body}");
    }
}

#[test]
fn what_is_absent_or_null_is_empty() {
    let bare = read_one(&with(json!({})));
    assert_eq!(bare.data, "");
    assert!(bare.attributes.is_empty());
    assert_eq!((&*bare.ordering_key, bare.publish_time), ("", 0));
    assert_eq!(bare.delivery_attempt, None);
    let nulls =
        json!({ "data": null, "attributes": null, "publishTime": null, "orderingKey": null });
    assert_eq!(read_one(&with(nulls)), bare);
    let empties = json!({ "data": "", "attributes": {}, "publishTime": "", "orderingKey": "" });
    assert_eq!(read_one(&with(empties)), bare);
    let mut leased = with(json!({ "unknown": { "x": [1] } }));
    leased["deliveryAttempt"] = Value::Null;
    leased["unknown"] = json!([{}]);
    assert_eq!(read_one(&leased), bare);
}

#[test]
fn data_is_base64_of_either_alphabet_padded_or_not() {
    for data in ["//v+4A==", "//v+4A", "__v-4A==", "__v-4A"] {
        assert_eq!(
            read_one(&with(json!({ "data": data }))).data,
            &b"\xFF\xFB\xFE\xE0"[..]
        );
    }
    // As JSON may write it.
    let escaped = r#"{"receivedMessages":[{"ackId":"\u0061","message":{"messageId":"1","data":"\/\/v+4A=="}}]}"#;
    let message = &read(escaped).messages[0];
    assert_eq!(message.data, &b"\xFF\xFB\xFE\xE0"[..]);
    assert_eq!(message.ack_id.as_str(), "a");
}

#[test]
fn attributes_are_sorted_and_the_last_of_a_name_counts() {
    let body = r#"{"receivedMessages":[{"ackId":"a","message":{"messageId":"1",
        "attributes":{"b":"1","a":"2","b":"3"}}}]}"#;
    let message = &read(body).messages[0];
    let attributes: Vec<_> = message.attributes.iter().collect();
    assert_eq!(attributes, [("a", "2"), ("b", "3")]);
}

#[test]
fn a_time_that_cannot_be_read_costs_no_message() {
    let time = |text: &str| read_one(&with(json!({ "publishTime": text }))).publish_time;
    assert_eq!(time("2026-11-30T13:00:47.953123456Z"), 1_796_043_647_953);
    assert_eq!(time("yesterday"), 0);
}

#[test]
fn attempts_are_numbers_from_one() {
    let attempt = |attempt: Value| {
        let mut leased = with(json!({}));
        leased["deliveryAttempt"] = attempt;
        read_one(&leased).delivery_attempt
    };
    assert_eq!(attempt(json!(5)), Some(5));
    // A 64-bit number would be text, so some server may write this one so.
    assert_eq!(attempt(json!("5")), Some(5));
    for none in [json!(0), json!(-1), json!(1.5), json!([]), json!(u64::MAX)] {
        assert_eq!(attempt(none), None);
    }
}

#[test]
fn one_that_cannot_be_read_is_named_and_spoils_no_other() {
    let unreadable = |ack_id: Option<&str>, message_id: Option<&str>, problem| {
        let id = |id: &str| MessageId::from_utf8(id).unwrap();
        (ack_id.map(AckId::from), message_id.map(id), problem)
    };
    let (none, leased) = (
        |problem| unreadable(None, None, problem),
        |problem| unreadable(Some("a"), None, problem),
    );
    let not_base64 = unreadable(Some("a"), Some("1"), UnreadableProblem::NotBase64);
    for (message, expected) in [
        (json!({}), none(UnreadableProblem::NoAckId)),
        (json!({ "ackId": "" }), none(UnreadableProblem::NoAckId)),
        (json!({ "ackId": 5 }), none(UnreadableProblem::Malformed)),
        (json!(7), none(UnreadableProblem::Malformed)),
        (json!(null), none(UnreadableProblem::Malformed)),
        (
            json!(["a", { "messageId": "1" }]),
            none(UnreadableProblem::Malformed),
        ),
        (
            json!({ "ackId": "a" }),
            leased(UnreadableProblem::NoMessageId),
        ),
        (
            with(json!({ "messageId": "" })),
            leased(UnreadableProblem::NoMessageId),
        ),
        (
            json!({ "ackId": "a", "message": [] }),
            leased(UnreadableProblem::Malformed),
        ),
        (
            with(json!({ "data": 5 })),
            leased(UnreadableProblem::Malformed),
        ),
        (
            with(json!({ "attributes": { "a": null } })),
            leased(UnreadableProblem::Malformed),
        ),
        (
            with(json!({ "attributes": { "a": 1 } })),
            leased(UnreadableProblem::Malformed),
        ),
        (with(json!({ "data": "é" })), not_base64.clone()),
        (with(json!({ "data": "//v-" })), not_base64.clone()),
        (with(json!({ "data": "a" })), not_base64),
    ] {
        let good = with(json!({ "data": "aGk=" }));
        let pulled = read_all(&json!([good, message, good]));
        assert_eq!(pulled.messages.len(), 2, "{message}");
        let [
            Unreadable {
                ack_id,
                message_id,
                problem,
                ..
            },
        ] = &pulled.unreadable[..]
        else {
            panic!("{message}: {:?}", pulled.unreadable);
        };
        assert_eq!(
            (ack_id.clone(), message_id.clone(), *problem),
            expected,
            "{message}"
        );
    }
}

/// A message that is kept long keeps itself, not the answer that it came in.
#[test]
fn a_message_has_a_buffer_of_its_own() {
    let messages: Vec<_> = (0..3)
        .map(|_| with(json!({ "data": "aGVsbG8=" })))
        .collect();
    let answer = reply(200, json!({ "receivedMessages": messages }).to_string());
    let pulled = rest::read_pull(&answer, None).unwrap();
    let body = answer.body.as_ptr_range();
    for message in &pulled.messages {
        assert!(!body.contains(&message.ack_id.as_str().as_ptr()));
        // The ack id, then the data: one after the other.
        let (ack_id, data) = (message.ack_id.as_str().as_bytes(), &message.data);
        assert_eq!(ack_id.as_ptr_range().end, data.as_ptr());
    }
    let first = pulled.messages[0].data.as_ptr();
    assert!(
        pulled.messages[1..]
            .iter()
            .all(|other| other.data.as_ptr() != first)
    );
}

#[test]
fn an_answer_made_to_fill_our_memory_is_not_told_message_by_message() {
    let messages = vec![json!(7); 2 * UNREADABLE_MAX];
    let pulled = read_all(&json!(messages));
    assert_eq!(pulled.unreadable.len(), UNREADABLE_MAX);
}
