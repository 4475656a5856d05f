//! A topic as a sink.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, Response};
use pubsink_runtime::connect;
use pubsink_runtime::core::delivery::{DeliveryContext, ForwardHeaders};
use pubsink_runtime::core::dispatch::Accepted;
use pubsink_runtime::core::options::{
    OrderingOnFailure, PublisherOptions, PublisherOptionsBuilder,
};
use pubsink_runtime::core::sink::{Payload, Subject};
use pubsink_runtime::core::token::Token;
use pubsink_runtime::core::trace_context::TraceContext;
use pubsink_runtime::dispatch::DispatchBuilder;
use pubsink_runtime::journal::MemoryJournal;
use pubsink_runtime::seam::{Runtime as _, SendLimits, Transport, TransportError};
use pubsink_runtime::sink::{PubsubSink, Sink, safe_deliver};

use crate::support::{Heard, Threads, block_on, hook, start, within};

/// Confirms everything, after a refusal where one is to come first, and keeps what it was sent.
#[derive(Clone, Default)]
struct Service {
    bodies: Arc<Mutex<Vec<String>>>,
    refusals: Arc<Mutex<u32>>,
}

impl Transport for Service {
    async fn send(
        &self,
        request: Request<Bytes>,
        _limits: SendLimits,
    ) -> Result<Response<Bytes>, TransportError> {
        let body = String::from_utf8(request.body().to_vec()).unwrap();
        let count = body.matches("\"data\"").count();
        {
            let mut refusals = self.refusals.lock().unwrap();
            if *refusals > 0 {
                *refusals -= 1;
                let mut response = Response::new(Bytes::from_static(
                    br#"{"error":{"code":503,"status":"UNAVAILABLE","message":"no"}}"#,
                ));
                *response.status_mut() = http::StatusCode::SERVICE_UNAVAILABLE;
                return Ok(response);
            }
        }
        self.bodies.lock().unwrap().push(body);
        let ids = vec!["\"1\""; count].join(",");
        Ok(Response::new(format!("{{\"messageIds\":[{ids}]}}").into()))
    }
}

fn options() -> PublisherOptionsBuilder {
    PublisherOptions::builder("my-project", "hooks")
}

fn sink(options: PublisherOptionsBuilder, service: &Service) -> PubsubSink {
    let options = options.build().unwrap();
    let (publisher, driver) = connect(options, Threads, service.clone(), None::<Token>, 1);
    Threads.spawn(driver);
    PubsubSink::new(publisher)
}

fn subject() -> Subject {
    Subject {
        source_id: "github".to_owned(),
        tenant_id: None,
    }
}

#[test]
fn it_says_what_its_publisher_does() {
    let service = Service::default();
    let plain = sink(options(), &service);
    assert!(plain.batched() && plain.durable() && !plain.ordered());
    assert_eq!(plain.inline_max_bytes(), Some(65_536));
    assert_eq!(plain.ordering_key(&hook("1")), None);
    let described = plain.describe(&subject()).unwrap();
    assert_eq!(described.protocol, "googlepubsub");
    assert_eq!(described.host, "pubsub.googleapis.com");
    assert_eq!(described.address, "projects/my-project/topics/hooks");
    assert_eq!(described.payload, Payload::Message);
    assert_eq!(described.ordering_key, None);

    let fixed = options()
        .endpoint("http://[::1]:8085/prefix")
        .batch(false)
        .inline_max_bytes(7)
        .ordering_key("all")
        .ordering_on_failure(OrderingOnFailure::Hold);
    let fixed = sink(fixed, &service);
    assert!(!fixed.batched() && fixed.ordered());
    assert_eq!(fixed.inline_max_bytes(), Some(7));
    assert_eq!(fixed.ordering_key(&hook("1")).as_deref(), Some("all"));
    let described = fixed.describe(&subject()).unwrap();
    assert_eq!(described.host, "[::1]:8085");
    assert_eq!(described.ordering_key.as_deref(), Some("all"));

    let made = options().ordering_key_with(|hook| hook.id.replace('-', ""));
    let made = sink(made, &service);
    assert_eq!(made.ordering_key(&hook("1-2")).as_deref(), Some("12"));
    assert_eq!(made.ordering_key(&hook("-")), None);
    assert_eq!(made.describe(&subject()).unwrap().ordering_key, None);

    for (endpoint, host) in [
        ("http://h:80", "h"),
        ("https://h:443", "h"),
        ("https://h:80", "h:80"),
    ] {
        let described = sink(options().endpoint(endpoint), &service).describe(&subject());
        assert_eq!(described.unwrap().host, host);
    }
}

#[test]
fn which_headers_travel_is_its_setting() {
    let service = Service::default();
    let sink = sink(options(), &service).forward_headers(ForwardHeaders::Only(vec![]));
    let sent = |context: &DeliveryContext| {
        block_on(safe_deliver(&sink, &hook("1"), context)).unwrap();
        decode(&service.bodies.lock().unwrap().pop().unwrap())
    };
    assert!(!sent(&DeliveryContext::default()).contains("hunter2"));
    let context = DeliveryContext {
        forward_headers: ForwardHeaders::Only(vec!["x-secret".to_owned()]),
        ..DeliveryContext::default()
    };
    assert!(sent(&context).contains("hunter2"));
    let none = sink.clone().forward_headers(ForwardHeaders::Default);
    let none = none.max_headers(0).forward_headers_max_bytes(0);
    let receipt = block_on(safe_deliver(&none, &hook("1"), &DeliveryContext::default()));
    assert_eq!(receipt.unwrap().diagnostics.headers_left_out, ["x-secret"]);
}

#[test]
fn the_trace_of_an_attempt_travels_as_the_program_tells_it() {
    const OWN: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const ATTEMPT: &str = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";
    let service = Service::default();
    let sink = sink(options().trace_context(true), &service);
    let mut traced = hook("1");
    traced.headers.push(("traceparent".to_owned(), OWN.into()));
    traced.headers.push(("tracestate".to_owned(), "v=1".into()));
    let sent = |sink: &PubsubSink, context: &DeliveryContext| {
        block_on(safe_deliver(sink, &traced, context)).unwrap();
        let body = service.bodies.lock().unwrap().pop().unwrap();
        ["traceparent", "tracestate"].map(|name| {
            let value = body.split(&format!("\"{name}\":\"")).nth(1);
            value.map(|value| value.split('"').next().unwrap().to_owned())
        })
    };
    let with = |parent: &str, state: &str| [parent, state].map(|it| Some(it.to_owned()));
    let plain = DeliveryContext::default();
    assert_eq!(sent(&sink, &plain), with(OWN, "v=1"));
    let told = sink
        .clone()
        .trace_context_of(|_| TraceContext::new(ATTEMPT));
    assert_eq!(sent(&told, &plain), with(ATTEMPT, "v=1"));
    // What the delivery itself says comes first.
    let context = DeliveryContext {
        trace_context: TraceContext::new(OWN).map(|trace| trace.with_state("w=2")),
        ..DeliveryContext::default()
    };
    assert_eq!(sent(&told, &context), with(OWN, "w=2"));
    let silent = sink.clone().trace_context_of(|_| None);
    let panics = sink.trace_context_of(|_| panic!("a tracer that panics"));
    for none in [silent, panics] {
        assert_eq!(sent(&none, &plain), with(OWN, "v=1"));
    }
}

/// The data of a request's one message.
fn decode(body: &str) -> String {
    let data = body.split("\"data\":\"").nth(1).unwrap();
    let data = data.split('"').next().unwrap();
    let mut text = Vec::new();
    for four in data.as_bytes().chunks(4) {
        let mut bits = 0_u32;
        for byte in four {
            let value = match byte {
                b'A'..=b'Z' => byte - b'A',
                b'a'..=b'z' => byte - b'a' + 26,
                b'0'..=b'9' => byte - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                _ => 0,
            };
            bits = bits << 6 | u32::from(value);
        }
        text.extend_from_slice(&bits.to_be_bytes()[1..]);
    }
    String::from_utf8_lossy(&text).into_owned()
}

#[test]
fn hooks_are_stored_in_the_order_of_their_key_over_failures() {
    let service = Service::default();
    *service.refusals.lock().unwrap() = 3;
    let ordered = options()
        .ordering_key("all")
        .ordering_on_failure(OrderingOnFailure::Hold);
    let heard = Heard::default();
    let builder = DispatchBuilder::new(MemoryJournal::default())
        .sink("topic", sink(ordered, &service))
        .on_event(heard.observer());
    let dispatch = start(builder).unwrap();
    let ids = ["a", "b", "c", "d"];
    let accepted: Vec<_> = ids
        .map(|id| dispatch.enqueue(hook(id)))
        .into_iter()
        .collect();
    for accepted in accepted {
        assert!(matches!(within(accepted), Ok(Accepted::Stored(_))));
    }
    for settled in heard.wait_settled(4) {
        assert_eq!(settled.outcome.unwrap().message_id.unwrap().as_str(), "1");
    }
    let bodies = service.bodies.lock().unwrap();
    let stored: Vec<_> = bodies.iter().map(|body| decode(body)).collect();
    assert_eq!(stored.len(), 4);
    for (body, id) in stored.iter().zip(ids) {
        assert!(body.contains(&format!("\"id\":\"{id}\"")), "{body}");
    }
}

#[test]
fn a_body_that_needs_a_claim_goes_with_it_and_not_without() {
    let service = Service::default();
    let heard = Heard::default();
    let builder = DispatchBuilder::new(MemoryJournal::default())
        .sink("topic", sink(options().inline_max_bytes(3), &service))
        .on_event(heard.observer());
    let dispatch = start(builder).unwrap();
    assert_eq!(dispatch.inline_max_bytes(), Some(3));
    let claim = pubsink_runtime::core::claim::ClaimRef::derive(Some("acme"), 0, "1").unwrap();
    let with = pubsink_runtime::dispatch::Incoming::new(hook("with")).claim(claim);
    within(dispatch.enqueue(with)).unwrap();
    within(dispatch.enqueue(hook("without"))).unwrap();
    for settled in heard.wait_settled(2) {
        match settled.outcome {
            Ok(_) => assert_eq!(settled.row.envelope.id, "with"),
            Err((failure, _)) => assert_eq!(failure.reason.kind(), "claim_check"),
        }
    }
}
