//! Compressed requests, as they leave: their heads, their bytes, their parts, their buffers.

use std::io::Read as _;
use std::sync::Arc;

use bytes::Bytes;
use flate2::read::GzDecoder;
use http::{HeaderMap, Request};
use proptest::prelude::*;
use pubsink_core::options::{Compression, PublisherOptions, Wire};
use pubsink_core::publish::{Admission, Input, Message, Publisher, Response, Sent};
use pubsink_core::testing::SentMessage;

use crate::pinned::pin;
use crate::properties::{admission, batches, next_request};
use crate::sim::answers::{error, ids, reply};
use crate::sim::messages::{request_of, sized};
use crate::sim::{options, origin};

const WIRES: [Wire; 2] = [Wire::Rest, Wire::Grpc];

fn gzip(wire: Wire, above: usize) -> Arc<PublisherOptions> {
    options(|b| b.wire(wire).compression(Compression::gzip(above)))
}

/// The request of one message.
fn request(options: &Arc<PublisherOptions>, message: Message) -> (Request<Bytes>, Sent) {
    let admission = Admission::message(message, options).unwrap();
    request_of(options, [admission]).encode()
}

/// The body as it was, of a request that may be compressed.
fn plain(wire: Wire, request: &Request<Bytes>) -> Bytes {
    let decode = |bytes: &[u8]| {
        let mut plain = Vec::new();
        GzDecoder::new(bytes).read_to_end(&mut plain).unwrap();
        plain
    };
    let (headers, body) = (request.headers(), request.body());
    match wire {
        Wire::Rest if headers.contains_key("content-encoding") => decode(body).into(),
        Wire::Grpc if headers.contains_key("grpc-encoding") => {
            let message = decode(&body[5..]);
            let len = u32::try_from(message.len()).unwrap().to_be_bytes();
            [&[0][..], &len, &message].concat().into()
        }
        Wire::Rest | Wire::Grpc => body.clone(),
    }
}

fn head(request: &Request<Bytes>) -> String {
    let fields = request.headers().iter();
    let lines = fields.map(|(name, value)| format!("{name}: {}\n", value.to_str().unwrap()));
    let mut lines: Vec<_> = lines.collect();
    lines.sort();
    let (method, version) = (request.method(), request.version());
    format!("{method} {} {version:?}\n{}", request.uri(), lines.concat())
}

#[test]
fn heads_say_so_and_ask_for_nothing_compressed_back() {
    let mut heads = String::new();
    for wire in WIRES {
        for above in [0, 10_000] {
            let (request, _) = request(&gzip(wire, above), sized(1, 2_000));
            heads += &format!("{wire:?}, above {above}: {}\n", head(&request));
        }
    }
    assert!(!heads.contains("accept-encoding"));
    pin("wire_head_gzip", &heads);
}

#[test]
fn a_body_of_the_threshold_or_less_leaves_byte_for_byte_as_without() {
    for wire in WIRES {
        let (off, _) = request(&options(|b| b.wire(wire)), sized(1, 2_000));
        let len = off.body().len();
        let (at, _) = request(&gzip(wire, len), sized(1, 2_000));
        assert_eq!((at.body(), head(&at)), (off.body(), head(&off)));
        let (over, _) = request(&gzip(wire, len - 1), sized(1, 2_000));
        assert!(over.body().len() < 200, "{}", over.body().len());
        assert_eq!(&plain(wire, &over), off.body());
    }
}

#[test]
fn a_frame_says_that_its_message_is_compressed_and_how_long_that_is() {
    let (request, _) = request(&gzip(Wire::Grpc, 0), sized(1, 2_000));
    let (prefix, message) = request.body().split_at(5);
    let len = u32::try_from(message.len()).unwrap().to_be_bytes();
    assert_eq!(prefix, [&[1][..], &len].concat());
    assert!(message.starts_with(&[0x1F, 0x8B]), "gzip's magic");
}

#[test]
fn a_size_limit_is_that_of_the_body_before() {
    let message = || Message::new(vec![b'x'; 7_900_000]);
    let with = Admission::message(message(), &gzip(Wire::Rest, 0)).unwrap_err();
    let without = Admission::message(message(), &options(|b| b)).unwrap_err();
    assert_eq!(with, without);
}

/// A request of 2,000 bytes, answered; what it left of its buffers.
fn buffers(wire: Wire, answer: impl FnOnce(Sent) -> Response) -> Vec<usize> {
    let options = gzip(wire, 0);
    let admission = Admission::message(sized(1, 2_000), &options).unwrap();
    let mut given = 0;
    let buffer = || {
        given += 1;
        Vec::with_capacity(if given == 1 { 8_000 } else { 5_000 })
    };
    let (request, sent) = request_of(&options, [admission]).encode_with(buffer);
    assert_eq!(given, 2);
    drop(request);
    let mut response = answer(sent);
    std::iter::from_fn(|| response.take_buffer())
        .map(|buffer| {
            assert!(buffer.is_empty());
            buffer.capacity()
        })
        .collect()
}

#[test]
fn both_buffers_come_back_from_what_was_stored_the_larger_last() {
    let stored = |sent: Sent| sent.answered(&ids(["1"].into_iter()));
    assert_eq!(buffers(Wire::Rest, stored), [5_000, 8_000]);
    let ok = HeaderMap::from_iter([(
        http::HeaderName::from_static("grpc-status"),
        http::HeaderValue::from_static("0"),
    )]);
    let stored = |sent: Sent| sent.answered_with(&reply(200, &b"\0\0\0\0\x03\x0A\x011"[..]), &ok);
    assert_eq!(buffers(Wire::Grpc, stored), [5_000, 8_000]);
    let refused = |sent: Sent| sent.answered(&error(400, "INVALID_ARGUMENT"));
    assert!(buffers(Wire::Rest, refused).is_empty());
}

#[test]
fn a_buffer_that_the_client_still_has_is_not_taken() {
    let options = gzip(Wire::Rest, 0);
    let admission = Admission::message(sized(1, 2_000), &options).unwrap();
    let (request, sent) = request_of(&options, [admission]).encode();
    let mut response = sent.answered(&ids(["1"].into_iter()));
    let plain = response.take_buffer().unwrap();
    assert!(plain.capacity() > 2_000, "{}", plain.capacity());
    assert_eq!(response.take_buffer(), None);
    assert!(!request.body().is_empty());
}

proptest! {
    #[test]
    fn what_is_compressed_is_what_would_have_been_sent(batch in batches(), grpc in any::<bool>()) {
        let wire = if grpc { Wire::Grpc } else { Wire::Rest };
        let encoded = |options: &Arc<PublisherOptions>| {
            let admissions = batch.iter().map(|message| admission(message, options));
            request_of(options, admissions).encode().0
        };
        let (off, on) = (encoded(&options(|b| b.wire(wire))), encoded(&gzip(wire, 0)));
        prop_assert_eq!(&plain(wire, &on), off.body());
        prop_assert!(on.body().len() <= off.body().len());
        let says = |name: &str| on.headers().contains_key(name);
        prop_assert_eq!(
            says("content-encoding") || says("grpc-encoding"),
            on.body().len() < off.body().len()
        );
    }

    #[test]
    fn every_part_of_a_bisected_request_is_compressed_anew(batch in batches()) {
        let options = options(|b| b.batch_max_inflight(1).compression(Compression::gzip(0)));
        let mut machine = Publisher::new(Arc::clone(&options), false, 1);
        for (tag, message) in batch.iter().enumerate() {
            let admission = admission(message, &options);
            machine.handle(origin(), Input::Admit { tag, admission }).unwrap();
        }
        machine.handle(origin(), Input::Close { deadline: None }).unwrap();
        let (mut requests, mut alone) = (0, Vec::new());
        while let Some(request) = next_request(&mut machine) {
            let (http, sent) = request.encode();
            let part = SentMessage::read_all(&plain(Wire::Rest, &http)).unwrap();
            if let [message] = &part[..] {
                alone.push(message.clone());
            }
            requests += 1;
            let response = sent.answered(&error(400, "INVALID_ARGUMENT"));
            machine.handle(origin(), Input::Response(response)).unwrap();
        }
        prop_assert_eq!(requests, 2 * batch.len() - 1);
        prop_assert_eq!(alone, batch);
    }
}
