//! Spans by OTLP/HTTP, at a collector of the test's own.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "what cannot be set up is a failed test"
)]

mod collector;
mod protobuf;
#[allow(dead_code, reason = "the tests of the command use more of it")]
#[path = "../command/support.rs"]
mod support;

use collector::Collector;
use protobuf::Span;
use pubsink_fixtures::broker::SubscriptionConfig;
use pubsink_fixtures::server::Server;
use support::{Run, Scratch, TOPIC, hooks, publish, publish_to, pubsink, server};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";
const PLANTED: &str = "hunter2";

/// Hooks `good`, which came with a trace and planted secrets, and `bad`, which the topic refuses.
fn input() -> String {
    format!(
        "{{\"id\":\"good\",\"headers\":{{\"traceparent\":\"00-{TRACE}-{PARENT}-01\",\"tracestate\":\"v=1\",\
         \"x-api-key\":\"{PLANTED}\",\"x\":\"{PLANTED}\"}},\"body\":\"{PLANTED}\"}}\n\
         {{\"id\":\"bad\",\"body\":\"{PLANTED}\"}}\n"
    )
}

fn refusing() -> Server {
    let server = server();
    server
        .broker(|broker| broker.reject_data(TOPIC, "\"bad\""))
        .unwrap();
    server
}

fn exporting(run: Run, url: &str) -> Run {
    run.arguments(&["--otlp", url])
        .arguments(&["--token-env", "PLANTED", "--ordering-key", PLANTED])
        .env("PLANTED", PLANTED)
        .env("OTEL_EXPORTER_OTLP_HEADERS", format!("api-key={PLANTED}"))
}

fn of<'a>(spans: &'a [Span], hook: &str) -> &'a Span {
    let of = |span: &&Span| span.attribute("hook_id").as_deref() == Some(hook);
    let found: Vec<_> = spans.iter().filter(of).collect();
    assert_eq!(found.len(), 1, "{spans:?}");
    found[0]
}

#[test]
fn an_attempt_arrives_in_the_trace_of_its_hook_without_what_is_in_it() {
    let scratch = Scratch::new();
    for (number, runtime) in ["tokio", "smol"].into_iter().enumerate() {
        let dir = scratch.path(&number.to_string());
        for flags in [&[][..], &["--journal", &dir]] {
            let (server, collector) = (refusing(), Collector::start(200));
            let run = exporting(publish(&server, input()), &collector.url());
            let run = run.arguments(flags).env("PUBSINK_RUNTIME", runtime);
            let done = run.done().exits(1);
            assert!(!done.stderr.contains(PLANTED), "{}", done.stderr);
            assert!(!done.stderr.contains("--otlp"), "{}", done.stderr);

            let requests = collector.requests();
            for request in &requests {
                assert!(request.head.starts_with("post /v1/traces http/1.1\r\n"));
                assert!(
                    request
                        .head
                        .contains("content-type: application/x-protobuf\r\n")
                );
                assert!(request.head.contains(&format!("api-key: {PLANTED}\r\n")));
                let body = String::from_utf8_lossy(&request.body);
                assert!(!body.contains(PLANTED), "{body}");
            }
            let (spans, services) = protobuf::spans(&requests);
            assert!(
                services.iter().all(|name| name == "pubsink"),
                "{services:?}"
            );
            assert!(
                spans
                    .iter()
                    .all(|span| span.name == "ankusa.dispatch.attempt")
            );
            let good = of(&spans, "good");
            assert_eq!(
                (good.trace(), good.parent()),
                (TRACE.to_owned(), PARENT.to_owned())
            );
            assert_eq!(good.links(), [(TRACE.to_owned(), PARENT.to_owned())]);
            assert_eq!(good.attribute("sink").as_deref(), Some(TOPIC));
            assert_eq!(good.attribute("error_class"), None);
            assert!(!good.is_error());
            let bad = of(&spans, "bad");
            assert_ne!(bad.trace(), TRACE);
            assert_eq!((bad.parent(), bad.links().len()), (String::new(), 0));
            assert_eq!(bad.attribute("error_class").as_deref(), Some("permanent"));
            assert!(bad.is_error());
        }
    }
}

#[test]
fn the_message_carries_the_trace_of_its_attempt() {
    let scratch = Scratch::new();
    for flags in [&[][..], &["--journal", &scratch.path("j")]] {
        let (server, collector) = (refusing(), Collector::start(200));
        let run = exporting(publish(&server, input()), &collector.url());
        run.arguments(&["--trace-context"])
            .arguments(flags)
            .done()
            .exits(1);
        let (spans, _) = protobuf::spans(&collector.requests());
        let stored = server.stored(TOPIC);
        let attributes = &stored[0].message.attributes;
        let good = of(&spans, "good");
        let expected = format!("00-{TRACE}-{}-01", good.id());
        assert_eq!(attributes["traceparent"], expected);
        assert_eq!(attributes["tracestate"], "v=1");
    }
}

#[test]
fn a_message_is_handled_in_the_trace_it_came_with_and_its_reply_goes_on_with_it() {
    let (replies, subscription) = ("projects/p/topics/replies", "projects/p/subscriptions/all");
    for (wire, runtime) in [("grpc", "tokio"), ("rest", "smol")] {
        let (server, collector) = (server(), Collector::start(200));
        server.create_topic(replies).unwrap();
        let config = SubscriptionConfig::new(subscription, TOPIC);
        server.create_subscription(config).unwrap();
        let run = publish(&server, input()).arguments(&["--trace-context"]);
        run.done().exits(0);
        let run = pubsink(&["subscribe", "--project", "p", "--subscription", "all"]);
        let run = run.arguments(&["--endpoint", &server.endpoint(), "--wire", wire]);
        let run = run.arguments(&["--exec", "cat", "--reply-topic", "replies", "--count", "2"]);
        let run = run.arguments(&["--trace-context", "--otlp", &collector.url()]);
        run.env("PUBSINK_RUNTIME", runtime).done().exits(0);

        let requests = collector.requests();
        let bodies = requests.iter().map(|it| String::from_utf8_lossy(&it.body));
        assert!(bodies.into_iter().all(|body| !body.contains(PLANTED)));
        let (spans, _) = protobuf::spans(&requests);
        let name = "ankusa.subscribe.attempt";
        assert!(spans.iter().all(|span| span.name == name), "{spans:?}");
        let good = of(&spans, "good");
        assert_eq!(
            (good.trace(), good.parent().as_str()),
            (TRACE.to_owned(), PARENT)
        );
        assert_eq!(good.links(), [(TRACE.to_owned(), PARENT.to_owned())]);
        assert_eq!(
            good.attribute("subscription").as_deref(),
            Some(subscription)
        );
        let other = of(&spans, "bad");
        assert_ne!(other.trace(), TRACE);
        let replied = server.stored(replies);
        let trace_of = |span: &Span| format!("00-{}-{}-01", span.trace(), span.id());
        let mut traces: Vec<_> = (replied.iter())
            .map(|reply| {
                let attributes = &reply.message.attributes;
                let state = attributes.get("tracestate").cloned();
                (attributes["traceparent"].clone(), state)
            })
            .collect();
        traces.sort();
        let state = Some("v=1".to_owned());
        let mut expected = [(trace_of(good), state), (trace_of(other), None)];
        expected.sort();
        assert_eq!(traces, expected, "{wire}");
    }
}

#[test]
fn another_name_and_a_sampler_come_from_the_environment() {
    let (server, collector) = (server(), Collector::start(200));
    let run = exporting(publish(&server, hooks(3)), &format!("{}/", collector.url()));
    run.env("OTEL_SERVICE_NAME", "mine").done().exits(0);
    let (spans, services) = protobuf::spans(&collector.requests());
    assert_eq!((spans.len(), services[0].as_str()), (3, "mine"));

    let collector = Collector::start(200);
    let run = exporting(publish(&server, hooks(3)), &collector.url());
    let done = run.env("OTEL_TRACES_SAMPLER", "always_off").done().exits(0);
    assert_eq!(collector.requests().len(), 0);
    assert!(!done.stderr.contains("--otlp"), "{}", done.stderr);
}

#[test]
fn a_collector_that_takes_nothing_costs_no_hook_and_is_told_of() {
    let down = Collector::start(200).url();
    let refusing = Collector::start(503);
    // Accepts, and never says a word.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = format!("http://{}", silent.local_addr().unwrap());
    for (url, problem) in [
        (down, "connect: "),
        (refusing.url(), "HTTP 503 Service Unavailable"),
        (silent, ""),
    ] {
        let server = server();
        let done = exporting(publish(&server, hooks(3)), &url).done().exits(0);
        assert_eq!(server.stored(TOPIC).len(), 3);
        let told = &done.stderr;
        let lost = format!("pubsink: --otlp: 3 of 3 spans were not exported: {problem}");
        assert!(told.contains(&lost), "{told}");
        assert!(!told.contains(PLANTED), "{told}");
    }
}

#[test]
fn a_url_that_is_none_is_bad_usage_and_is_not_repeated() {
    for url in [
        "nowhere",
        "http://user:hunter2@c:4318",
        "http://c:4318?key=hunter2",
    ] {
        let run = publish_to("http://127.0.0.1:1", hooks(1)).arguments(&["--otlp", url]);
        let told = run.done().exits(2).stderr;
        assert!(told.starts_with("pubsink: --otlp must be "), "{told}");
        assert!(!told.contains(PLANTED), "{told}");
    }
}
