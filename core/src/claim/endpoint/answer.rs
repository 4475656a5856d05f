//! The answers a claim endpoint gives.

use std::ops::Range;

use bytes::Bytes;
use http::header::{
    ACCEPT_RANGES, ALLOW, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, RETRY_AFTER,
    WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderValue, StatusCode};

/// How much of a claim a server fetches at once: enough that the store's latency is not felt, and
/// little beside what a connection takes anyway.
pub const PIECE_BYTES: u64 = 1024 * 1024;

/// An answer: its head is complete, `content-length` included.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Answer {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body. Empty for a `HEAD`, whatever `content-length` says.
    pub body: Body,
}

/// The body of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// These bytes.
    Bytes(Bytes),
    /// These bytes of the claim, to be sent in [`pieces`].
    Claim(Range<u64>),
}

/// A range in pieces of at most `max` bytes, in order.
pub fn pieces(range: Range<u64>, max: u64) -> impl Iterator<Item = Range<u64>> + Send {
    let mut at = range.start;
    std::iter::from_fn(move || {
        let start = at;
        at = range.end.min(start.saturating_add(max.max(1)));
        (start < at).then_some(start..at)
    })
}

impl Answer {
    pub(super) fn whole(size: u64) -> Self {
        Self::of_claim(StatusCode::OK, 0..size)
    }

    pub(super) fn part(range: Range<u64>, size: u64) -> Self {
        let last = range.end.saturating_sub(1);
        let content_range = ascii(format!("bytes {}-{last}/{size}", range.start));
        Self::of_claim(StatusCode::PARTIAL_CONTENT, range).with(CONTENT_RANGE, content_range)
    }

    /// A range that has nothing of the claim.
    pub(super) fn outside(size: u64) -> Self {
        Self::error(416, "the range has nothing of the claim")
            .with(CONTENT_RANGE, ascii(format!("bytes */{size}")))
            .with(ACCEPT_RANGES, HeaderValue::from_static("bytes"))
    }

    pub(super) fn healthy() -> Self {
        Self::json(StatusCode::OK, &serde_json::json!({"status": "ok"}))
    }

    pub(super) fn method_not_allowed() -> Self {
        Self::error(405, "claims are read only").with(ALLOW, HeaderValue::from_static("GET, HEAD"))
    }

    /// No token, or one that is not known.
    pub(super) fn unauthorized(presented: bool) -> Self {
        match presented {
            true => Self::error(401, "the token is not known").with(
                WWW_AUTHENTICATE,
                HeaderValue::from_static(r#"Bearer realm="claims", error="invalid_token""#),
            ),
            false => Self::error(401, "claims need a bearer token").with(
                WWW_AUTHENTICATE,
                HeaderValue::from_static(r#"Bearer realm="claims""#),
            ),
        }
    }

    pub(super) fn forbidden() -> Self {
        Self::error(403, "the token is not one for this tenant").with(
            WWW_AUTHENTICATE,
            HeaderValue::from_static(r#"Bearer realm="claims", error="insufficient_scope""#),
        )
    }

    pub(super) fn unavailable() -> Self {
        Self::error(503, "the claim store is unavailable").with(RETRY_AFTER, HeaderValue::from(1))
    }

    pub(super) fn error(status: u16, error: &str) -> Self {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self::json(status, &serde_json::json!({"error": error}))
    }

    /// The same without its body, as a `HEAD` is answered.
    pub(super) fn head_only(mut self) -> Self {
        self.body = Body::Bytes(Bytes::new());
        self
    }

    fn of_claim(status: StatusCode, range: Range<u64>) -> Self {
        let size = range.end.saturating_sub(range.start);
        Self::new(status, "application/octet-stream", size, Body::Claim(range))
            .with(ACCEPT_RANGES, HeaderValue::from_static("bytes"))
    }

    fn json(status: StatusCode, value: &serde_json::Value) -> Self {
        let body = Bytes::from(value.to_string());
        let size = body.len() as u64;
        Self::new(status, "application/json", size, Body::Bytes(body))
    }

    fn new(status: StatusCode, content_type: &'static str, size: u64, body: Body) -> Self {
        let headers = HeaderMap::from_iter([
            (CONTENT_TYPE, HeaderValue::from_static(content_type)),
            (CONTENT_LENGTH, HeaderValue::from(size)),
            // A claim never changes, but it is redeemed once, and is nobody else's: a copy in a
            // cache helps no one.
            (CACHE_CONTROL, HeaderValue::from_static("no-store")),
            // Whatever a sender wrote, no browser is to take it for a page.
            (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        ]);
        Self {
            status,
            headers,
            body,
        }
    }

    fn with(mut self, name: http::HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }
}

fn ascii(text: String) -> HeaderValue {
    HeaderValue::try_from(text).expect("digits and words")
}
