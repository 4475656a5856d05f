//! R25: what Pub/Sub would refuse is refused on entry, by name, and harms no neighbour.

use bytes::Bytes;
use pubsink_core::delivery::DeliveryContext;
use pubsink_core::envelope::Envelope;
use pubsink_core::envelope_line;
use pubsink_core::failure::{Class, Outcome};
use pubsink_core::publish::Message;
use pubsink_core::reason::{InvalidMessage, Reason};

use super::{all_delivered, failed, numbered};
use crate::harness::case::{BOTH, cases};
use crate::harness::env::Env;
use crate::harness::pull::decode;

cases! {
    Faults, "R25.1-3 a header that is not text fails its hook by name and no other" => odd_headers;
    Faults, "R25.4-8 a message past one of Pub/Sub's limits is named and costs no request" => past_limits, .publishes(BOTH);
    Faults, "R25.4-8 R25.10 a message at Pub/Sub's limits is stored" => at_limits, .publishes(BOTH);
    Faults, "R25.9 odd characters have one outcome each" => odd_characters, .publishes(BOTH);
}

fn with(name: &str, value: &str) -> Message {
    let mut message = Message::new("bad");
    message.attributes.insert(name.to_owned(), value.to_owned());
    message
}

fn with_count(count: usize) -> Message {
    let mut message = Message::new("bad");
    for number in 0..count {
        message.attributes.insert(format!("a{number}"), "v");
    }
    message
}

fn with_key(bytes: usize) -> Message {
    let mut message = Message::new("bad");
    message.ordering_key = "k".repeat(bytes);
    message
}

/// Ten good messages around a bad one: what became of the bad one.
async fn among_good(env: &Env, publisher: &pubsink_runtime::Publisher, bad: Message) -> Outcome {
    env.server().clear_log();
    let before = env.stored().len();
    let mut good: Vec<_> = numbered("good", 5)
        .into_iter()
        .map(|one| publisher.publish(one))
        .collect();
    let bad = publisher.publish(bad);
    good.extend(
        numbered("more", 5)
            .into_iter()
            .map(|one| publisher.publish(one)),
    );
    let bad = bad.await;
    all_delivered(&futures_util::future::join_all(good).await);
    if bad.is_err() {
        assert_eq!(env.stored().len() - before, 10);
        for request in env.server().log().publishes() {
            assert!(request.messages.iter().all(|message| message.data != "bad"));
            assert_eq!(request.status, Some(200));
        }
    }
    bad
}

async fn past_limits(env: Env) {
    let publisher = env.publisher(env.options());
    let long_name = "n".repeat(257);
    let blank = Message::default();
    let table = [
        (
            with(&long_name, "v"),
            InvalidMessage::AttributeNameTooLong {
                name: long_name.as_str().into(),
                size: 257,
                max: 256,
            },
        ),
        (
            with("umlauts", &"\u{e9}".repeat(513)),
            InvalidMessage::AttributeValueTooLong {
                name: "umlauts".into(),
                size: 1_026,
                max: 1_024,
            },
        ),
        (
            with_count(101),
            InvalidMessage::TooManyAttributes {
                count: 101,
                max: 100,
            },
        ),
        (with("", "v"), InvalidMessage::EmptyAttributeName),
        (
            with("google", "v"),
            InvalidMessage::ReservedAttributeName {
                name: "google".into(),
            },
        ),
        (
            with_key(1_025),
            InvalidMessage::OrderingKeyTooLong {
                size: 1_025,
                max: 1_024,
            },
        ),
        (blank, InvalidMessage::Blank),
    ];
    for (bad, problem) in table {
        let outcome = among_good(&env, &publisher, bad).await;
        let failure = failed(&outcome);
        assert_eq!(failure.class, Class::Permanent, "{problem}");
        assert_eq!(*failure.reason, Reason::InvalidMessage(problem));
        assert!(!failure.may_have_been_stored);
    }
}

async fn at_limits(env: Env) {
    let publisher = env.publisher(env.options());
    let fine = [
        with(&"n".repeat(256), "v"),
        with("umlauts", &"\u{e9}".repeat(512)),
        with_count(100),
        with_key(1_024),
        with("empty", ""),
    ];
    let count = fine.len();
    for message in fine {
        let outcome = among_good(&env, &publisher, message).await;
        assert!(outcome.is_ok(), "{outcome:?}");
    }
    let stored = env.stored();
    let fine: Vec<_> = stored
        .iter()
        .filter(|one| one.message.data == "bad")
        .collect();
    assert_eq!(fine.len(), count);
    assert!(fine.iter().any(|one| {
        one.message
            .attributes
            .get("empty")
            .is_some_and(String::is_empty)
    }));
    assert!(
        env.server()
            .log()
            .publishes()
            .iter()
            .all(|request| request.status == Some(200))
    );
}

async fn odd_characters(env: Env) {
    let publisher = env.publisher(env.options());
    for value in ["a\0b", "\u{ffff}", "\u{fffd}"] {
        let outcome = among_good(&env, &publisher, with("odd", value)).await;
        assert!(outcome.is_ok(), "{outcome:?}");
        let stored = env.stored();
        assert!(stored.iter().any(|one| {
            one.message
                .attributes
                .get("odd")
                .is_some_and(|odd| odd == value)
        }));
    }
    // Where text comes in as JSON, a lone surrogate is no text.
    let line = br#"{"id":"x","dedupe_key":"\ud800","body":""}"#;
    assert!(envelope_line::parse(line).is_err());
}

fn hook(id: &str, headers: &[(&str, &[u8])]) -> Envelope {
    let own = |(name, value): &(&str, &[u8])| ((*name).to_owned(), Bytes::copy_from_slice(value));
    Envelope {
        id: id.to_owned(),
        source_id: "tests".to_owned(),
        tenant_id: None,
        received_at: 1_764_500_000_000,
        method: "POST".to_owned(),
        path: "/".to_owned(),
        headers: headers.iter().map(own).collect(),
        content_type: None,
        body: Bytes::from_static(b"{}"),
        dedupe_key: None,
    }
}

async fn odd_headers(env: Env) {
    let publisher = env.publisher(env.options());
    let batched = DeliveryContext::batched();
    type Headers = &'static [(&'static str, &'static [u8])];
    let bad: [(Headers, &str); 3] = [
        (&[("X-Odd", b"\x61\xC5\x7A")], "x-odd"),
        (&[("X-Name", b"caf\xE9")], "x-name"),
        (&[("X-Twice", b"fine"), ("x-twice", b"\xFF")], "x-twice"),
    ];
    for (round, (headers, name)) in bad.into_iter().enumerate() {
        let good = |number: usize| {
            hook(
                &format!("good-{round}-{number}"),
                &[("X-Fine", "caf\u{e9}".as_bytes())],
            )
        };
        let mut deliveries: Vec<_> = (0..5)
            .map(|n| publisher.deliver(&good(n), &batched))
            .collect();
        let outcome = publisher.deliver(&hook("bad", headers), &batched);
        deliveries.extend((5..10).map(|n| publisher.deliver(&good(n), &batched)));
        let outcome = outcome.await;
        let failure = failed(&outcome);
        assert_eq!(failure.class, Class::Permanent);
        let problem = InvalidMessage::HeaderNotUtf8 { name: name.into() };
        assert_eq!(*failure.reason, Reason::InvalidMessage(problem));
        all_delivered(&futures_util::future::join_all(deliveries).await);
    }
    let stored = env.stored();
    assert_eq!(stored.len(), 30);
    for one in stored {
        assert_eq!(decode(&one.message.data).headers["x-fine"], "caf\u{e9}");
    }
}
