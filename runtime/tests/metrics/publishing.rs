//! Publishers that meet everything there is.

use std::future::pending;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use pubsink_runtime::core::failure::{Failure, Outcome};
use pubsink_runtime::core::options::{
    OrderingOnFailure, PublisherOptions, PublisherOptionsBuilder,
};
use pubsink_runtime::core::publish::Message;
use pubsink_runtime::core::reason::{Reason, TransportKind};
use pubsink_runtime::core::token::Token;
use pubsink_runtime::seam::{Runtime as _, SendLimits, Transport, TransportError};
use pubsink_runtime::{Publisher, connect};

use crate::ledger::Ledger;
use crate::support::{Threads, wait_until, within};

/// Does what a message's attribute `do` says.
struct Service;

impl Transport for Service {
    async fn send(
        &self,
        request: Request<Bytes>,
        _limits: SendLimits,
    ) -> Result<Response<Bytes>, TransportError> {
        let body = String::from_utf8(request.body().to_vec()).unwrap();
        let what = body.split("\"do\":\"").nth(1).unwrap();
        let (status, reply) = match what.split('"').next().unwrap() {
            "deliver" => (200, r#"{"messageIds":["1"]}"#.to_owned()),
            "hang" => pending().await,
            "cut" => return Err(TransportError::new(TransportKind::Connection, "cut")),
            "panic" => panic!("a transport that panics"),
            "413" => (413, String::new()),
            error => {
                let (http, status) = error.split_once(' ').unwrap();
                let document = format!(r#"{{"error":{{"code":{http},"status":"{status}"}}}}"#);
                (http.parse().unwrap(), document)
            }
        };
        let mut response = Response::new(reply.into());
        *response.status_mut() = http::StatusCode::from_u16(status).unwrap();
        Ok(response)
    }
}

fn publisher(options: PublisherOptionsBuilder) -> Publisher {
    let options = options.timeout(Duration::from_millis(200));
    let options = options.build().unwrap();
    let token = Token::new("planted-token").unwrap();
    let (publisher, driver) = connect(options, Threads, Service, Some(token), 1);
    Threads.spawn(driver);
    publisher
}

fn options(topic: &str) -> PublisherOptionsBuilder {
    PublisherOptions::builder("p", topic).batch_linger(Duration::from_millis(1))
}

fn message(what: &'static str) -> Message {
    let mut message = Message::new("planted-body");
    message.attributes.insert("do", what);
    message.ordering_key = "planted-key".to_owned();
    message.tenant = Some("planted-tenant".to_owned());
    message
}

fn publish(publisher: &Publisher, message: Message) -> Outcome {
    within(publisher.publish(message))
}

const HOOKS: &str = "projects/p/topics/hooks";

/// What a request comes to, and what its message does.
const CASES: [(&str, &str, &str); 10] = [
    ("deliver", "delivered", "none"),
    ("400 INVALID_ARGUMENT", "refused", "permanent"),
    ("403 PERMISSION_DENIED", "config", "config"),
    ("404 NOT_FOUND", "config", "config"),
    ("401 UNAUTHENTICATED", "unauthenticated", "config"),
    ("429 RESOURCE_EXHAUSTED", "throttled", "throttled"),
    ("500 INTERNAL", "transient", "transient"),
    ("cut", "transport", "transient"),
    ("413", "too_large", "transient"),
    ("panic", "lost", "transient"),
];

/// Meets every reply, and a message that is refused before any request.
pub(crate) fn every_reply(ledger: &Ledger) {
    let hooks = publisher(options("hooks"));
    for (what, _, class) in CASES {
        assert_eq!(publish(&hooks, message(what)).is_ok(), class == "none");
    }
    publish(&hooks, Message::new("")).unwrap_err();
    // Given up by the machine, its task aborted.
    publish(&hooks, message("hang")).unwrap_err();
    within(hooks.shutdown(Duration::from_secs(5)));

    let messages = "pubsink_publish_messages_total";
    let counted = |outcome, class| ledger.count(messages, &[HOOKS, outcome, class]);
    wait_until("the last message is counted", || {
        counted("failed", "transient") >= 5.0
    });
    assert_eq!(counted("delivered", "none"), 1.0);
    let failed = ["permanent", "config", "throttled", "transient"];
    let failed = failed.map(|class| counted("failed", class));
    assert_eq!(failed, [2.0, 3.0, 1.0, 5.0]);

    let requests = "pubsink_publish_requests_total";
    for (_, result, _) in CASES {
        let expected = match result {
            "config" | "lost" => 2.0,
            _ => 1.0,
        };
        wait_until(result, || {
            ledger.count(requests, &[HOOKS, result]) >= expected
        });
        assert_eq!(
            ledger.count(requests, &[HOOKS, result]),
            expected,
            "{result}"
        );
    }
    // The lost ones took no time that is known.
    let durations = ledger.values("pubsink_publish_request_duration_seconds", &[HOOKS]);
    assert_eq!(durations.len(), CASES.len() - 1);
    assert!(durations.iter().all(|took| (0.0..30.0).contains(took)));
    let batches = ledger.values("pubsink_publish_batch_messages", &[HOOKS]);
    assert_eq!(batches, [1.0; CASES.len() + 1]);
    let bytes = ledger.values("pubsink_publish_batch_bytes", &[HOOKS]);
    assert!(
        bytes.iter().all(|bytes| (50.0..500.0).contains(bytes)),
        "{bytes:?}"
    );

    for (gauge, most) in [
        ("pubsink_publish_queue_messages", 1.0),
        ("pubsink_publish_queue_bytes", 1_000.0),
        ("pubsink_publish_requests_in_flight", 1.0),
        ("pubsink_publish_ordering_keys", 1.0),
    ] {
        let values = || ledger.values(gauge, &[HOOKS]);
        wait_until(gauge, || values().last() == Some(&0.0));
        let high = values().into_iter().fold(0.0, f64::max);
        assert!(high > 0.0 && high <= most, "{gauge}: {high}");
    }
}

/// Past each ceiling, and a key that stops.
pub(crate) fn every_ceiling(ledger: &Ledger) {
    for (ceiling, full) in [
        ("entries", options("full").batch_queue_max(1)),
        ("bytes", options("full").batch_queue_bytes(1)),
        ("tenant", options("full").batch_queue_tenant(1)),
    ] {
        let full = publisher(full);
        let held = full.publish(message("hang"));
        let refused: Failure = publish(&full, message("deliver")).unwrap_err();
        assert!(matches!(*refused.reason, Reason::BatchQueueFull { .. }));
        let topic = "projects/p/topics/full";
        assert_eq!(
            ledger.count("pubsink_publish_refused_total", &[topic, ceiling]),
            1.0
        );
        within(held).unwrap_err();
    }
    let held = options("held").ordering_on_failure(OrderingOnFailure::Hold);
    let held = publisher(held);
    publish(&held, message("400 INVALID_ARGUMENT")).unwrap_err();
    let stopped = || ledger.values("pubsink_publish_stopped_keys", &["projects/p/topics/held"]);
    wait_until("a key is stopped", || stopped().last() == Some(&1.0));
    held.resume_all();
    wait_until("it goes on", || stopped().last() == Some(&0.0));
}

/// Each message that was published with others is counted once, wherever it ends.
pub(crate) fn together(ledger: &Ledger) {
    let publisher = publisher(options("together").batch_max_entries(1).batch_queue_max(2));
    let messages = ["deliver", "", "400 INVALID_ARGUMENT", "deliver", "deliver"];
    let messages = messages.map(|what| match what {
        "" => Message::new(""),
        what => message(what),
    });
    let outcomes = within(publisher.publish_all(messages));
    let delivered: Vec<_> = outcomes.iter().map(Result::is_ok).collect();
    assert_eq!(delivered, [true, false, false, false, false]);
    within(publisher.shutdown(Duration::from_secs(5)));

    let topic = "projects/p/topics/together";
    let messages = "pubsink_publish_messages_total";
    let failed = || ledger.count(messages, &[topic, "failed", "permanent"]);
    wait_until("the refusal is counted", || failed() >= 2.0);
    assert_eq!(failed(), 2.0);
    assert_eq!(ledger.count(messages, &[topic, "delivered", "none"]), 1.0);
    let refused = "pubsink_publish_refused_total";
    assert_eq!(ledger.count(refused, &[topic, "entries"]), 2.0);
    let others = ["config", "throttled", "transient"];
    let others = others.map(|class| ledger.count(messages, &[topic, "failed", class]));
    assert_eq!(others, [0.0; 3]);
}
