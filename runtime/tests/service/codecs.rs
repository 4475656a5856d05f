//! Messages that are not what their handler takes: what is said of them, and what becomes of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use proptest::prelude::*;
use pubsink_runtime::core::message::DecodeCode;
use pubsink_runtime::core::subscribe::{Backoff, ReceivedMessage, Settlement};
use pubsink_runtime::service::{
    Context, DecodeError, DecodeFailure, FromMessage, Hook, Json, ServiceEvent, handler,
};
use serde::Deserialize;

use crate::broker::{Broker, Script};
use crate::support::{Heard, message, run, serving};

fn read<T: FromMessage>(data: impl Into<Bytes>) -> Result<T, DecodeError> {
    T::from_message(&Context::new(message("1", data), "s"))
}

/// What is said of data that is no `T`.
fn said<T: FromMessage>(data: impl Into<Bytes>) -> String {
    match read::<T>(data) {
        Ok(_) => "nothing".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "only whether it can be read matters")]
struct Order {
    number: u32,
    kind: Option<Kind>,
    tags: Option<(u8, u8)>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Express,
    Slow,
}

#[derive(Debug, Deserialize)]
enum Never {}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Empty {}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
#[allow(dead_code, reason = "only whether it can be read matters")]
enum Either {
    Text(String),
    Number(u8),
}

#[test]
fn json_that_does_not_fit_is_told_by_what_was_expected_and_where() {
    for (data, expected) in [
        ("", "it ends too soon, at line 1 column 0"),
        ("{\"number\":", "it ends too soon, at line 1 column 10"),
        ("{\n  number: 1}", "the syntax is wrong at line 2 column 3"),
        ("{} {}", "field `number` is missing, at line 1 column 2"),
        ("{\"number\":1}x", "the syntax is wrong at line 1 column 13"),
        (
            "{\"number\":\"hunter2\"}",
            "a value is of the wrong type: expected u32, at line 1 column 19",
        ),
        (
            "{\"number\":4294967296}",
            "a value is out of range: expected u32, at line 1 column 20",
        ),
        (
            "{\"number\":1,\"number\":2}",
            "field `number` is there twice, at line 1 column 20",
        ),
        (
            "{\"number\":1,\"hunter2, expected hunter2\":2}",
            "there is a field that is not known: expected one of `number`, `kind`, `tags`, at line 1 column 39",
        ),
        (
            "{\"number\":1,\"kind\":\"hunter2\"}",
            "a value is none of the variants: expected `express` or `slow`, at line 1 column 28",
        ),
        (
            "{\"number\":1,\"tags\":[1]}",
            "a list is of the wrong length: expected a tuple of size 2, at line 1 column 22",
        ),
        (
            "{\"number\":\"x at line 1, expected hunter2 at line 1\"}",
            "a value is of the wrong type: expected u32, at line 1 column 51",
        ),
    ] {
        let expected = format!("the message is not JSON: {expected}");
        assert_eq!(said::<Json<Order>>(data), expected, "{data}");
    }
    let never = said::<Json<Never>>("\"x, expected hunter2\"");
    assert!(!never.contains("hunter2"), "{never}");
    let empty = said::<Json<Empty>>("{\"x, expected hunter2\":1}");
    assert!(!empty.contains("hunter2"), "{empty}");
    let either = said::<Json<Either>>("[\"hunter2\"]");
    assert!(
        either.contains("none of the variants") && !either.contains("hunter2"),
        "{either}"
    );
}

#[test]
fn text_has_to_be_utf_8() {
    assert_eq!(read::<String>("é").unwrap(), "é");
    let bad = said::<String>(b"ab\xFF".as_slice());
    assert_eq!(bad, "the message is not text: it is not UTF-8 at byte 2");
}

#[test]
fn a_hook_that_breaks_a_rule_names_it() {
    let error = read::<Hook>("{\"v\":1}").unwrap_err();
    assert_eq!(
        error.hook.map(|hook| hook.code),
        Some(DecodeCode::InvalidField)
    );
    assert_eq!(error.codec.as_str(), "a hook");
    let error = read::<Hook>("hunter2").unwrap_err();
    assert_eq!(
        error.hook.map(|hook| hook.code),
        Some(DecodeCode::InvalidJson)
    );
    assert!(!error.to_string().contains("hunter2"), "{error}");
}

proptest! {
    #[test]
    fn what_is_said_never_holds_a_part_of_the_body(
        before in "[ -~]{0,12}",
        after in "[ -~]{0,12}",
        place in 0usize..5,
    ) {
        let secret = format!("{before}hunter2{after}");
        let quoted = serde_json::to_string(&secret).unwrap();
        let body = match place {
            0 => format!("{{\"number\":{quoted}}}"),
            1 => format!("{{\"number\":1,{quoted}:1}}"),
            2 => format!("{{\"number\":1,\"kind\":{quoted}}}"),
            3 => format!("{{\"number\":1,\"kind\":{{{quoted}:1}}}}"),
            _ => secret,
        };
        for said in [
            said::<Json<Order>>(body.clone()),
            said::<Json<Kind>>(quoted.clone()),
            said::<Json<Never>>(quoted.clone()),
            said::<Json<Either>>(format!("[{quoted}]")),
            said::<Json<BTreeMap<u8, u8>>>(format!("{{{quoted}:1}}")),
            said::<Json<Empty>>(format!("{{{quoted}:1}}")),
            said::<Hook>(body),
        ] {
            prop_assert!(said != "nothing" && !said.contains("hunter2"), "{}", said);
        }
    }
}

/// A codec of one's own, whose data decides what it does.
struct Own;

impl FromMessage for Own {
    fn from_message(context: &Context) -> Result<Self, DecodeError> {
        match &context.data()[..] {
            b"good" => Ok(Self),
            b"bad" => Err(DecodeError::new("an own", "it is bad")),
            _ => panic!("what is this?"),
        }
    }
}

async fn take(_: Own) {}

fn poisoned() -> Vec<ReceivedMessage> {
    ["good", "bad", "ugly"]
        .map(|data| message(data, data))
        .into()
}

fn once() -> Broker {
    let script = Script {
        redelivers: false,
        ..Script::default()
    };
    Broker::new(script, poisoned())
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_is_retried_and_reported_and_harms_no_other() {
    let (broker, heard) = (once(), Heard::default());
    run(serving(&broker, take).on_event(heard.observer())).await;
    assert_eq!(broker.settlements("good"), [Settlement::Ack]);
    assert_eq!(broker.settlements("bad"), [Settlement::Retry]);
    assert_eq!(broker.settlements("ugly"), [Settlement::Retry]);
    let told = heard.all(|event| match event {
        ServiceEvent::DecodeFailed { context, error } => {
            Some((context.message_id().to_string(), error.to_string()))
        }
        ServiceEvent::Panicked { context, error } => {
            Some((context.message_id().to_string(), error.to_string()))
        }
        _ => None,
    });
    let expected = [
        ("bad", "the message is not an own: it is bad"),
        ("ugly", "what is this?"),
    ];
    let expected = expected.map(|(id, error)| (id.to_owned(), error.to_owned()));
    assert_eq!(told, expected);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_may_be_dropped_and_a_panic_is_no_such_thing() {
    let broker = once();
    let dropping = handler(take).on_decode_error(DecodeFailure::Drop);
    run(serving(&broker, dropping)).await;
    assert_eq!(broker.settlements("bad"), [Settlement::Drop]);
    assert_eq!(broker.settlements("ugly"), [Settlement::Retry]);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_goes_by_the_retry_policy() {
    let broker = once();
    let patient = handler(take).retry(Backoff {
        jitter_percent: 0,
        ..Backoff::default()
    });
    run(serving(&broker, patient)).await;
    let held = Settlement::RetryAfter(Duration::from_secs(1));
    assert_eq!(broker.settlements("bad"), [held]);
    assert_eq!(broker.settlements("ugly"), [held]);
}

#[test]
fn a_whole_message_needs_no_codec() {
    let whole = read::<Arc<ReceivedMessage>>("x").unwrap();
    assert_eq!(whole.data, "x");
}
