//! Every request, on both wires.

use std::time::Duration;

use base64::Engine as _;
use bytes::Bytes;
use http::{Request, Version};
use pubsink_core::subscribe::SubscriberOptions;
use pubsink_core::wire::subscribe::{grpc, rest};
use pubsink_fixtures::exchanges;

use crate::help::{builder, defaults, ids, pin, token};
use crate::oracle::{self, of_frame};

/// A request as people read it.
fn shown<B>(request: &Request<B>, body: &str) -> String {
    let mut text = format!(
        "{} {} {:?}\n",
        request.method(),
        request.uri(),
        request.version()
    );
    let mut headers: Vec<_> = request.headers().iter().collect();
    headers.sort_by_key(|(name, _)| name.as_str());
    for (name, value) in headers {
        text += &format!("{name}: {value:?}\n");
    }
    text + body + "\n"
}

fn shown_json(request: &Request<Bytes>) -> String {
    shown(request, std::str::from_utf8(request.body()).unwrap())
}

#[test]
fn over_rest() {
    let (options, token) = (defaults(), token());
    let odd = ids(&["one", "q\"uote\\ \n é"]);
    let requests = [
        rest::pull(&options, 1_000, None),
        rest::pull(&options, 1, Some(&token)),
        rest::acknowledge(&options, &ids(&["one"]), None),
        rest::acknowledge(&options, &odd, Some(&token)),
        rest::modify_ack_deadline(&options, &ids(&["one", "two"]), 60, None),
        rest::modify_ack_deadline(&options, &odd, 0, Some(&token)),
    ];
    let shown: Vec<_> = requests.iter().map(shown_json).collect();
    pin("wire_subscribe_rest_requests", &shown.join("\n"));
}

#[test]
fn over_grpc() {
    let (options, token) = (defaults(), token());
    let odd = ids(&["one", "q\"uote\\ \n é"]);
    let message = |body: &Bytes| format!("{:#?}", of_frame::<oracle::AcknowledgeRequest>(body));
    let change =
        |body: &Bytes| format!("{:#?}", of_frame::<oracle::ModifyAckDeadlineRequest>(body));
    let opening = |body: &Bytes| format!("{:#?}", of_frame::<oracle::StreamingPullRequest>(body));
    let mut texts = Vec::new();
    for (ids, token) in [(&ids(&["one"]), None), (&odd, Some(&token))] {
        let request = grpc::acknowledge(&options, ids, token);
        texts.push(shown(&request, &message(request.body())));
    }
    for (seconds, token) in [(60, None), (0, Some(&token))] {
        let request = grpc::modify_ack_deadline(&options, &odd, seconds, token);
        texts.push(shown(&request, &change(request.body())));
    }
    for token in [None, Some(&token)] {
        let request = grpc::streaming_pull(&options, token);
        let first = grpc::stream_first(&options, 60, "client-one");
        texts.push(shown(&request, &opening(&first)));
    }
    texts.push(opening(&grpc::stream_ping()));
    pin("wire_subscribe_grpc_requests", &texts.join("\n"));
}

fn recorded(subscription: &str) -> SubscriberOptions {
    let builder = SubscriberOptions::builder("proj-rpc", subscription);
    let builder = builder
        .max_outstanding(1_000)
        .max_outstanding_bytes(10_000_000);
    builder.build().unwrap()
}

/// The frames of a recorded request, one after another.
fn frames(name: &str, count: usize) -> Vec<u8> {
    let request = exchanges::named(name).unwrap().request.unwrap();
    let frames = request.payload.frames.into_iter().take(count);
    let decode = |text| base64::engine::general_purpose::STANDARD.decode(text);
    frames
        .flat_map(|frame| decode(frame.frame_base64).unwrap())
        .collect()
}

#[test]
fn frames_are_those_that_googles_emulator_took() {
    let once = ids(&["projects/proj-rpc/subscriptions/once-sub:99999"]);
    let request = grpc::acknowledge(&recorded("once-sub"), &once, None);
    assert_eq!(
        request.body(),
        &frames("grpc-acknowledge-exactly-once-invalid", 1)
    );
    let request = grpc::acknowledge(&recorded("events-sub"), &ids(&["nonsense"]), None);
    assert_eq!(request.body(), &frames("grpc-acknowledge-malformed", 1));
    let request = grpc::modify_ack_deadline(&recorded("once-sub"), &once, 10, None);
    assert_eq!(
        request.body(),
        &frames("grpc-modify-exactly-once-invalid", 1)
    );
    let first = grpc::stream_first(&recorded("events-sub"), 10, "client-one");
    assert_eq!(first, frames("grpc-streaming-pull", 1));
    let whole = frames("grpc-streaming-pull", 3);
    assert!(whole.ends_with(&grpc::stream_ping()));
}

#[test]
fn bodies_are_those_that_googles_emulator_took() {
    let options = SubscriberOptions::builder("proj-one", "events-sub");
    let options = options.emulator("localhost:8085").build().unwrap();
    let four = ids(&["projects/proj-one/subscriptions/events-sub:4"]);
    let one = ids(&["projects/proj-one/subscriptions/events-sub:1"]);
    for (name, request) in [
        ("acknowledge", rest::acknowledge(&options, &one, None)),
        (
            "modify-ack-deadline-extend",
            rest::modify_ack_deadline(&options, &four, 20, None),
        ),
    ] {
        let recorded = exchanges::named(name).unwrap().request.unwrap();
        assert_eq!(request.method().as_str(), recorded.method);
        assert_eq!(request.uri().path(), recorded.path);
        assert_eq!(request.body(), &recorded.payload.bytes());
    }
}

#[test]
fn an_endpoint_keeps_its_scheme_port_and_prefix() {
    for endpoint in [
        "http://localhost:8085",
        "http://[::1]:8085",
        "https://proxy.example/pub/sub",
    ] {
        let options = SubscriberOptions::builder("example.com:p", "a+b%c");
        let options = options.endpoint(endpoint).build().unwrap();
        let url = format!("{endpoint}/v1/projects/example.com:p/subscriptions/a%2Bb%25c:pull");
        assert_eq!(rest::pull(&options, 1, None).uri().to_string(), url);
        let url = format!("{endpoint}/google.pubsub.v1.Subscriber/StreamingPull");
        let request = grpc::streaming_pull(&options, None);
        assert_eq!(request.uri().to_string(), url);
        assert_eq!(request.version(), Version::HTTP_2);
        let params = "subscription=projects%2Fexample.com%3Ap%2Fsubscriptions%2Fa%2Bb%25c";
        assert_eq!(request.headers()["x-goog-request-params"], params);
    }
}

#[test]
fn the_longest_endpoint_leads_to_its_host_and_a_longer_one_is_refused() {
    let build = |length: usize| {
        let endpoint = format!("http://h/{}", "x".repeat(length));
        builder().endpoint(&endpoint).build()
    };
    let longest = (65_000..65_534).rev().find(|length| build(*length).is_ok());
    let longest = longest.unwrap();
    assert_eq!(build(longest + 1).unwrap_err().option, "endpoint");
    let (options, one) = (build(longest).unwrap(), ids(&["one"]));
    for request in [
        rest::pull(&options, 1, None),
        rest::acknowledge(&options, &one, None),
        rest::modify_ack_deadline(&options, &one, 0, None),
        grpc::acknowledge(&options, &one, None),
        grpc::modify_ack_deadline(&options, &one, 0, None),
    ] {
        assert_eq!(request.uri().host(), Some("h"));
    }
    let stream = grpc::streaming_pull(&options, None);
    assert_eq!(stream.uri().host(), Some("h"));
}

#[test]
fn a_token_is_a_bearer_marked_sensitive() {
    let (options, token) = (defaults(), token());
    let (one, token) = (ids(&["one"]), Some(&token));
    let stream = grpc::streaming_pull(&options, token);
    let calls = [
        rest::pull(&options, 1, token),
        rest::acknowledge(&options, &one, token),
        rest::modify_ack_deadline(&options, &one, 0, token),
        grpc::acknowledge(&options, &one, token),
        grpc::modify_ack_deadline(&options, &one, 0, token),
    ];
    let heads = calls.iter().map(Request::headers).chain([stream.headers()]);
    for headers in heads {
        let value = &headers["authorization"];
        assert_eq!(value, "Bearer ya29.token");
        assert!(value.is_sensitive());
    }
    assert!(!format!("{calls:?} {stream:?}").contains("ya29"));
}

#[test]
fn only_calls_of_one_answer_have_a_deadline() {
    let options = builder()
        .timeout(Duration::from_millis(1_500))
        .build()
        .unwrap();
    let call = grpc::acknowledge(&options, &ids(&["one"]), None);
    assert_eq!(call.headers()["grpc-timeout"], "1500m");
    let stream = grpc::streaming_pull(&options, None);
    assert_eq!(stream.headers().get("grpc-timeout"), None);
}

#[test]
fn limits_beyond_the_wires_are_the_wires_most() {
    let options = builder().max_outstanding(usize::MAX).build().unwrap();
    let first: oracle::StreamingPullRequest = of_frame(&grpc::stream_first(&options, 600, ""));
    assert_eq!(first.max_outstanding_messages, i64::MAX);
    assert_eq!(first.stream_ack_deadline_seconds, 600);
}
