//! The table of replies, row by row.

use pubsink_core::failure::{Class, ErrorClass};
use pubsink_core::wire::Reply;

use crate::sim::answers::{Answer, error, reply};
use crate::sim::{Sim, defaults};

/// What becomes of the messages of a request that was answered so.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fate {
    Permanent,
    Config,
    Throttled,
    Transient,
}
use Fate::{Config, Permanent, Throttled, Transient};

#[derive(Debug)]
struct Row {
    reply: Reply,
    fate: Fate,
    reason: &'static str,
    maybe_stored: bool,
    /// Whether several messages are halved.
    halved: bool,
}

fn row(reply: Reply, fate: Fate, reason: &'static str) -> Row {
    Row {
        reply,
        fate,
        reason,
        maybe_stored: false,
        halved: false,
    }
}

impl Row {
    fn maybe_stored(mut self) -> Self {
        self.maybe_stored = true;
        self
    }

    fn halved(mut self) -> Self {
        self.halved = true;
        self
    }

    fn check(&self) {
        for count in [1, 3] {
            let answer = Answer::reply(self.reply.clone());
            let mut sim = Sim::new(&defaults(), move |_| answer.clone());
            sim.admit_all(0..count);
            sim.run();
            // Three are halved into one and two, two into one and one.
            let requests = if self.halved && count == 3 { 5 } else { 1 };
            assert_eq!(sim.requests().len(), requests, "{self:?}");
            for tag in 0..count {
                self.check_failure(&sim, tag);
            }
            sim.assert_quiescent();
        }
    }

    fn check_failure(&self, sim: &Sim, tag: u64) {
        let failure = sim.failure(tag);
        let fate = match failure.class {
            Class::Permanent => Permanent,
            Class::Config => Config,
            Class::RetryAfter(_) => Throttled,
            Class::Transient => Transient,
        };
        assert_eq!(fate, self.fate, "{self:?}");
        assert_eq!(failure.class.is_config(), self.fate == Config);
        let operators = match self.fate {
            Permanent | Config => ErrorClass::Permanent,
            Throttled => ErrorClass::Throttled,
            Transient => ErrorClass::Transient,
        };
        assert_eq!(failure.class.error_class(), operators);
        assert_eq!(failure.reason.kind(), self.reason, "{self:?}");
        assert_eq!(failure.may_have_been_stored, self.maybe_stored, "{self:?}");
    }
}

#[test]
fn an_error_document_is_judged_by_its_status() {
    row(error(400, "INVALID_ARGUMENT"), Permanent, "pubsub")
        .halved()
        .check();
    row(error(404, "NOT_FOUND"), Config, "pubsub").check();
    row(error(403, "PERMISSION_DENIED"), Config, "pubsub").check();
    row(error(401, "UNAUTHENTICATED"), Config, "pubsub").check();
    row(error(429, "RESOURCE_EXHAUSTED"), Throttled, "pubsub").check();
    row(error(503, "UNAVAILABLE"), Throttled, "pubsub")
        .maybe_stored()
        .check();
}

#[test]
fn any_other_error_document_is_transient() {
    for (http, status) in [
        (400, "FAILED_PRECONDITION"),
        (400, "OUT_OF_RANGE"),
        (403, ""),
        (400, ""),
        (404, "invalid_argument"),
    ] {
        row(error(http, status), Transient, "pubsub").check();
    }
    for (http, status) in [
        (409, "ABORTED"),
        (499, "CANCELLED"),
        (500, "INTERNAL"),
        (500, "UNKNOWN"),
        (501, "UNIMPLEMENTED"),
        (504, "DEADLINE_EXCEEDED"),
        (500, "DATA_LOSS"),
    ] {
        row(error(http, status), Transient, "pubsub")
            .maybe_stored()
            .check();
    }
}

#[test]
fn the_status_field_goes_before_the_http_status() {
    row(error(429, "INVALID_ARGUMENT"), Permanent, "pubsub")
        .halved()
        .check();
    row(error(429, "NOT_FOUND"), Config, "pubsub").check();
    row(error(413, "RESOURCE_EXHAUSTED"), Throttled, "pubsub").check();
    row(error(400, "RESOURCE_EXHAUSTED"), Throttled, "pubsub").check();
    row(error(404, "INVALID_ARGUMENT"), Permanent, "pubsub")
        .halved()
        .check();
}

#[test]
fn where_the_status_field_says_nothing_http_429_and_503_are_throttled() {
    row(error(429, "ABORTED"), Throttled, "pubsub").check();
    row(error(429, ""), Throttled, "pubsub").check();
    row(error(503, "INTERNAL"), Throttled, "pubsub")
        .maybe_stored()
        .check();
    row(reply(429, r#"{"error":{"code":429}}"#), Throttled, "pubsub").check();
}

#[test]
fn without_an_error_document_the_http_status_decides() {
    for http in [400, 401, 403, 404, 411, 431, 100, 301, 302, 304, 307, 418] {
        row(reply(http, "<html>"), Transient, "status").check();
    }
    for http in [
        201, 204, 206, 408, 409, 499, 500, 501, 502, 504, 529, 599, 999,
    ] {
        row(reply(http, ""), Transient, "status")
            .maybe_stored()
            .check();
    }
    row(reply(429, "slow down"), Throttled, "status").check();
    row(reply(503, "upstream connect error"), Throttled, "status")
        .maybe_stored()
        .check();
}

#[test]
fn what_is_no_googles_error_document_is_not_read_as_one() {
    for body in [
        r#"{"error":"invalid_grant","error_description":"…"}"#,
        r#"{"error":{"message":"INVALID_ARGUMENT"}}"#,
        r#"{"code":400,"status":"INVALID_ARGUMENT"}"#,
        r#"{"error":[{"status":"INVALID_ARGUMENT"}]}"#,
        r#"[]"#,
        r#"[[{"error":{"status":"INVALID_ARGUMENT"}}]]"#,
        r#"{"error":{"code":400,"status":"INVALID_ARGUMENT"}"#,
        r#"INVALID_ARGUMENT"#,
    ] {
        row(reply(400, body), Transient, "status").check();
    }
}

#[test]
fn an_error_document_in_an_array_is_read_like_a_plain_one() {
    let wrapped = |http, status: &str| {
        let body = format!(r#"[{{"error":{{"code":{http},"status":"{status}"}}}}]"#);
        reply(http, body)
    };
    row(wrapped(400, "INVALID_ARGUMENT"), Permanent, "pubsub")
        .halved()
        .check();
    row(wrapped(404, "NOT_FOUND"), Config, "pubsub").check();
    row(wrapped(500, "INTERNAL"), Transient, "pubsub")
        .maybe_stored()
        .check();
}

#[test]
fn http_413_is_halved_and_transient_for_a_single_message() {
    for body in ["", "<html>Request Entity Too Large</html>"] {
        row(reply(413, body), Transient, "status").halved().check();
    }
    row(error(413, "FAILED_PRECONDITION"), Transient, "pubsub")
        .halved()
        .check();
}

#[test]
fn a_403_that_names_a_rate_limit_is_throttled() {
    let info = |reason: &str| {
        let info = serde_json::json!({
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": reason,
            "domain": "googleapis.com",
        });
        let error =
            serde_json::json!({ "code": 403, "status": "PERMISSION_DENIED", "details": [info] });
        reply(403, serde_json::json!({ "error": error }).to_string())
    };
    let legacy = |http: u16, reason: &str| {
        let errors = serde_json::json!([{ "domain": "usageLimits", "reason": reason }]);
        let error = serde_json::json!({ "code": http, "message": "no", "errors": errors });
        reply(http, serde_json::json!({ "error": error }).to_string())
    };
    row(info("RATE_LIMIT_EXCEEDED"), Throttled, "pubsub").check();
    row(info("SERVICE_DISABLED"), Config, "pubsub").check();
    for reason in [
        "rateLimitExceeded",
        "userRateLimitExceeded",
        "quotaExceeded",
    ] {
        row(legacy(403, reason), Throttled, "pubsub").check();
        // Only a 403 is read so.
        row(legacy(400, reason), Transient, "pubsub").check();
    }
    row(legacy(403, "forbidden"), Transient, "pubsub").check();
}

#[test]
fn a_200_without_exactly_one_id_for_each_message_is_unexpected() {
    for body in [
        "",
        "{}",
        "null",
        "[]",
        "<html>ok</html>",
        r#"{"messageIds":null}"#,
        r#"{"messageIds":{}}"#,
        r#"{"messageIds":[]}"#,
        r#"{"messageIds":["1","2"]}"#,
        r#"{"messageIds":["1","2","3","4"]}"#,
        r#"{"messageIds":[1]}"#,
        r#"{"messageIds":[1,2,3]}"#,
        r#"{"messageIds":["1",null,"3"]}"#,
        r#"{"messageids":["1"]}"#,
        r#"{"messageIds":["1"]"#,
        r#"[["1"]]"#,
        r#"[["1","2","3"]]"#,
        r#"{"messageIds":["1"],"messageIds":["1"]}"#,
        r#"{"error":{"code":400,"status":"INVALID_ARGUMENT"}}"#,
    ] {
        row(reply(200, body), Transient, "unexpected_reply")
            .maybe_stored()
            .check();
    }
}

#[test]
fn a_200_with_one_id_for_each_message_delivers_them_in_order() {
    for (body, ids) in [
        (r#"{"messageIds":["1"]}"#, vec!["1"]),
        (
            "{\n  \"messageIds\": [\"12\", \"11\", \"10\"]\n}\n",
            vec!["12", "11", "10"],
        ),
        (
            r#"{"new":[1,{"x":"}"}],"messageIds":["a\/b","\u00e9","☃"],"etag":null}"#,
            vec!["a/b", "é", "☃"],
        ),
    ] {
        let mut sim = Sim::new(&defaults(), move |_| Answer::reply(reply(200, body)));
        sim.admit_all(0..ids.len() as u64);
        sim.run();
        for (tag, id) in (0..).zip(ids) {
            assert_eq!(sim.delivered(tag), id);
        }
        assert_eq!(sim.requests().len(), 1);
    }
}
