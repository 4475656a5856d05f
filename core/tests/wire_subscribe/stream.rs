//! The responses of a stream.

use bytes::{Bytes, BytesMut};
use prost::Message as _;
use pubsink_core::subscribe::{AckId, StreamAnswer};
use pubsink_core::wire::grpc::{FrameReader, MESSAGE_MAX_BYTES, write_frame};
use pubsink_core::wire::subscribe::{Streamed, UnreadableProblem, grpc};

use crate::oracle;

/// A field of bytes.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    assert!(bytes.len() < 128);
    [
        &[number << 3 | 2, u8::try_from(bytes.len()).unwrap()],
        bytes,
    ]
    .concat()
}

/// A response with `messages` as they are.
fn response(messages: &[Vec<u8>]) -> Streamed {
    let messages: Vec<_> = messages.iter().map(|message| field(1, message)).collect();
    grpc::read_stream_message(messages.concat().into()).unwrap()
}

fn leased(message: &[Vec<u8>]) -> Vec<u8> {
    [field(1, b"a"), field(2, &message.concat())].concat()
}

#[test]
fn ack_ids_and_data_are_slices_of_the_chunk() {
    let message = |number: usize| oracle::ReceivedMessage {
        ack_id: format!("ack-{number}"),
        message: Some(oracle::PubsubMessage {
            data: vec![7; 1_000],
            message_id: format!("{number}"),
            attributes: [("name".to_owned(), "value".to_owned())].into(),
            ..Default::default()
        }),
        delivery_attempt: 1,
    };
    let sent = oracle::StreamingPullResponse {
        received_messages: (0..3).map(message).collect(),
        acknowledge_confirmation: Some(oracle::AcknowledgeConfirmation {
            ack_ids: vec!["ack-9".to_owned()],
            ..Default::default()
        }),
        ..Default::default()
    };
    let mut chunk = BytesMut::new();
    write_frame(&mut chunk, |out| sent.encode(out).unwrap()).unwrap();
    let chunk = chunk.freeze();
    let within = |bytes: &[u8]| {
        let (chunk, bytes) = (chunk.as_ptr_range(), bytes.as_ptr_range());
        chunk.start <= bytes.start && bytes.end <= chunk.end
    };
    let mut reader = FrameReader::new(MESSAGE_MAX_BYTES);
    let message = reader.next_message(&mut chunk.clone()).unwrap().unwrap();
    let answer = grpc::read_stream_message(message).unwrap().answer;
    assert_eq!(answer.messages.len(), 3);
    for message in &answer.messages {
        assert_eq!(message.data, vec![7; 1_000]);
        assert!(within(&message.data));
        assert!(within(message.ack_id.as_str().as_bytes()));
        // An id that is kept keeps nothing else.
        assert!(!within(message.message_id.as_str().as_bytes()));
    }
    assert!(within(answer.acks.ok[0].as_str().as_bytes()));
}

#[test]
fn the_ack_id_of_a_large_message_does_not_keep_the_response() {
    for (size, keeps) in [(100, true), (16 * 1024, false)] {
        let sent = oracle::StreamingPullResponse {
            received_messages: vec![oracle::ReceivedMessage {
                ack_id: "ack".repeat(60),
                message: Some(oracle::PubsubMessage {
                    data: vec![7; size],
                    message_id: "1".to_owned(),
                    ..Default::default()
                }),
                delivery_attempt: 1,
            }],
            ..Default::default()
        };
        let response = Bytes::from(sent.encode_to_vec());
        let answer = grpc::read_stream_message(response.clone()).unwrap().answer;
        let ack_id = answer.messages[0].ack_id.clone();
        drop(answer);
        assert_eq!(response.is_unique(), !keeps);
        assert_eq!(ack_id.as_str(), "ack".repeat(60));
    }
}

#[test]
fn a_heartbeat_is_an_answer_without_anything() {
    let streamed = grpc::read_stream_message(Bytes::new()).unwrap();
    assert_eq!(streamed.answer, StreamAnswer::default());
    assert!(streamed.unreadable.is_empty());
}

#[test]
fn properties_are_told_where_they_are_there() {
    let read = |properties| {
        let response = oracle::StreamingPullResponse {
            subscription_properties: properties,
            ..Default::default()
        };
        let answer = grpc::read_stream_message(response.encode_to_vec().into())
            .unwrap()
            .answer;
        (answer.exactly_once, answer.ordered)
    };
    assert_eq!(read(None), (None, None));
    for (exactly_once_delivery_enabled, message_ordering_enabled) in [(false, true), (true, false)]
    {
        let properties = oracle::SubscriptionProperties {
            exactly_once_delivery_enabled,
            message_ordering_enabled,
        };
        let told = (
            Some(exactly_once_delivery_enabled),
            Some(message_ordering_enabled),
        );
        assert_eq!(read(Some(properties)), told);
    }
}

#[test]
fn one_that_cannot_be_read_is_named_and_spoils_no_other() {
    let good = leased(&[field(3, b"1")]);
    let bad = b"\xFF";
    let attribute =
        |name: &[u8], value: &[u8]| field(2, &[field(1, name), field(2, value)].concat());
    let not_utf8 = UnreadableProblem::NotUtf8;
    for (message, ack_id, message_id, problem) in [
        (vec![], None, None, UnreadableProblem::NoAckId),
        (
            b"\x0A\x05a".to_vec(),
            None,
            None,
            UnreadableProblem::Malformed,
        ),
        (field(1, bad), None, None, not_utf8("ack id")),
        (
            field(1, b"a"),
            Some("a"),
            None,
            UnreadableProblem::NoMessageId,
        ),
        (
            leased(&[vec![0x0A, 9]]),
            Some("a"),
            None,
            UnreadableProblem::Malformed,
        ),
        (leased(&[field(3, bad)]), Some("a"), None, not_utf8("id")),
        (
            leased(&[field(3, b"1"), attribute(bad, b"v")]),
            Some("a"),
            Some("1"),
            not_utf8("attribute name"),
        ),
        (
            leased(&[field(3, b"1"), attribute(b"n", bad)]),
            Some("a"),
            Some("1"),
            not_utf8("attribute"),
        ),
        (
            leased(&[field(3, b"1"), field(5, bad)]),
            Some("a"),
            Some("1"),
            not_utf8("ordering key"),
        ),
    ] {
        let streamed = response(&[good.clone(), message, good.clone()]);
        assert_eq!(streamed.answer.messages.len(), 2);
        let [unreadable] = &streamed.unreadable[..] else {
            panic!("{:?}", streamed.unreadable);
        };
        assert_eq!(unreadable.problem, problem);
        assert_eq!(unreadable.ack_id, ack_id.map(AckId::from));
        let id = unreadable.message_id.as_ref().map(|id| id.as_str());
        assert_eq!(id, message_id);
    }
}

#[test]
fn what_is_no_response_is_a_failure() {
    for bytes in [&b"\x0A"[..], b"\x0A\x05a", b"\xFF", b"\x22\x01\x08"] {
        let failure = grpc::read_stream_message(Bytes::from_static(bytes)).unwrap_err();
        assert_eq!(failure.reason.kind(), "unreadable_reply");
    }
}

#[test]
fn fields_of_later_versions_are_passed_over() {
    let later = [
        field(1, &leased(&[field(3, b"1"), field(15, b"?")])),
        field(15, b"?"),
    ];
    let streamed = grpc::read_stream_message(later.concat().into()).unwrap();
    assert_eq!(streamed.answer.messages.len(), 1);
    assert!(streamed.unreadable.is_empty());
}

/// Placed one by one among those before, a frame full of them would keep a core busy for hours.
#[test]
fn many_attributes_in_any_order_are_sorted_once() {
    let count = 200_000;
    let entries = (0..count).rev().map(|number: u32| {
        let name = format!("{number:06}");
        field(2, &[field(1, name.as_bytes()), field(2, b"v")].concat())
    });
    let message = oracle_message(&entries.collect::<Vec<_>>().concat());
    let streamed = grpc::read_stream_message(message).unwrap();
    assert_eq!(streamed.answer.messages[0].attributes.len(), count as usize);
}

/// A response with a message of these fields, after its id.
fn oracle_message(fields: &[u8]) -> Bytes {
    #[derive(Clone, PartialEq, prost::Message)]
    struct Nested {
        #[prost(string, tag = "1")]
        text: String,
        #[prost(bytes = "vec", tag = "2")]
        bytes: Vec<u8>,
    }
    let leased = Nested {
        text: "a".to_owned(),
        bytes: [&field(3, b"1"), fields].concat(),
    };
    let mut out = vec![1 << 3 | 2];
    prost::encode_length_delimiter(leased.encoded_len(), &mut out).unwrap();
    leased.encode(&mut out).unwrap();
    out.into()
}
