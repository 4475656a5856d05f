//! The table of classes, row by row, on both wires.

use std::time::Duration;

use http::HeaderMap;
use pubsink_core::reason::{Reason, TransportKind};
use pubsink_core::subscribe::{CallClass, CallFailure, StreamEnd};
use pubsink_core::wire::Reply;
use pubsink_core::wire::subscribe::{grpc, rest, transport_failure};
use serde_json::json;

use crate::help::{error, headers, ids, reply, token, trailers_only};
use crate::oracle;

const THROTTLED: CallClass = CallClass::Throttled(None);

/// The codes that are failures, with the HTTP status and the name of each, and what each is to a
/// call for messages and to a call about leases.
const CODES: [(u16, u16, &str, CallClass, CallClass); 16] = {
    use CallClass::{Config, Invalid, Transient, Unauthenticated};
    [
        (1, 499, "CANCELLED", Transient, Transient),
        (2, 500, "UNKNOWN", Transient, Transient),
        (3, 400, "INVALID_ARGUMENT", Config, Invalid),
        (4, 504, "DEADLINE_EXCEEDED", Transient, Transient),
        (5, 404, "NOT_FOUND", Config, Config),
        (6, 409, "ALREADY_EXISTS", Transient, Transient),
        (7, 403, "PERMISSION_DENIED", Config, Config),
        (8, 429, "RESOURCE_EXHAUSTED", THROTTLED, THROTTLED),
        (9, 400, "FAILED_PRECONDITION", Config, Config),
        (10, 409, "ABORTED", Transient, Transient),
        (11, 400, "OUT_OF_RANGE", Config, Config),
        (12, 501, "UNIMPLEMENTED", Config, Config),
        (13, 500, "INTERNAL", Transient, Transient),
        (14, 503, "UNAVAILABLE", Transient, Transient),
        (15, 500, "DATA_LOSS", Transient, Transient),
        (16, 401, "UNAUTHENTICATED", Unauthenticated, Unauthenticated),
    ]
};

fn pull(reply: &Reply) -> Option<CallFailure> {
    rest::read_pull(reply, Some(&token())).err()
}

fn leases(reply: &Reply) -> CallFailure {
    rest::read_answer(reply, &ids(&["one"]), Some(&token())).unwrap_err()
}

fn stream(reply: &Reply) -> CallFailure {
    match grpc::read_stream_end(reply, &HeaderMap::new(), Some(&token())) {
        StreamEnd::Failed(failure) => failure,
        other => panic!("{other:?}"),
    }
}

fn unary(reply: &Reply) -> CallFailure {
    let result = grpc::read_answer(reply, &HeaderMap::new(), &ids(&["one"]), Some(&token()));
    result.unwrap_err()
}

#[test]
fn a_code_is_the_same_on_both_wires() {
    for (code, http, name, to_messages, to_leases) in CODES {
        let reason = Reason::Pubsub {
            http,
            status: name.into(),
            message: "no".into(),
            error_reason: None,
        };
        let (document, status) = (error(http, name), trailers_only(code));
        let mut failures = vec![
            (stream(&status), to_messages),
            (unary(&status), to_leases),
            (leases(&document), to_leases),
        ];
        match pull(&document) {
            Some(failure) => failures.push((failure, to_messages)),
            None => assert_eq!(name, "DEADLINE_EXCEEDED"),
        }
        for (failure, class) in failures {
            assert_eq!(failure.class, class, "{name}");
            assert_eq!(*failure.reason, reason, "{name}");
            assert!(failure.ids.is_empty());
            let refused = (class == CallClass::Unauthenticated).then(token);
            assert_eq!(failure.refused, refused);
        }
    }
}

#[test]
fn the_status_goes_before_the_http_status() {
    assert_eq!(leases(&error(503, "NOT_FOUND")).class, CallClass::Config);
    assert_eq!(
        leases(&error(404, "UNAVAILABLE")).class,
        CallClass::Transient
    );
    // But for the one that asks for a pause by itself.
    assert_eq!(leases(&error(429, "INTERNAL")).class, THROTTLED);
}

#[test]
fn a_document_without_a_status_has_that_of_its_http_status() {
    for (_, http, name, to_messages, to_leases) in CODES {
        // 409 and 500 stand for several, all of them transient.
        let reply = reply(http, format!(r#"{{"error":{{"code":{http}}}}}"#));
        if name == "FAILED_PRECONDITION" || name == "OUT_OF_RANGE" {
            assert_eq!(leases(&reply).class, CallClass::Invalid);
            continue;
        }
        assert_eq!(leases(&reply).class, to_leases, "{name}");
        let to_pull = pull(&reply).map(|failure| failure.class);
        assert_eq!(to_pull, (http != 504).then_some(to_messages), "{name}");
    }
}

#[test]
fn a_page_is_judged_by_its_http_status_on_both_wires() {
    use CallClass::{Config, Transient, Unauthenticated};
    for (http, class) in [
        (301, Transient),
        (401, Unauthenticated),
        (403, Config),
        (404, Config),
        (408, Transient),
        (413, Transient),
        (415, Transient),
        (429, THROTTLED),
        (431, Transient),
        (500, Transient),
        (502, Transient),
        (503, Transient),
        (599, Transient),
        (204, Transient),
    ] {
        let page = reply(http, "<html>no</html>");
        let reason = Reason::Status {
            http,
            body: "<html>no</html>".into(),
        };
        for failure in [
            pull(&page).unwrap(),
            leases(&page),
            stream(&page),
            unary(&page),
        ] {
            assert_eq!(failure.class, class, "{http}");
            assert_eq!(*failure.reason, reason, "{http}");
            assert_eq!(failure.refused.is_some(), class == Unauthenticated);
        }
    }
}

#[test]
fn leases_that_a_page_refuses_are_tried_a_few_times_only() {
    let page = reply(400, "<html>no</html>");
    for failure in [leases(&page), unary(&page)] {
        assert_eq!(failure.class, CallClass::Invalid);
    }
    for failure in [pull(&page).unwrap(), stream(&page)] {
        assert_eq!(failure.class, CallClass::Transient);
    }
}

#[test]
fn nothing_within_a_deadline_is_an_empty_pull() {
    for empty in [
        reply(504, "<html>"),
        reply(504, ""),
        reply(504, r#"{"error":{"code":504}}"#),
        error(504, "DEADLINE_EXCEEDED"),
        error(408, "DEADLINE_EXCEEDED"),
    ] {
        let pulled = rest::read_pull(&empty, None).unwrap();
        assert!(pulled.messages.is_empty() && pulled.unreadable.is_empty());
        assert_eq!(leases(&empty).class, CallClass::Transient);
    }
    assert_eq!(
        pull(&error(504, "NOT_FOUND")).unwrap().class,
        CallClass::Config
    );
}

fn document(http: u16, details: serde_json::Value) -> Reply {
    let mut error = json!({ "code": http, "status": "PERMISSION_DENIED" });
    error["details"] = details;
    reply(http, json!({ "error": error }).to_string())
}

#[test]
fn a_403_for_a_rate_is_no_matter_of_rights() {
    let info = |reason: &str| json!([{ "@type": "x/google.rpc.ErrorInfo", "reason": reason }]);
    assert_eq!(
        leases(&document(403, info("RATE_LIMIT_EXCEEDED"))).class,
        THROTTLED
    );
    assert_eq!(
        pull(&document(403, info("RATE_LIMIT_EXCEEDED")))
            .unwrap()
            .class,
        THROTTLED
    );
    assert_eq!(
        leases(&document(403, info("SERVICE_DISABLED"))).class,
        CallClass::Config
    );
    for reason in [
        "rateLimitExceeded",
        "userRateLimitExceeded",
        "quotaExceeded",
    ] {
        let body = json!({ "error": { "code": 403, "errors": [{ "reason": reason }] } });
        assert_eq!(leases(&reply(403, body.to_string())).class, THROTTLED);
    }
}

#[test]
fn a_pause_that_is_named_is_the_least() {
    let throttled = |ms| CallClass::Throttled(Some(Duration::from_millis(ms)));
    for mut answer in [
        error(429, "RESOURCE_EXHAUSTED"),
        error(503, "UNAVAILABLE"),
        reply(503, ""),
    ] {
        answer.headers.insert("retry-after", "12".parse().unwrap());
        assert_eq!(leases(&answer).class, throttled(12_000));
        assert_eq!(pull(&answer).unwrap().class, throttled(12_000));
    }
    // It changes nothing of what cannot pass by itself.
    let mut answer = error(404, "NOT_FOUND");
    answer.headers.insert("retry-after", "12".parse().unwrap());
    assert_eq!(leases(&answer).class, CallClass::Config);
    // Of two the longer one.
    let body = r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":
        [{"@type":"x/google.rpc.RetryInfo","retryDelay":"0.5s"}]}}"#;
    let mut answer = reply(429, body);
    assert_eq!(leases(&answer).class, throttled(500));
    answer.headers.insert("retry-after", "1".parse().unwrap());
    assert_eq!(leases(&answer).class, throttled(1_000));
    let mut answer = trailers_only(14);
    assert_eq!(stream(&answer).class, CallClass::Transient);
    let (seconds, nanos) = (1, 500_000_000);
    let info = oracle::RetryInfo {
        retry_delay: Some(oracle::Duration { seconds, nanos }),
    };
    let details = oracle::details(14, "RetryInfo", &info);
    let details = headers([("grpc-status-details-bin", &*details)]);
    answer.headers.extend(details);
    assert_eq!(stream(&answer).class, throttled(1_500));
    assert_eq!(unary(&answer).class, throttled(1_500));
}

#[test]
fn a_broken_connection_is_transient() {
    let failure = transport_failure(TransportKind::Connection, "reset", None);
    assert_eq!(failure.class, CallClass::Transient);
    assert_eq!(failure.reason.kind(), "transport");
}
