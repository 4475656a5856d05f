//! Bodies, byte by byte.

use pubsink_core::delivery::DeliveryContext;
use pubsink_core::envelope_line;
use pubsink_core::publish::{Admission, Message};
use pubsink_core::testing::SentMessage;
use pubsink_fixtures::hooks::sample_ndjson;

use crate::sim::messages::{message, request_of};
use crate::sim::{Sim, defaults};

pub(crate) fn pin(name: &str, body: &str) {
    insta::with_settings!(
        { snapshot_path => "../../snapshots", prepend_module_to_snapshot => false, omit_expression => true },
        { insta::assert_snapshot!(name, body) }
    );
}

fn body(messages: impl IntoIterator<Item = Message>) -> String {
    let options = defaults();
    let admit = |message| Admission::message(message, &options).unwrap();
    let (http, _) = request_of(&options, messages.into_iter().map(admit)).encode();
    String::from_utf8(http.into_body().to_vec()).unwrap()
}

pub(crate) fn attributes(pairs: &[(&'static str, &'static str)]) -> Message {
    Message {
        attributes: pairs.iter().copied().collect(),
        ..Message::default()
    }
}

#[test]
fn data_alone() {
    assert_eq!(
        body([Message::new("hello")]),
        r#"{"messages":[{"data":"aGVsbG8="}]}"#
    );
    assert_eq!(
        body([Message::new("x")]),
        r#"{"messages":[{"data":"eA=="}]}"#
    );
    let binary = Message::new(vec![0x00, 0xFF, 0xFE, 0xFB, 0xEF, 0xBE, 0x80]);
    // The standard alphabet: + and /, with padding.
    assert_eq!(body([binary]), r#"{"messages":[{"data":"AP/+++++gA=="}]}"#);
}

#[test]
fn attributes_alone_sorted_by_name() {
    let message = attributes(&[("b", "2"), ("a", "1"), ("B", ""), ("aa", "3")]);
    let expected = r#"{"messages":[{"attributes":{"B":"","a":"1","aa":"3","b":"2"}}]}"#;
    assert_eq!(body([message]), expected);
}

#[test]
fn data_attributes_and_ordering_key_in_this_order() {
    let message = Message {
        data: "hello".into(),
        ordering_key: "k/\"é".into(),
        tenant: Some("never sent".into()),
        ..attributes(&[("a", "1")])
    };
    let expected =
        r#"{"messages":[{"data":"aGVsbG8=","attributes":{"a":"1"},"orderingKey":"k/\"é"}]}"#;
    assert_eq!(body([message]), expected);
}

#[test]
fn escapes_are_the_shortest_and_other_characters_stand_for_themselves() {
    let message = attributes(&[
        ("quotes\"\\/", "\u{8}\u{9}\n\u{c}\r"),
        ("controls", "\u{0}\u{1}\u{b}\u{1f}\u{7f}"),
        ("unicode", "é ☃ 😀 \u{FFFF} \u{2028}"),
        ("html", "<a href='x'>&amp;</a>"),
    ]);
    pin("wire_body_escapes", &body([message]));
}

#[test]
fn several_messages_are_parted_by_commas() {
    let expected = r#"{"messages":[{"data":"MQ=="},{"attributes":{"a":"1"}}]}"#;
    assert_eq!(body([message(1), attributes(&[("a", "1")])]), expected);
    let many: Vec<_> = (1..=12).map(message).collect();
    pin("wire_body_batch", &body(many));
}

pub(crate) fn samples() -> impl Iterator<Item = pubsink_core::envelope::Envelope> {
    sample_ndjson().lines().map(|line| {
        let line = envelope_line::parse(line.as_bytes()).unwrap();
        line.into_envelope(|| panic!("every sample has an id"), 0)
    })
}

#[test]
fn hooks_one_request_each() {
    let (options, context) = (defaults(), DeliveryContext::default());
    let mut bodies = String::new();
    for envelope in samples() {
        let admission = Admission::hook(&envelope, &context, &options).unwrap();
        let (http, _) = request_of(&options, [admission]).encode();
        bodies += std::str::from_utf8(http.body()).unwrap();
        bodies.push('\n');
    }
    pin("wire_body_hooks", &bodies);
}

#[test]
fn hooks_have_the_same_bytes_from_every_path() {
    let options = defaults();
    let (batched, direct) = (DeliveryContext::batched(), DeliveryContext::default());
    let admit = |context: &DeliveryContext| -> Vec<_> {
        samples()
            .map(|hook| Admission::hook(&hook, context, &options).unwrap())
            .collect()
    };
    let (batch, _) = request_of(&options, admit(&batched)).encode();
    let batch = SentMessage::read_all(batch.body()).unwrap();
    let mut alone = Vec::new();
    for admission in admit(&direct) {
        let (http, _) = request_of(&options, [admission]).encode();
        alone.extend(SentMessage::read_all(http.body()).unwrap());
    }
    // In the batch they stand in turns between tenants.
    let sorted = |mut messages: Vec<SentMessage>| {
        messages.sort_by(|a, b| a.data.cmp(&b.data));
        messages
    };
    assert_eq!(sorted(batch), sorted(alone));
}

#[test]
fn a_request_is_encoded_anew_for_nobody() {
    // The same request twice, with a fresh token, is the same buffer.
    let tokens = |refused: Option<&_>| {
        crate::sim::answers::TokenAnswer::give(if refused.is_some() { "new" } else { "old" })
    };
    let server =
        |_: &crate::sim::Recorded| crate::sim::answers::Answer::error(401, "UNAUTHENTICATED");
    let mut sim = Sim::authorized(&defaults(), tokens, server);
    sim.admit_all(1..=3);
    sim.run();
    let [first, second] = sim.requests() else {
        panic!("{} requests", sim.requests().len());
    };
    assert_eq!(first.body().as_ptr(), second.body().as_ptr());
}
