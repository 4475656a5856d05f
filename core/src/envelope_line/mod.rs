//! Envelopes as lines of text: NDJSON, one envelope a line.
//!
//! ```text
//! {"id":"…","source_id":"github","received_at":1764500000332,"headers":{"X-Event":"push"},"body":"{}"}
//! ```
//!
//! | key | value | where it is absent |
//! |---|---|---|
//! | `id` | text, not empty | the caller's default |
//! | `source_id` | text | `cli` |
//! | `tenant_id`, `content_type`, `dedupe_key` | text | none |
//! | `received_at` | integer, unix milliseconds | the time now |
//! | `method`, `path` | text | `POST`, `/` |
//! | `headers` | an object or a list of `[name, value]` pairs | none |
//! | `body` | text: its UTF-8 is the body | empty body |
//! | `body_base64` | padded standard base64 | empty body |
//! | `size` | integer, the body's length | not checked |
//!
//! A header's value is text or, for bytes that are not UTF-8, `{"base64":"…"}`. In an object it
//! may also be a list of such values: the header came that often. Headers keep the order of the
//! line.
//!
//! `null` is the same as absent, and keys that are not in the table are ignored. Both bodies, a
//! key of the table that comes twice, and a value of another kind are errors. Empty text is kept:
//! an empty tenant or dedupe key counts as none when the message is made.
//!
//! [`to_line`] writes what [`parse()`] reads back to the same envelope.

mod error;
mod headers;
mod parse;
mod write;

use bytes::Bytes;

use crate::envelope::Envelope;

pub use error::{LineError, LineProblem};
pub use parse::parse;
pub use write::to_line;

/// The source of an envelope whose line names none.
pub const DEFAULT_SOURCE_ID: &str = "cli";

/// The method of an envelope whose line names none.
pub const DEFAULT_METHOD: &str = "POST";

/// The path of an envelope whose line names none.
pub const DEFAULT_PATH: &str = "/";

/// What a line said.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct EnvelopeLine {
    /// The hook's id, never empty.
    pub id: Option<String>,
    /// The source.
    pub source_id: Option<String>,
    /// The tenant.
    pub tenant_id: Option<String>,
    /// When the hook was received, unix milliseconds.
    pub received_at: Option<i64>,
    /// The request's method.
    pub method: Option<String>,
    /// The request's path.
    pub path: Option<String>,
    /// The request's headers in the line's order.
    pub headers: Vec<(String, Bytes)>,
    /// The content type.
    pub content_type: Option<String>,
    /// The body, from `body` or `body_base64`.
    pub body: Bytes,
    /// The provider's key for the event.
    pub dedupe_key: Option<String>,
}

impl EnvelopeLine {
    /// The envelope, with what the line left out filled in: `default_id` is only called where
    /// there is no id, `now_ms` is used where there is no `received_at`.
    #[must_use]
    pub fn into_envelope(self, default_id: impl FnOnce() -> String, now_ms: i64) -> Envelope {
        let or = |text: Option<String>, default: &str| text.unwrap_or_else(|| default.to_owned());
        Envelope {
            id: self.id.unwrap_or_else(default_id),
            source_id: or(self.source_id, DEFAULT_SOURCE_ID),
            tenant_id: self.tenant_id,
            received_at: self.received_at.unwrap_or(now_ms),
            method: or(self.method, DEFAULT_METHOD),
            path: or(self.path, DEFAULT_PATH),
            headers: self.headers,
            content_type: self.content_type,
            body: self.body,
            dedupe_key: self.dedupe_key,
        }
    }
}
