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
    let keep = |id| keep_id(id, reply.body.len(), expected);
    if let Some(ids) = message_ids::scan(&reply.body, expected, keep) {
        return Verdict::Delivered(ids);
    }
    // A list of fields would be read as the object too.
    let is_object = reply.body.trim_ascii_start().starts_with(b"{");
    match serde_json::from_slice::<PublishReply<'_>>(&reply.body) {
        Ok(parsed) if is_object && parsed.message_ids.len() == expected => {
            let ids = parsed.message_ids.into_iter().filter_map(|Id(id)| {
                MessageId::from_utf8(match id {
                    Cow::Borrowed(id) => keep(reply.body.slice_ref(id.as_bytes())),
                    Cow::Owned(id) => Bytes::from(id),
                })
            });
            Verdict::Delivered(ids.collect())
        }
        _ => unexpected(reply, token),
    }
}

/// An id that is a slice of a body of `body_len` bytes with `expected` ids. A slice keeps the
/// whole body, so of a padded one the id is copied.
pub(super) fn keep_id(id: Bytes, body_len: usize, expected: usize) -> Bytes {
    match body_len > 1_024 + 64 * expected {
        true => Bytes::copy_from_slice(&id),
        false => id,
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

    /// A reply with `expected` ids whose body is `len` bytes long.
    fn padded(expected: usize, len: usize) -> Reply {
        let ids = vec!["\"17\""; expected].join(",");
        let body = format!("{{\"messageIds\":[{ids}]}}");
        let padding = " ".repeat(len - body.len());
        Reply {
            status: 200,
            body: format!("{body}{padding}").into(),
            ..Reply::default()
        }
    }

    fn is_a_slice(reply: &Reply, id: &MessageId) -> bool {
        reply.body.as_ptr_range().contains(&id.as_str().as_ptr())
    }

    #[test]
    fn ids_are_slices_of_a_reply_and_copies_from_one_that_is_mostly_something_else() {
        for expected in [1, 3, 100] {
            let limit = 1_024 + 64 * expected;
            for (len, slices) in [(limit - 1, true), (limit, true), (limit + 1, false)] {
                let reply = padded(expected, len);
                let Verdict::Delivered(ids) = read_reply(&reply, expected) else {
                    panic!("{len}");
                };
                assert_eq!(ids.len(), expected);
                assert!(ids.iter().all(|id| id.as_str() == "17"));
                assert!(
                    ids.iter().all(|id| is_a_slice(&reply, id) == slices),
                    "{len}"
                );
            }
        }
    }
}
