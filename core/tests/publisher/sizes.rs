//! Requests stay within what the service takes, counted as it counts: R07 of the collected
//! reports, and the bounds of each measure.

use bytes::Bytes;
use pubsink_core::attributes::Attributes;
use pubsink_core::failure::Class;
use pubsink_core::publish::{Admission, Message};
use pubsink_core::reason::{Reason, SizeLimit};
use pubsink_core::testing::SentMessage;

use crate::sim::answers::Answer;
use crate::sim::messages::{message, sized};
use crate::sim::{Sim, defaults, options, protobuf};

/// `count` attributes with names of `name` bytes and values of `value`.
fn attributes(count: usize, name: usize, value: &str) -> Attributes {
    let pairs = (0..count).map(|n| (format!("{n:0>name$}"), value.to_owned()));
    pairs.collect()
}

fn with(tag: u64, attributes: &Attributes) -> Message {
    Message {
        attributes: attributes.clone(),
        ..message(tag)
    }
}

fn run(messages: impl Iterator<Item = Message>) -> Sim {
    let mut sim = Sim::new(&options(|b| b.batch_queue_tenant(4_096)), |_| {
        Answer::stored()
    });
    for (tag, message) in (1..).zip(messages) {
        sim.admit(tag, message);
    }
    sim.run();
    sim.assert_quiescent();
    assert_eq!(sim.deliveries(), sim.settled().len());
    sim
}

#[test]
fn base64_counts_against_the_body() {
    // R07.1: 8,000,000 bytes of data are 10,666,680 as base64.
    let sim = run((1..=10).map(|tag| sized(tag, 800_000)));
    assert_eq!(sim.sent_counts(), [9, 1]);
}

#[test]
fn attributes_count_against_the_body() {
    // R07.2: 1,000 messages of 12 kB of attributes.
    let attributes = attributes(10, 200, &"v".repeat(1_000));
    let sim = run((1..=1_000).map(|tag| with(tag, &attributes)));
    // The protobuf limit is the nearer one here: a message is 12,088 bytes of it.
    assert_eq!(sim.sent_counts(), [826, 174]);
}

#[test]
fn json_escapes_count_against_the_body() {
    // R07.3: one byte is six in JSON.
    let attributes = attributes(6, 1, &"\u{1}".repeat(1_000));
    let sim = run((1..=300).map(|tag| with(tag, &attributes)));
    assert_eq!(sim.sent_counts(), [290, 10]);
    let next = sim.requests()[0].body().len() + sim.requests()[1].body().len() / 10;
    assert!(next > 10_485_760, "one more would have fitted");
}

#[test]
fn a_request_has_at_most_1000_messages() {
    // R07.4
    let sim = run((1..=2_500).map(|tag| sized(tag, 10)));
    assert_eq!(sim.sent_counts(), [1_000, 1_000, 500]);
    assert_eq!(sim.sent_at(), [0, 0, 20]);
}

#[test]
fn a_message_too_large_for_any_request_costs_no_request_and_harms_no_other() {
    // R07.5
    let options = defaults();
    let large = Message::new(Bytes::from(vec![0; 7_900_000]));
    let failure = Admission::message(large, &options).unwrap_err();
    assert_eq!(failure.class, Class::Permanent);
    let expected = Reason::MessageTooLarge {
        size: 26 + 10_533_336,
        max: 10_485_760,
        limit: SizeLimit::RequestBody,
    };
    assert_eq!(*failure.reason, expected);
    let sim = run((1..=50).map(message));
    assert_eq!(sim.sent_counts(), [50]);
}

/// 100 attributes whose values have `text` bytes in all.
fn filler(text: usize) -> Attributes {
    let value = |n: usize| "v".repeat(text / 100 + usize::from(n < text % 100));
    (0..100).map(|n| (format!("{n:02}"), value(n))).collect()
}

/// How many bytes of filler bring `size` to exactly `target`.
fn fill_up_to(target: usize, size: impl Fn(usize) -> usize) -> usize {
    let mut text = 50_000;
    for _ in 0..10 {
        text = text + target - size(text);
    }
    assert_eq!(size(text), target);
    text
}

#[test]
fn a_body_may_be_as_large_as_the_service_takes_and_not_a_byte_larger() {
    // 9.9 MB of base64, and 480 kB of attributes in which a byte is six.
    let pair = |text: usize| {
        let escapes = attributes(100, 2, &"\u{1}".repeat(820));
        let first = Message {
            attributes: escapes,
            ..sized(1, 7_420_000)
        };
        [first, with(2, &filler(text))]
    };
    let body = |text: usize| {
        let messages: Vec<_> = pair(text).iter().map(as_json).collect();
        serde_json::json!({ "messages": messages })
            .to_string()
            .len()
    };
    let text = fill_up_to(10_485_760, body);
    let full = run(pair(text).into_iter());
    assert_eq!(full.sent_counts(), [2]);
    assert_eq!(full.requests()[0].body().len(), 10_485_760);
    assert_eq!(run(pair(text + 1).into_iter()).sent_counts(), [1, 1]);
}

/// A message as JSON, made without the code under test.
fn as_json(message: &Message) -> serde_json::Value {
    let attributes: std::collections::BTreeMap<_, _> = message.attributes.iter().collect();
    serde_json::json!({
        "data": "=".repeat(message.data.len().div_ceil(3) * 4),
        "attributes": attributes,
    })
}

#[test]
fn the_protobuf_of_a_request_may_be_as_large_as_the_service_takes_and_not_a_byte_larger() {
    // Attributes are hardly larger in JSON than in protobuf, so with them this limit is nearer.
    let messages = |text: usize| {
        let large = attributes(100, 10, &"v".repeat(1_024));
        let large = (1..=95).map(move |tag| with(tag, &large));
        large.chain(std::iter::once(with(96, &filler(text))))
    };
    let protobuf = |text: usize| {
        let decoded: Vec<_> = messages(text).map(decoded).collect();
        protobuf::publish_request("projects/proj/topics/hooks", &decoded).len()
    };
    let text = fill_up_to(10_000_000, protobuf);
    let full = run(messages(text));
    assert_eq!(full.sent_counts(), [96]);
    assert!(full.requests()[0].body().len() < 10_485_760);
    assert_eq!(run(messages(text + 1)).sent_counts(), [95, 1]);
}

fn decoded(message: Message) -> SentMessage {
    let attributes = message.attributes.iter();
    SentMessage {
        data: message.data.clone(),
        attributes: attributes
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        ordering_key: message.ordering_key,
    }
}
