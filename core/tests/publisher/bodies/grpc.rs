//! A request over gRPC: its head, its bytes, and that prost reads what was given.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, TE};
use http::{Method, Version};
use proptest::prelude::*;
use prost::Message as _;
use pubsink_core::delivery::DeliveryContext;
use pubsink_core::limits::REQUEST_MAX_PROTOBUF_BYTES;
use pubsink_core::options::{PublisherOptions, Wire};
use pubsink_core::publish::{Admission, Input, Message, Publisher};
use pubsink_core::testing::SentMessage;
use pubsink_core::token::Token;
use pubsink_fixtures::exchanges;

use crate::pinned::{attributes, pin, samples};
use crate::properties::{admission, batches, next_request};
use crate::sim::answers::{Answer, TokenAnswer};
use crate::sim::messages::{message, request_of};
use crate::sim::{Recorded, Sim, options, origin, protobuf};

/// `google.pubsub.v1.PublishRequest`, for prost.
#[derive(Clone, PartialEq, prost::Message)]
struct PublishRequest {
    #[prost(string, tag = "1")]
    topic: String,
    #[prost(message, repeated, tag = "2")]
    messages: Vec<PubsubMessage>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct PubsubMessage {
    #[prost(bytes = "bytes", tag = "1")]
    data: Bytes,
    #[prost(btree_map = "string, string", tag = "2")]
    attributes: BTreeMap<String, String>,
    #[prost(string, tag = "3")]
    message_id: String,
    #[prost(bytes = "bytes", tag = "4")]
    publish_time: Bytes,
    #[prost(string, tag = "5")]
    ordering_key: String,
}

fn over_grpc() -> Arc<PublisherOptions> {
    options(|b| b.wire(Wire::Grpc))
}

fn encoded(options: &Arc<PublisherOptions>, batch: &[SentMessage]) -> Bytes {
    let admissions = batch.iter().map(|message| admission(message, options));
    request_of(options, admissions).encode().0.into_body()
}

/// What prost reads in a frame that has the right length.
fn decoded(frame: &Bytes) -> PublishRequest {
    let len = u32::from_be_bytes(frame[1..5].try_into().unwrap());
    assert_eq!((frame[0], len as usize), (0, frame.len() - 5));
    PublishRequest::decode(frame.slice(5..)).unwrap()
}

fn body(messages: impl IntoIterator<Item = Message>) -> String {
    let options = over_grpc();
    let admit = |message| Admission::message(message, &options).unwrap();
    let (http, _) = request_of(&options, messages.into_iter().map(admit)).encode();
    http.body().escape_ascii().to_string()
}

#[test]
fn its_head_is_that_of_a_unary_call() {
    let options = options(|b| {
        b.wire(Wire::Grpc)
            .endpoint("https://proxy.example/pubsub/")
            .timeout(std::time::Duration::from_millis(1_500))
    });
    let admission = Admission::message(message(1), &options).unwrap();
    let (request, _) = request_of(&options, [admission]).encode();
    assert_eq!(request.method(), Method::POST);
    assert_eq!(request.version(), Version::HTTP_2);
    let url = "https://proxy.example/pubsub/google.pubsub.v1.Publisher/Publish";
    assert_eq!(request.uri().to_string(), url);
    let headers = request.headers();
    assert_eq!(headers.len(), 4);
    assert_eq!(headers[CONTENT_TYPE], "application/grpc");
    assert_eq!(headers[TE], "trailers");
    assert_eq!(headers["grpc-timeout"], "1500m");
    let params = "topic=projects%2Fproj%2Ftopics%2Fhooks";
    assert_eq!(headers["x-goog-request-params"], params);
}

#[test]
fn a_token_is_a_bearer_marked_sensitive_and_a_fresh_one_sends_the_same_buffer() {
    let tokens =
        |refused: Option<&Token>| TokenAnswer::give(if refused.is_some() { "new" } else { "old" });
    let server = |_: &Recorded| Answer::error(401, "UNAUTHENTICATED");
    let mut sim = Sim::authorized(&over_grpc(), tokens, server);
    sim.admit_all(1..=3);
    sim.run();
    let [first, second] = sim.requests() else {
        panic!("{} requests", sim.requests().len());
    };
    assert_eq!(first.body().as_ptr(), second.body().as_ptr());
    for (request, token) in [(first, "Bearer old"), (second, "Bearer new")] {
        let header = &request.http.headers()[AUTHORIZATION];
        assert_eq!(header, token);
        assert!(header.is_sensitive());
    }
}

#[test]
fn fields_stand_in_order_and_empty_ones_are_left_out() {
    let whole = Message {
        data: "hello".into(),
        ordering_key: "k".into(),
        tenant: Some("never sent".into()),
        ..attributes(&[("b", ""), ("a", "1")])
    };
    let topic = r"\n\x1aprojects/proj/topics/hooks";
    let message = r"\n\x05hello\x12\x06\n\x01a\x12\x011\x12\x05\n\x01b\x12\x00*\x01k";
    let expected = format!(r"\x00\x00\x00\x007{topic}\x12\x19{message}");
    assert_eq!(body([whole]), expected);
    let expected = format!(r"\x00\x00\x00\x00!{topic}\x12\x03\n\x01x");
    assert_eq!(body([Message::new("x")]), expected);
}

#[test]
fn a_batch_is_one_frame() {
    let many: Vec<_> = (1..=12).map(message).collect();
    pin("wire_body_grpc_batch", &body(many));
}

#[test]
fn hooks_one_request_each_carry_the_bytes_they_carry_over_rest() {
    let (grpc, rest) = (over_grpc(), options(|b| b));
    let context = DeliveryContext::default();
    let mut bodies = String::new();
    for envelope in samples() {
        let send = |options: &Arc<PublisherOptions>| {
            let admission = Admission::hook(&envelope, &context, options).unwrap();
            request_of(options, [admission]).encode().0.into_body()
        };
        let frame = send(&grpc);
        let read = SentMessage::read_all(&send(&rest)).unwrap();
        assert_eq!(SentMessage::read_all_grpc(&frame).unwrap(), read);
        bodies += &frame.escape_ascii().to_string();
        bodies.push('\n');
    }
    pin("wire_body_grpc_hooks", &bodies);
}

#[test]
fn a_recorded_request_has_the_same_bytes() {
    let exchange = exchanges::named("grpc-publish").unwrap();
    let payload = exchange.request.unwrap().payload;
    let options = Arc::new(
        PublisherOptions::builder("proj-rpc", "events")
            .wire(Wire::Grpc)
            .build()
            .unwrap(),
    );
    let messages = [Message::new("a"), attributes(&[("a", "b")])];
    let admit = |message| Admission::message(message, &options).unwrap();
    let (http, _) = request_of(&options, messages.map(admit)).encode();
    assert_eq!(http.body()[..], payload.bytes()[..]);
}

#[test]
fn a_message_may_be_as_large_as_a_protobuf_request() {
    // The same over REST would be 13 MB of base64.
    let options = over_grpc();
    let around = protobuf::publish_request(options.topic_name(), &[]).len() + 1 + 4 + 1 + 4;
    let largest = REQUEST_MAX_PROTOBUF_BYTES - around;
    let admission = Admission::message(Message::new(vec![b'x'; largest]), &options).unwrap();
    let (http, _) = request_of(&options, [admission]).encode();
    assert_eq!(http.body().len(), 5 + REQUEST_MAX_PROTOBUF_BYTES);
    let failure = Admission::message(Message::new(vec![b'x'; largest + 1]), &options).unwrap_err();
    assert_eq!(failure.reason.kind(), "message_too_large");
    let over_rest = Admission::message(Message::new(vec![b'x'; largest]), &crate::sim::defaults());
    assert_eq!(over_rest.unwrap_err().reason.kind(), "message_too_large");
}

proptest! {
    #[test]
    fn prost_reads_exactly_what_was_given(batch in batches()) {
        let options = over_grpc();
        let frame = encoded(&options, &batch);
        let request = decoded(&frame);
        prop_assert_eq!(&request.topic, options.topic_name());
        prop_assert_eq!(request.messages.len(), batch.len());
        for (read, given) in request.messages.iter().zip(&batch) {
            prop_assert_eq!(&read.data, &given.data);
            prop_assert_eq!(&read.attributes, &given.attributes);
            prop_assert_eq!(&read.ordering_key, &given.ordering_key);
            prop_assert!(read.message_id.is_empty() && read.publish_time.is_empty());
        }
        prop_assert_eq!(&SentMessage::read_all_grpc(&frame).unwrap(), &batch);
        prop_assert_eq!(&frame, &protobuf::framed(&protobuf::publish_request(options.topic_name(), &batch)));
        // Without empty values, which prost leaves out of a map, prost writes the same.
        if batch.iter().all(|message| message.attributes.values().all(|value| !value.is_empty())) {
            prop_assert_eq!(&frame[5..], &request.encode_to_vec());
        }
    }

    #[test]
    fn every_part_of_a_bisected_frame_is_what_its_messages_alone_would_be(batch in batches()) {
        let options = options(|b| b.wire(Wire::Grpc).batch_max_inflight(1));
        let mut machine = Publisher::new(Arc::clone(&options), false, 1);
        for (tag, message) in batch.iter().enumerate() {
            let admission = admission(message, &options);
            machine.handle(origin(), Input::Admit { tag, admission }).unwrap();
        }
        machine.handle(origin(), Input::Close { deadline: None }).unwrap();
        let mut requests = 0;
        let refused = http::HeaderMap::from_iter([(
            http::HeaderName::from_static("grpc-status"),
            http::HeaderValue::from_static("3"),
        )]);
        while let Some(request) = next_request(&mut machine) {
            let (http, sent) = request.encode();
            let part = SentMessage::read_all_grpc(http.body()).unwrap();
            prop_assert_eq!(&encoded(&options, &part), http.body());
            requests += 1;
            let reply = crate::sim::answers::reply(200, "");
            let response = sent.answered_with(&reply, &refused);
            machine.handle(origin(), Input::Response(response)).unwrap();
        }
        prop_assert_eq!(requests, 2 * batch.len() - 1);
    }
}
