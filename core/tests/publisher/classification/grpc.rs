//! What every answer over gRPC means: by the same table as over REST.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use bytes::Bytes;
use http::HeaderMap;
use proptest::prelude::*;
use prost::Message as _;
use pubsink_core::failure::Class;
use pubsink_core::options::Wire;
use pubsink_core::reason::Reason;
use pubsink_core::text::TEXT_MAX_BYTES;
use pubsink_core::wire::{RETRY_AFTER_MAX, Reply, Verdict, read_grpc_reply, read_reply};
use pubsink_fixtures::exchanges::{self, Exchange};

use crate::exchanges::{line, pin};
use crate::sim::answers::{Answer, TokenAnswer, error, reply};
use crate::sim::look::Authorized as _;
use crate::sim::messages::authorized_request;
use crate::sim::{Recorded, Sim, ms, options};

/// The codes of google/rpc/code.proto, and the HTTP statuses they stand for.
const CODES: [(&str, u16); 17] = [
    ("OK", 200),
    ("CANCELLED", 499),
    ("UNKNOWN", 500),
    ("INVALID_ARGUMENT", 400),
    ("DEADLINE_EXCEEDED", 504),
    ("NOT_FOUND", 404),
    ("ALREADY_EXISTS", 409),
    ("PERMISSION_DENIED", 403),
    ("RESOURCE_EXHAUSTED", 429),
    ("FAILED_PRECONDITION", 400),
    ("ABORTED", 409),
    ("OUT_OF_RANGE", 400),
    ("UNIMPLEMENTED", 501),
    ("INTERNAL", 500),
    ("UNAVAILABLE", 503),
    ("DATA_LOSS", 500),
    ("UNAUTHENTICATED", 401),
];

#[derive(Clone, PartialEq, prost::Message)]
struct PublishResponse {
    #[prost(string, repeated, tag = "1")]
    message_ids: Vec<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Status {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(message, repeated, tag = "3")]
    details: Vec<Any>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Any {
    #[prost(string, tag = "1")]
    type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ErrorInfo {
    #[prost(string, tag = "1")]
    reason: String,
    #[prost(string, tag = "2")]
    domain: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct RetryInfo {
    #[prost(message, optional, tag = "1")]
    retry_delay: Option<Pause>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Pause {
    #[prost(int64, tag = "1")]
    seconds: i64,
    #[prost(int32, tag = "2")]
    nanos: i32,
}

fn fields(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let pairs = pairs.iter();
    pairs
        .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
        .collect()
}

/// A call that ended with this code, and with these details.
fn ended(code: usize, details: &[(&str, Vec<u8>)]) -> HeaderMap {
    let details = details.iter().map(|(name, value)| Any {
        type_url: format!("type.googleapis.com/google.rpc.{name}"),
        value: value.clone(),
    });
    let status = Status {
        code: i32::try_from(code).unwrap(),
        message: "the server's text".to_owned(),
        details: details.collect(),
    };
    let details = STANDARD_NO_PAD.encode(status.encode_to_vec());
    fields(&[
        ("grpc-status", &*code.to_string()),
        ("grpc-message", "the server's%20text"),
        ("grpc-status-details-bin", &*details),
    ])
}

fn frame(message: &[u8]) -> Bytes {
    crate::sim::protobuf::framed(message).into()
}

fn with_ids(ids: &[&str]) -> Reply {
    let message_ids = ids.iter().map(|&id| id.to_owned()).collect();
    reply(200, frame(&PublishResponse { message_ids }.encode_to_vec()))
}

fn ok() -> HeaderMap {
    fields(&[("grpc-status", "0")])
}

#[test]
fn each_code_means_what_its_document_means_over_rest() {
    for (code, (name, http)) in CODES.into_iter().enumerate().skip(1) {
        let expected = read_reply(&error(http, name), 3);
        let trailers = ended(code, &[]);
        assert_eq!(read_grpc_reply(&reply(200, ""), &trailers, 3), expected);
        // An answer that is nothing else has it in its headers.
        let alone = Reply {
            headers: trailers.clone(),
            ..reply(200, "")
        };
        assert_eq!(read_grpc_reply(&alone, &HeaderMap::new(), 3), expected);
        // Ids before it count for nothing.
        let late = with_ids(&["1", "2", "3"]);
        assert_eq!(read_grpc_reply(&late, &trailers, 3), expected, "{name}");
    }
    for unknown in ["17", "-1", "x"] {
        let trailers = fields(&[
            ("grpc-status", unknown),
            ("grpc-message", "the server's text"),
        ]);
        let expected = read_reply(&error(500, "UNKNOWN"), 1);
        assert_eq!(read_grpc_reply(&reply(200, ""), &trailers, 1), expected);
    }
}

#[test]
fn details_decide_and_are_shown() {
    let info = |reason: &str| {
        let domain = "googleapis.com".to_owned();
        let reason = reason.to_owned();
        ("ErrorInfo", ErrorInfo { reason, domain }.encode_to_vec())
    };
    let retry = |seconds, nanos| {
        let retry_delay = Some(Pause { seconds, nanos });
        ("RetryInfo", RetryInfo { retry_delay }.encode_to_vec())
    };
    let read = |code, details: &[_]| read_grpc_reply(&reply(200, ""), &ended(code, details), 1);
    let limited = read(7, &[info("RATE_LIMIT_EXCEEDED"), retry(45, 500_000_000)]);
    let Verdict::Throttled {
        reason, at_least, ..
    } = limited
    else {
        panic!("{limited:?}");
    };
    assert_eq!(at_least, Some(ms(45_500)));
    let shown = "Pub/Sub answered 403 PERMISSION_DENIED (RATE_LIMIT_EXCEEDED): the server's text";
    assert_eq!(reason.to_string(), shown);
    assert!(matches!(
        read(7, &[info("SERVICE_DISABLED")]),
        Verdict::Config(_)
    ));
    let pause = |code, details: &[_]| match read(code, details) {
        Verdict::Throttled { at_least, .. } => at_least,
        other => panic!("{other:?}"),
    };
    assert_eq!(pause(8, &[]), None);
    assert_eq!(pause(8, &[retry(7, 0)]), Some(ms(7_000)));
    assert_eq!(pause(14, &[retry(7_200, 0)]), Some(RETRY_AFTER_MAX));
    assert_eq!(pause(8, &[retry(-7, 0)]), None);
    // Field violations name fields of the request, which the text says too.
    let bad_request = ("BadRequest", b"\x0a\x05\x0a\x03abc".to_vec());
    assert!(matches!(read(3, &[bad_request]), Verdict::Refused(_)));
    // Details that are none cost nothing.
    assert!(matches!(
        read(3, &[("ErrorInfo", vec![0xFF])]),
        Verdict::Refused(_)
    ));
}

#[test]
fn a_pause_may_stand_in_a_header_too() {
    let with = |mut fields: HeaderMap| {
        fields.insert("retry-after", "7".parse().unwrap());
        fields
    };
    let alone = Reply {
        headers: with(ended(8, &[])),
        ..reply(200, "")
    };
    let none = HeaderMap::new();
    for verdict in [
        read_grpc_reply(&alone, &none, 1),
        read_grpc_reply(&reply(200, ""), &with(ended(8, &[])), 1),
    ] {
        let Verdict::Throttled { at_least, .. } = verdict else {
            panic!("{verdict:?}");
        };
        assert_eq!(at_least, Some(ms(7_000)));
    }
}

#[test]
fn one_id_for_each_message_delivers_them_in_order() {
    for ids in [vec!["1"], vec!["12", "11", "10"], vec!["é", "☃", "1"]] {
        let verdict = read_grpc_reply(&with_ids(&ids), &ok(), ids.len());
        let Verdict::Delivered(read) = verdict else {
            panic!("{verdict:?}");
        };
        let read: Vec<_> = read.iter().map(|id| id.as_str()).collect();
        assert_eq!(read, ids);
    }
}

#[test]
fn ids_that_are_kept_keep_nothing_of_the_answer() {
    for id in [
        "17".to_owned(),
        "7".repeat(40),
        "7".repeat(200),
        "é".to_owned(),
    ] {
        let message = PublishResponse {
            message_ids: vec![id.clone()],
        };
        let answer = reply(200, frame(&message.encode_to_vec()));
        let Verdict::Delivered(ids) = read_grpc_reply(&answer, &ok(), 1) else {
            panic!("{id}");
        };
        assert_eq!(ids[0].as_str(), id);
        assert!(answer.body.is_unique());
    }
}

/// Transient, and it may be stored.
fn assert_unexpected(reply: &Reply, trailers: &HeaderMap, expected: usize) {
    match read_grpc_reply(reply, trailers, expected) {
        Verdict::Transient {
            reason: Reason::UnexpectedReply { .. },
            may_have_been_stored: true,
        } => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_ok_without_exactly_one_id_for_each_message_is_unexpected() {
    for ids in [&[][..], &["1"], &["1", "2", "3", "4"]] {
        assert_unexpected(&with_ids(ids), &ok(), 3);
    }
    let whole = with_ids(&["1"]).body;
    let twice = [&whole[..], &whole[..]].concat();
    let compressed = [&[1], &whole[1..]].concat();
    for body in [
        Vec::new(),
        whole[..whole.len() - 1].to_vec(),
        whole[..3].to_vec(),
        twice,
        compressed,
        b"<html>".to_vec(),
        br#"{"messageIds":["1"]}"#.to_vec(),
        frame(&[0xFF]).to_vec(),
        // An id that is no text.
        frame(b"\x0a\x01\xFF").to_vec(),
    ] {
        assert_unexpected(&reply(200, body), &ok(), 1);
    }
}

#[test]
fn a_200_without_a_grpc_status_is_unexpected() {
    assert_unexpected(&with_ids(&["1"]), &HeaderMap::new(), 1);
    assert_unexpected(&reply(200, "<html>"), &fields(&[("x", "0")]), 1);
}

#[test]
fn what_answers_without_a_grpc_status_is_read_as_over_rest() {
    let none = HeaderMap::new();
    for http in [
        204, 302, 400, 401, 403, 404, 413, 415, 429, 431, 500, 502, 503,
    ] {
        let page = reply(http, "<html>");
        assert_eq!(read_grpc_reply(&page, &none, 3), read_reply(&page, 3));
        assert_eq!(read_grpc_reply(&page, &ok(), 3), read_reply(&page, 3));
    }
    let document = error(403, "PERMISSION_DENIED");
    assert_eq!(
        read_grpc_reply(&document, &none, 3),
        read_reply(&document, 3)
    );
    // A gateway that says both.
    let both = reply(503, "<html>");
    let verdict = read_grpc_reply(&both, &ended(5, &[]), 1);
    assert!(matches!(verdict, Verdict::Config(_)));
}

#[test]
fn the_machine_does_what_follows() {
    let over_grpc = || options(|b| b.wire(Wire::Grpc));
    let run = |answer: Answer, count| {
        let mut sim = Sim::new(&over_grpc(), move |_: &Recorded| answer.clone());
        sim.admit_all(0..count);
        sim.run();
        sim.assert_quiescent();
        sim
    };
    let sim = run(Answer::stored(), 3);
    assert_eq!(sim.delivered(2), "id-2");
    // Three are halved into one and two, two into one and one.
    let sim = run(Answer::refused(), 3);
    assert_eq!(sim.requests().len(), 5);
    assert_eq!(sim.failure(0).class, Class::Permanent);
    let sim = run(Answer::error(404, "NOT_FOUND"), 3);
    assert_eq!(
        (sim.requests().len(), &sim.failure(0).class),
        (1, &Class::Config)
    );
    let sim = run(Answer::error(503, "UNAVAILABLE"), 3);
    assert!(matches!(sim.failure(0).class, Class::RetryAfter(_)));
    assert!(sim.failure(0).may_have_been_stored);
}

#[test]
fn a_token_is_asked_for_once_more_and_never_shown() {
    const TOKEN: &str = "ya29.a0_b-c%20d";
    let (_, sent) = authorized_request(TOKEN).encode();
    drop(sent);
    let tokens = |_: Option<&_>| TokenAnswer::give(TOKEN);
    let text = format!("bad token {TOKEN}");
    let server = move |_: &Recorded| {
        let reply = pubsink_core::testing::replies::error(401, "UNAUTHENTICATED", &text);
        Answer::reply(reply.reason(TOKEN))
    };
    let mut sim = Sim::authorized(&options(|b| b.wire(Wire::Grpc)), tokens, server);
    sim.admit_all(1..=1);
    sim.run();
    let expected = format!("Bearer {TOKEN}");
    assert_eq!(sim.requests()[0].authorization(), Some(&*expected));
    let failure = sim.failure(1);
    assert_eq!(failure.class, Class::Config);
    let seen = format!("{failure} {failure:?} {}", sim.shown());
    assert!(
        seen.contains("bad token ***") && !seen.contains("ya29"),
        "{seen}"
    );
}

fn meaning(exchange: &Exchange) -> String {
    let headers = |pairs: &[(String, String)]| -> HeaderMap {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| {
                (
                    name.parse::<http::HeaderName>().unwrap(),
                    value.parse().unwrap(),
                )
            })
            .collect()
    };
    let Some(status) = exchange.response.status else {
        return format!("{}: no answer\n", exchange.name);
    };
    let reply = Reply {
        status,
        headers: headers(&exchange.response.headers),
        body: exchange.response.payload.bytes().into(),
        received_at_ms: 1_790_726_400_000,
    };
    let trailers = headers(&exchange.response.trailers);
    let mut text = format!("{}: HTTP {status}\n", exchange.name);
    for count in [1, 2] {
        let verdict = read_grpc_reply(&reply, &trailers, count);
        text += &line(&format!("  of {count}: {verdict:?}"));
    }
    text
}

#[test]
fn recorded_answers() {
    let names = [
        "grpc-publish",
        "grpc-unknown-method",
        "grpc-wrong-content-type",
    ];
    let chosen = exchanges::all().into_iter().filter(|exchange| {
        let name = exchange.name.as_str();
        name.starts_with("grpc-publish") || names.contains(&name)
    });
    let meanings: Vec<_> = chosen.map(|exchange| meaning(&exchange)).collect();
    assert!(meanings.len() >= 5);
    pin("wire_recorded_grpc_publish", &meanings.join("\n"));
}

proptest! {
    #[test]
    fn any_answer_has_a_bounded_meaning(
        status in prop_oneof![Just(200_u16), 100..600_u16],
        code in proptest::option::of("[0-9]{1,2}|[ -~]{0,8}"),
        details in prop::collection::vec(any::<u8>(), 0..60),
        body in prop::collection::vec(any::<u8>(), 0..60),
        expected in 1..4_usize,
    ) {
        let reply = reply(status, body);
        let mut trailers = HeaderMap::new();
        if let Some(code) = &code {
            trailers.insert("grpc-status", code.parse().unwrap());
        }
        let details = STANDARD_NO_PAD.encode(details);
        trailers.insert("grpc-status-details-bin", details.parse().unwrap());
        let verdict = read_grpc_reply(&reply, &trailers, expected);
        prop_assert_eq!(&verdict, &read_grpc_reply(&reply, &trailers, expected));
        if let Verdict::Delivered(ids) = &verdict {
            prop_assert_eq!((status, code.as_deref(), ids.len()), (200, Some("0"), expected));
        }
        if let Verdict::Throttled { at_least, .. } = verdict {
            prop_assert!(at_least.unwrap_or_default() <= RETRY_AFTER_MAX);
        }
    }

    #[test]
    fn a_message_of_any_length_is_cut(len in 0..20_000_usize) {
        let trailers = fields(&[("grpc-status", "13"), ("grpc-message", &*"x".repeat(len))]);
        let verdict = read_grpc_reply(&reply(200, ""), &trailers, 1);
        let Verdict::Transient { reason: Reason::Pubsub { message, .. }, .. } = verdict else {
            panic!("{verdict:?}");
        };
        prop_assert!(message.len() <= TEXT_MAX_BYTES + 40);
    }
}
