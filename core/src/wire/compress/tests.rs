use std::io::Read as _;

use flate2::read::GzDecoder;
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::options::Compression;
use crate::wire::http_request;

fn options(wire: Wire, compression: Compression) -> PublisherOptions {
    let options = PublisherOptions::builder("proj", "hooks");
    let options = options.wire(wire).compression(compression);
    options.build().unwrap()
}

/// What flate2's own decoder makes of all of `bytes`.
fn decode(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    let mut decoder = GzDecoder::new(bytes);
    decoder.read_to_end(&mut plain).unwrap();
    assert!(decoder.into_inner().is_empty(), "something follows");
    plain
}

/// A body with the shape its wire gives it.
fn body_of(wire: Wire, message: &[u8]) -> Vec<u8> {
    let prefix: &[u8] = match wire {
        Wire::Rest => &[],
        Wire::Grpc => &crate::wire::grpc::frame::prefix(message.len()),
    };
    [prefix, message].concat()
}

/// What is in a body that was compressed whole: the body before.
fn undone(wire: Wire, compressed: &[u8]) -> Vec<u8> {
    match wire {
        Wire::Rest => decode(compressed),
        Wire::Grpc => {
            let (prefix, message) = compressed.split_at(5);
            let len = u32::try_from(message.len()).unwrap().to_be_bytes();
            assert_eq!(prefix, [&[1][..], &len].concat());
            body_of(wire, &decode(message))
        }
    }
}

fn random(len: usize) -> Vec<u8> {
    let mut chance = fastrand::Rng::with_seed(7);
    std::iter::repeat_with(|| chance.u8(..)).take(len).collect()
}

const WIRES: [Wire; 2] = [Wire::Rest, Wire::Grpc];

#[test]
fn a_body_of_just_the_threshold_is_left_alone_and_takes_no_buffer() {
    for wire in WIRES {
        let body = body_of(wire, &[b'x'; 5_000]);
        let at = |above| options(wire, Compression::gzip(above));
        let none = compress(&at(body.len()), &body, || panic!("a buffer is taken"));
        assert_eq!(none, None);
        let compressed = compress(&at(body.len() - 1), &body, Vec::new).unwrap();
        assert!(compressed.len() < 100, "{}", compressed.len());
        assert_eq!(undone(wire, &compressed), body);
        let off = options(wire, Compression::Off);
        let none = compress(&off, &body, || panic!("a buffer is taken"));
        assert_eq!(none, None);
    }
}

#[test]
fn what_gets_no_smaller_is_sent_as_it_was() {
    for wire in WIRES {
        for plain in [&b"x"[..], b"", &random(100), &random(300_000)] {
            let body = Bytes::from(body_of(wire, plain));
            let options = options(wire, Compression::gzip(0));
            let compressed = compress(&options, &body, Vec::new);
            if let Some(compressed) = &compressed {
                assert!(compressed.len() >= body.len());
            }
            let request = http_request(&options, body.clone(), compressed.as_ref(), None);
            assert_eq!(request.body(), &body);
            for name in ["content-encoding", "grpc-encoding"] {
                assert!(!request.headers().contains_key(name));
            }
        }
    }
}

#[test]
fn a_buffer_with_room_is_used_and_one_without_grows_no_further_than_the_body() {
    let options = options(Wire::Rest, Compression::gzip(0));
    let body = random(10_000).repeat(16);
    let mut used = vec![b'!'; 200_000];
    used.truncate(17);
    let at = used.as_ptr();
    let compressed = compress(&options, &body, || used).unwrap();
    assert_eq!(compressed.as_ptr(), at);
    assert_eq!(undone(Wire::Rest, &compressed), body);
    let fresh = compress(&options, &body, || Vec::with_capacity(3)).unwrap();
    assert_eq!(fresh, compressed);
    let buffer = crate::wire::take_buffer(fresh).unwrap();
    assert!(buffer.capacity() < body.len(), "{}", buffer.capacity());
}

proptest! {
    #[test]
    fn what_was_compressed_is_the_body_again(
        piece in vec(any::<u8>(), 0..200),
        times in 1..400_usize,
        level in 1..=9_u8,
        grpc in any::<bool>(),
        used in 0..5_000_usize,
    ) {
        let wire = if grpc { Wire::Grpc } else { Wire::Rest };
        let body = body_of(wire, &piece.repeat(times));
        let options = options(wire, Compression::Gzip { above: 0, level });
        let buffer = || vec![b'!'; used];
        if let Some(compressed) = compress(&options, &body, buffer)
            && compressed.len() < body.len()
        {
            prop_assert_eq!(undone(wire, &compressed), body);
        }
    }
}
