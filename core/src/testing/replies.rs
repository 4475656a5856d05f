//! What servers say: replies for scripted servers and for tests of your own handling.
//!
//! ```
//! use std::time::Duration;
//! use pubsink_core::testing::replies;
//! use pubsink_core::wire::{Verdict, read_reply};
//!
//! let reply = replies::error(429, "RESOURCE_EXHAUSTED", "slow down")
//!     .reason("RATE_LIMIT_EXCEEDED")
//!     .retry_delay(Duration::from_millis(1_500));
//! let Verdict::Throttled { at_least, .. } = read_reply(&reply.build(), 1) else { unreachable!() };
//! assert_eq!(at_least, Some(Duration::from_millis(1_500)));
//! ```

use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue};
use serde_json::{Value, json};

use crate::wire::Reply;

/// 200 with these message ids, as Pub/Sub confirms a request of as many messages.
#[must_use]
pub fn ids<I>(ids: I) -> Reply
where
    I: IntoIterator,
    I::Item: AsRef<str>,
{
    let ids: Vec<_> = ids.into_iter().map(|id| Value::from(id.as_ref())).collect();
    reply(
        200,
        "application/json",
        json!({ "messageIds": ids }).to_string(),
    )
}

/// A Google error document: `status` is for example `NOT_FOUND`, `message` is for people.
pub fn error(http: u16, status: &str, message: &str) -> ErrorReply {
    ErrorReply {
        http,
        status: status.to_owned(),
        message: message.to_owned(),
        errors: None,
        details: Vec::new(),
        retry_after: None,
    }
}

/// A page of HTML, as a proxy or a load balancer before Pub/Sub answers.
#[must_use]
pub fn page(http: u16, html: impl Into<Bytes>) -> Reply {
    reply(http, "text/html", html)
}

/// An error document in the making. [`build`](Self::build) or `into` makes it a [`Reply`], or an
/// [`Answer`](super::Answer).
#[derive(Debug, Clone)]
#[must_use]
pub struct ErrorReply {
    http: u16,
    status: String,
    message: String,
    errors: Option<String>,
    details: Vec<Value>,
    retry_after: Option<Duration>,
}

impl ErrorReply {
    /// With an ErrorInfo of this reason, for example `RATE_LIMIT_EXCEEDED`.
    pub fn reason(mut self, reason: &str) -> Self {
        self.details.push(json!({
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": reason,
            "domain": "googleapis.com",
        }));
        self
    }

    /// With this reason in the legacy `errors` list, for example `quotaExceeded`.
    pub fn legacy_reason(mut self, reason: &str) -> Self {
        self.errors = Some(reason.to_owned());
        self
    }

    /// With a RetryInfo that asks for this pause.
    pub fn retry_delay(mut self, pause: Duration) -> Self {
        let delay = format!("{}.{:09}s", pause.as_secs(), pause.subsec_nanos());
        self.details.push(json!({
            "@type": "type.googleapis.com/google.rpc.RetryInfo",
            "retryDelay": delay,
        }));
        self
    }

    /// With a `Retry-After` header; it counts whole seconds, so a fraction is rounded up.
    pub fn retry_after(mut self, pause: Duration) -> Self {
        self.retry_after = Some(pause);
        self
    }

    /// The reply.
    #[must_use]
    pub fn build(self) -> Reply {
        let mut error = json!({
            "code": self.http,
            "message": self.message,
            "status": self.status,
        });
        if let Some(reason) = self.errors {
            let domain = "global";
            error["errors"] =
                json!([{ "message": self.message, "domain": domain, "reason": reason }]);
        }
        if !self.details.is_empty() {
            error["details"] = self.details.into();
        }
        let body = json!({ "error": error }).to_string();
        let reply = reply(self.http, "application/json", body);
        match self.retry_after {
            Some(pause) => reply.with_retry_after(pause),
            None => reply,
        }
    }
}

impl From<ErrorReply> for Reply {
    fn from(reply: ErrorReply) -> Self {
        reply.build()
    }
}

impl Reply {
    /// The same reply with a `Retry-After` header; it counts whole seconds, so a fraction is
    /// rounded up. Feature `test-util`.
    #[must_use]
    pub fn with_retry_after(mut self, pause: Duration) -> Self {
        let seconds = pause.as_secs() + u64::from(pause.subsec_nanos() > 0);
        self.headers.insert(RETRY_AFTER, seconds.into());
        self
    }
}

fn reply(status: u16, content_type: &'static str, body: impl Into<Bytes>) -> Reply {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    Reply {
        status,
        headers,
        body: body.into(),
        received_at_ms: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reason::Reason;
    use crate::wire::{ErrorDocument, Verdict, read_reply};

    #[test]
    fn an_error_reply_says_all_it_was_given() {
        let reply = error(403, "PERMISSION_DENIED", "a \"quoted\" text")
            .reason("IAM")
            .legacy_reason("forbidden")
            .retry_delay(Duration::from_millis(1_250))
            .retry_after(Duration::from_millis(2_001))
            .build();
        let document = ErrorDocument::parse(&reply.body).unwrap();
        assert_eq!(document.status, "PERMISSION_DENIED");
        assert_eq!(document.message, "a \"quoted\" text");
        assert_eq!(document.infos[0].reason, "IAM");
        assert_eq!(document.legacy_reasons, ["forbidden"]);
        assert_eq!(document.retry_delay, Some(Duration::from_millis(1_250)));
        assert_eq!(reply.headers[RETRY_AFTER], "3");
    }

    #[test]
    fn ids_confirm_and_a_page_is_no_error_document() {
        let Verdict::Delivered(read) = read_reply(&ids(["1", "\"2\""]), 2) else {
            panic!("it is no confirmation");
        };
        assert_eq!(read[1].as_str(), "\"2\"");
        let reply = page(503, "<html>").with_retry_after(Duration::from_secs(7));
        let Verdict::Throttled {
            reason, at_least, ..
        } = read_reply(&reply, 1)
        else {
            panic!("it asks for no pause");
        };
        assert_eq!(at_least, Some(Duration::from_secs(7)));
        assert!(matches!(reason, Reason::Status { http: 503, .. }));
    }
}
