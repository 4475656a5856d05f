//! Whatever the messages: what arrives is what was given, and every size was counted right.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use pubsink_core::options::PublisherOptions;
use pubsink_core::publish::{Admission, Input, Message, Output, PublishRequest, Publisher, Step};
use pubsink_core::testing::SentMessage;

use crate::sim::answers::error;
use crate::sim::messages::request_of;
use crate::sim::{defaults, options, origin, protobuf};

fn texts() -> impl Strategy<Value = String> {
    prop_oneof!["(?s).{0,20}", "[\\x00-\\x1F\"\\\\/é😀]{0,60}", "a{0,200}"]
}

fn messages() -> impl Strategy<Value = SentMessage> {
    let names = texts().prop_filter("a name Pub/Sub takes", |name| {
        (1..=256).contains(&name.len()) && !name.starts_with("goog")
    });
    (vec(any::<u8>(), 0..300), btree_map(names, texts(), 0..6)).prop_map(
        |(data, attributes): (Vec<u8>, BTreeMap<_, _>)| SentMessage {
            data: if data.is_empty() && attributes.is_empty() {
                "7".into()
            } else {
                data.into()
            },
            attributes,
            ordering_key: String::new(),
        },
    )
}

/// Messages of one request, which share their ordering key.
pub(crate) fn batches() -> impl Strategy<Value = Vec<SentMessage>> {
    (vec(messages(), 1..12), texts()).prop_map(|(mut batch, key)| {
        for message in &mut batch {
            message.ordering_key.clone_from(&key);
        }
        batch
    })
}

pub(crate) fn admission(message: &SentMessage, options: &PublisherOptions) -> Admission {
    let message = Message {
        data: message.data.clone(),
        attributes: message.attributes.clone().into_iter().collect(),
        ordering_key: message.ordering_key.clone(),
        tenant: None,
    };
    Admission::message(message, options).unwrap()
}

fn encoded(batch: &[SentMessage]) -> bytes::Bytes {
    let options = defaults();
    let admissions = batch.iter().map(|message| admission(message, &options));
    request_of(&options, admissions).encode().0.into_body()
}

/// The sizes an admission counted: data, message, json, protobuf. They are private, so that they
/// can change; its `Debug` shows them.
fn counted(message: &SentMessage) -> [usize; 4] {
    let text = format!("{:?}", admission(message, &defaults()));
    let sizes = text.rsplit("sizes: Sizes {").next().unwrap();
    ["data: ", "message: ", "json: ", "protobuf: "].map(|name| {
        let digits = sizes.split(name).nth(1).unwrap();
        digits
            .split(|c: char| !c.is_ascii_digit())
            .next()
            .unwrap()
            .parse()
            .unwrap()
    })
}

proptest! {
    #[test]
    fn a_body_decodes_to_exactly_what_was_given(batch in batches()) {
        let body = encoded(&batch);
        prop_assert_eq!(SentMessage::read_all(&body).unwrap(), batch);
        let compact: serde_json::Value = serde_json::from_slice(&body).unwrap();
        prop_assert_eq!(compact.to_string().len(), body.len());
    }

    #[test]
    fn a_bodys_length_is_what_its_admissions_counted(batch in batches()) {
        let counts: Vec<_> = batch.iter().map(counted).collect();
        // Each is counted with the comma after it, which the last one does not have.
        let json: usize = counts.iter().map(|[_, _, json, _]| json).sum();
        prop_assert_eq!(encoded(&batch).len(), r#"{"messages":[]}"#.len() + json - 1);
        for (message, [data, size, ..]) in batch.iter().zip(counts) {
            prop_assert_eq!(data, message.data.len());
            let attributes = message.attributes.iter();
            let texts: usize = attributes.map(|(name, value)| name.len() + value.len()).sum();
            prop_assert_eq!(size, data + texts + message.ordering_key.len());
        }
    }

    #[test]
    fn the_protobuf_counted_is_the_protobuf_of_an_independent_encoder(batch in batches()) {
        let topic = defaults().topic_name().to_owned();
        let counted: usize = batch.iter().map(|message| counted(message)[3]).sum();
        let empty = protobuf::publish_request(&topic, &[]).len();
        prop_assert_eq!(counted, protobuf::publish_request(&topic, &batch).len() - empty);
    }

    #[test]
    fn every_part_of_a_bisected_request_is_what_its_messages_alone_would_be(batch in batches()) {
        let options = options(|b| b.batch_max_inflight(1));
        let mut machine = Publisher::new(Arc::clone(&options), false, 1);
        for (tag, message) in batch.iter().enumerate() {
            let admission = admission(message, &options);
            machine.handle(origin(), Input::Admit { tag, admission }).unwrap();
        }
        machine.handle(origin(), Input::Close { deadline: None }).unwrap();
        let mut requests = 0;
        while let Some(request) = next_request(&mut machine) {
            let (http, sent) = request.encode();
            let part = SentMessage::read_all(http.body()).unwrap();
            prop_assert_eq!(&encoded(&part), http.body());
            requests += 1;
            let response = sent.answered(&error(400, "INVALID_ARGUMENT"));
            machine.handle(origin(), Input::Response(response)).unwrap();
        }
        prop_assert_eq!(requests, 2 * batch.len() - 1);
    }
}

pub(crate) fn next_request(machine: &mut Publisher<usize>) -> Option<PublishRequest> {
    loop {
        match machine.poll(origin()) {
            Step::Do(Output::Send(request)) => return Some(request),
            Step::Do(_) => {}
            Step::Wait(..) => return None,
        }
    }
}
