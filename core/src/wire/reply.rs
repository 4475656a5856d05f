//! A reply to a publish request over REST, and what a reply means for the request's messages.

use std::borrow::Cow;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use serde::Deserialize;

use super::error_document::ErrorDocument;
use super::message_ids;
use super::retry_hint::parse_retry_after;
use super::shown::shown;
use crate::failure::MessageId;
use crate::reason::Reason;
use crate::token::Token;

/// An HTTP reply, body read (or cut at the transport's limit).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
    /// When it came, unix milliseconds: a `Retry-After` may be a date.
    pub received_at_ms: u64,
}

/// What a reply means for all messages of its request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Verdict {
    /// Stored, one id for each message, in order.
    Delivered(Vec<MessageId>),
    /// A message was refused: a single one for good, several are bisected to find it.
    Refused(Reason),
    /// The request was too large (HTTP 413): several messages are halved; for a single one it is
    /// transient like any other reply that is no error document.
    TooLarge(Reason),
    /// The token was refused: one fresh token is tried, then it is a config failure.
    Unauthenticated(Reason),
    /// The topic or the rights are wrong, no message is.
    Config(Reason),
    /// The service asks for a pause.
    Throttled {
        /// What it said.
        reason: Reason,
        /// The least pause it named. Serialized as `at_least_ms`.
        #[cfg_attr(
            feature = "serde",
            serde(
                rename = "at_least_ms",
                skip_serializing_if = "Option::is_none",
                serialize_with = "as_millis"
            )
        )]
        at_least: Option<Duration>,
        /// Whether the messages may have been stored all the same.
        may_have_been_stored: bool,
    },
    /// It may pass by itself.
    Transient {
        /// What it said.
        reason: Reason,
        /// Whether the messages may have been stored all the same.
        may_have_been_stored: bool,
    },
}

/// Reads the reply to a request of `expected` messages over REST.
///
/// The class is decided by the document's `status`, then the HTTP status, never by message text;
/// a body that cannot be read never changes it.
#[must_use]
pub fn read_reply(reply: &Reply, expected: usize) -> Verdict {
    read_reply_hiding(reply, expected, None)
}

/// The same; where the reply repeats `token`, as a proxy's error page may, no reason does.
pub(crate) fn read_reply_hiding(reply: &Reply, expected: usize, token: Option<&Token>) -> Verdict {
    if reply.status == 200 {
        return read_ids(reply, expected, token);
    }
    let at_least = parse_retry_after(&reply.headers, reply.received_at_ms);
    match ErrorDocument::parse(&reply.body) {
        Some(document) => read_document(reply.status, &document, at_least, token),
        None => read_status(reply, at_least, token),
    }
}

/// What an error document means that came with HTTP status `http`.
pub(super) fn read_document(
    http: u16,
    document: &ErrorDocument,
    header: Option<Duration>,
    token: Option<&Token>,
) -> Verdict {
    let reason = document.to_reason(http, token);
    let throttled = |reason| Verdict::Throttled {
        reason,
        at_least: header.max(document.retry_delay),
        may_have_been_stored: may_have_been_stored(http),
    };
    match document.status.as_str() {
        _ if document.is_rate_limit(http) => throttled(reason),
        "INVALID_ARGUMENT" => Verdict::Refused(reason),
        "NOT_FOUND" | "PERMISSION_DENIED" => Verdict::Config(reason),
        "UNAUTHENTICATED" => Verdict::Unauthenticated(reason),
        "RESOURCE_EXHAUSTED" => throttled(reason),
        _ => match http {
            429 | 503 => throttled(reason),
            413 => Verdict::TooLarge(reason),
            _ => Verdict::Transient {
                reason,
                may_have_been_stored: may_have_been_stored(http),
            },
        },
    }
}

fn read_status(reply: &Reply, at_least: Option<Duration>, token: Option<&Token>) -> Verdict {
    let http = reply.status;
    let reason = Reason::Status {
        http,
        body: shown(&reply.body, token),
    };
    let may_have_been_stored = may_have_been_stored(http);
    match http {
        429 | 503 => Verdict::Throttled {
            reason,
            at_least,
            may_have_been_stored,
        },
        413 => Verdict::TooLarge(reason),
        _ => Verdict::Transient {
            reason,
            may_have_been_stored,
        },
    }
}

/// Whether a server that answers with `http` may have stored the messages: another success, a
/// request it gave up on in the middle, a fault of its own.
fn may_have_been_stored(http: u16) -> bool {
    matches!(http, 200..=299 | 408 | 409 | 499 | 500..)
}

/// A publish reply. Unknown keys are passed over.
#[derive(Deserialize)]
struct PublishReply<'a> {
    #[serde(borrow, rename = "messageIds")]
    message_ids: Vec<Id<'a>>,
}

/// One id, borrowed from the reply where it has no escapes.
#[derive(Deserialize)]
struct Id<'a>(#[serde(borrow)] Cow<'a, str>);

fn read_ids(reply: &Reply, expected: usize, token: Option<&Token>) -> Verdict {
    if let Some(ids) = message_ids::scan(&reply.body, expected) {
        return Verdict::Delivered(ids);
    }
    // A list of fields would be read as the object too.
    let is_object = reply.body.trim_ascii_start().starts_with(b"{");
    match serde_json::from_slice::<PublishReply<'_>>(&reply.body) {
        Ok(parsed) if is_object && parsed.message_ids.len() == expected => {
            let ids = parsed.message_ids.iter().map(|Id(id)| MessageId::new(id));
            Verdict::Delivered(ids.collect())
        }
        _ => unexpected(reply, token),
    }
}

/// A 200 that does not say what became of each message.
pub(super) fn unexpected(reply: &Reply, token: Option<&Token>) -> Verdict {
    Verdict::Transient {
        reason: Reason::UnexpectedReply {
            body: shown(&reply.body, token),
        },
        may_have_been_stored: true,
    }
}

#[cfg(feature = "serde")]
fn as_millis<S: serde::Serializer>(
    pause: &Option<Duration>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let millis = pause.map(|pause| u64::try_from(pause.as_millis()).unwrap_or(u64::MAX));
    serde::Serialize::serialize(&millis, serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_are_kept_keep_nothing_of_the_reply() {
        let long = "7".repeat(40);
        for body in [
            r#"{"messageIds":["17"]}"#.to_owned(),
            format!(r#"{{"messageIds":["{long}"]}}"#),
            r#"{"x":1,"messageIds":["17"]}"#.to_owned(),
        ] {
            let reply = Reply {
                status: 200,
                body: body.into(),
                ..Reply::default()
            };
            let verdict = read_reply(&reply, 1);
            assert!(matches!(&verdict, Verdict::Delivered(ids) if ids.len() == 1));
            assert!(reply.body.is_unique());
        }
    }
}
