//! The reasons a delivery can fail for.

use std::fmt;
use std::sync::Arc;

use crate::claim::ClaimError;
use crate::failure::ErrorClass;
use crate::text::Text;

/// What happened to a message that was not delivered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(tag = "kind", rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Reason {
    /// The message is larger than can be sent. Nothing was sent.
    #[error("the message takes {size} bytes {limit}, over the limit of {max}")]
    MessageTooLarge {
        /// Its size, by the limit's own measure.
        size: usize,
        /// The most that can be sent.
        max: usize,
        /// Which measure it is over.
        limit: SizeLimit,
    },
    /// The message breaks a rule of Pub/Sub or of the message format. Nothing was sent.
    #[error("the message is invalid: {0}")]
    InvalidMessage(InvalidMessage),
    /// Pub/Sub answered with an error document, or over gRPC with a status.
    #[error("Pub/Sub answered {http} {status}{}: {message}", reason_suffix(error_reason.as_ref()))]
    Pubsub {
        /// The HTTP status; of a gRPC call the one that its code stands for.
        http: u16,
        /// The document's `status`, empty where it had none; the name of the gRPC code.
        status: Text,
        /// The document's `message`, or `grpc-message`; empty where it had none.
        message: Text,
        /// The `reason` of its ErrorInfo, or else of its legacy `errors` list.
        #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
        error_reason: Option<Text>,
    },
    /// Something answered that is not Pub/Sub: a proxy, a load balancer.
    #[error("HTTP status {http} without a Pub/Sub error document: {body:?}")]
    Status {
        /// The HTTP status.
        http: u16,
        /// The head of the body.
        body: Text,
    },
    /// A 200 that does not carry one id for each message.
    #[error("a 200 reply without one message id for each message: {body:?}")]
    UnexpectedReply {
        /// The head of the body.
        body: Text,
    },
    /// An answer to a subscriber that says that all is well, and is not what was asked for.
    #[error("the answer cannot be read: {detail}")]
    UnreadableReply {
        /// What is wrong with it.
        detail: Text,
    },
    /// The token provider gave no token. Nothing was sent.
    #[error("no credentials: {detail}")]
    NoCredentials {
        /// What the provider said.
        detail: Text,
    },
    /// The request did not get through, or its reply did not.
    #[error("transport ({transport}): {detail}")]
    Transport {
        /// Where it broke.
        transport: TransportKind,
        /// What the transport said.
        detail: Text,
    },
    /// The publisher holds as much as it may. Nothing was sent.
    #[error("the batch queue is full: it holds its limit of {max} {ceiling}")]
    BatchQueueFull {
        /// Which ceiling was reached.
        ceiling: Ceiling,
        /// The ceiling.
        max: usize,
    },
    /// The body is too large to travel in the message, and its claim cannot be used.
    #[error("{0}")]
    ClaimCheck(ClaimProblem),
    /// An earlier message of its ordering key failed, and the key is held
    /// ([`OrderingOnFailure::Hold`](crate::options::OrderingOnFailure::Hold)) until it is resumed.
    /// Nothing was sent.
    ///
    /// The failure is [`Transient`](crate::failure::Class::Transient), whatever the first failure
    /// was: this message is not at fault, and it passes once its key is resumed. Trying it again
    /// before that gives the same refusal at once, without a request, so that a loop that retries
    /// by class does no harm. The first failure's own class stands in the reason.
    #[error("{0}")]
    KeyStopped(StoppedKey),
    /// A sink of the user's own failed, in its own words
    /// ([`Failure::transient`](crate::failure::Failure::transient) and its sisters), or broke: it
    /// panicked, or was dropped before it had answered.
    #[error("the sink failed: {detail}")]
    Sink {
        /// What the sink said.
        detail: Text,
    },
    /// The attempt was not done in its time (`attempt_timeout`) and was stopped.
    #[error("the attempt took longer than {after_ms} ms and was stopped")]
    AttemptTimeout {
        /// The time it had.
        after_ms: u64,
    },
}

impl Reason {
    /// The reason's kind, as operators write it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::MessageTooLarge { .. } => "message_too_large",
            Self::InvalidMessage(_) => "invalid_message",
            Self::Pubsub { .. } => "pubsub",
            Self::Status { .. } => "status",
            Self::UnexpectedReply { .. } => "unexpected_reply",
            Self::UnreadableReply { .. } => "unreadable_reply",
            Self::NoCredentials { .. } => "no_credentials",
            Self::Transport { .. } => "transport",
            Self::BatchQueueFull { .. } => "batch_queue_full",
            Self::ClaimCheck(_) => "claim_check",
            Self::KeyStopped(_) => "key_stopped",
            Self::Sink { .. } => "sink",
            Self::AttemptTimeout { .. } => "attempt_timeout",
        }
    }
}

fn reason_suffix(reason: Option<&Text>) -> String {
    reason.map_or_else(String::new, |reason| format!(" ({reason})"))
}

/// Which measure of a message is over its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum SizeLimit {
    /// Data, attribute names and values, and ordering key together (`max_message_bytes`).
    #[error("of data, attributes and ordering key")]
    Message,
    /// The HTTP body a request of this message alone would have.
    #[error("as the body of a request, where its data is base64 (over gRPC it is not)")]
    RequestBody,
    /// The protobuf a request of this message alone would be.
    #[error("as a protobuf request")]
    RequestProtobuf,
}

/// A rule a message breaks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(tag = "problem", rename_all = "snake_case"))]
#[non_exhaustive]
pub enum InvalidMessage {
    /// Pub/Sub takes no message without data and without attributes.
    #[error("it has neither data nor attributes; Pub/Sub needs one of them")]
    Blank,
    /// More attributes than Pub/Sub takes.
    #[error("it has {count} attributes; Pub/Sub takes at most {max}")]
    TooManyAttributes {
        /// How many it has.
        count: usize,
        /// How many it may have.
        max: usize,
    },
    /// An attribute's name is empty.
    #[error("an attribute's name is empty; Pub/Sub wants 1 to 256 bytes")]
    EmptyAttributeName,
    /// An attribute's name is too long.
    #[error("the name of attribute {name:?} has {size} bytes; Pub/Sub takes at most {max}")]
    AttributeNameTooLong {
        /// The head of the name.
        name: Text,
        /// Its size in bytes.
        size: usize,
        /// The most it may have.
        max: usize,
    },
    /// An attribute's name starts with `goog`.
    #[error("the name of attribute {name:?} starts with \"goog\", which Pub/Sub keeps for itself")]
    ReservedAttributeName {
        /// The name.
        name: Text,
    },
    /// An attribute's value is too long.
    #[error("the value of attribute {name:?} has {size} bytes; Pub/Sub takes at most {max}")]
    AttributeValueTooLong {
        /// The attribute.
        name: Text,
        /// Its size in bytes.
        size: usize,
        /// The most it may have.
        max: usize,
    },
    /// The ordering key is too long.
    #[error("the ordering key has {size} bytes; Pub/Sub takes at most {max}")]
    OrderingKeyTooLong {
        /// Its size in bytes.
        size: usize,
        /// The most it may have.
        max: usize,
    },
    /// A header to be forwarded is not text.
    #[error("the value of header {name:?} is not UTF-8, so it cannot be forwarded unchanged")]
    HeaderNotUtf8 {
        /// The header's name, lowercased.
        name: Text,
    },
    /// The envelope's id is empty.
    #[error("the envelope's id is empty")]
    EmptyId,
    /// The function that yields the ordering key panicked.
    #[error("the function that yields its ordering key panicked")]
    OrderingKeyPanicked,
}

/// Where a request broke.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum TransportKind {
    /// No connection was made, so nothing was sent.
    #[error("connect")]
    Connect,
    /// The reply did not come in time.
    #[error("timeout")]
    Timeout,
    /// The connection broke under the request.
    #[error("connection")]
    Connection,
    /// The publisher was closed, or its driver ended, before the outcome was known.
    #[error("closed")]
    Closed,
    /// Anything else the transport said.
    #[error("other")]
    Other,
}

/// A ceiling on what a publisher holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Ceiling {
    /// `batch_queue_max`.
    #[error("entries")]
    Entries,
    /// `batch_queue_bytes`.
    #[error("bytes")]
    Bytes,
    /// `batch_queue_tenant`.
    #[error("entries of one tenant")]
    Tenant,
}

/// Why a claim cannot stand for a body.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(tag = "problem", rename_all = "snake_case"))]
#[non_exhaustive]
pub enum ClaimProblem {
    /// The body needs a claim, and none was handed in with the delivery.
    #[error(
        "the body has {size} bytes, over inline_max_bytes ({max}), and there is neither a claim store \
         nor a claim for it; give a claim store (--claims), or raise inline_max_bytes"
    )]
    Missing {
        /// The body's size.
        size: usize,
        /// The most that travels inline.
        max: usize,
    },
    /// The claim belongs to another tenant than the hook.
    #[error("the claim belongs to tenant {claim:?}, the hook to {hook:?}")]
    TenantMismatch {
        /// The claim's tenant.
        claim: Text,
        /// The hook's tenant (`default` where it has none).
        hook: Text,
    },
    /// The body could not be checked in.
    #[error("the body could not be checked in: {0}")]
    #[cfg_attr(feature = "serde", serde(untagged))]
    Store(ClaimError),
}

/// An ordering key that nothing is sent of until it is resumed.
///
/// Shown with at most 64 characters of the key.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct StoppedKey {
    /// The key.
    pub key: Text,
    /// The first failure: why the message failed that the others stand behind. Shared with that
    /// message's own failure.
    #[cfg_attr(feature = "serde", serde(serialize_with = "serialize_shared"))]
    pub cause: Arc<Reason>,
    /// That failure's class, as operators filter by it.
    pub class: ErrorClass,
    /// Whether that failure is the operator's to mend.
    pub config: bool,
    /// Whether every other key is stopped with it, until all are resumed: it failed when
    /// [`max_stopped_keys`](crate::options::PublisherOptionsBuilder::max_stopped_keys) others were
    /// stopped already.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "std::ops::Not::not"))]
    pub every_key: bool,
}

impl fmt::Display for StoppedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = shown(&self.key);
        let class = match self.config {
            true => "configuration",
            false => self.class.as_str(),
        };
        let cause = &self.cause;
        if self.every_key {
            write!(
                f,
                "every ordering key is stopped: the table of stopped keys (max_stopped_keys) was \
                 full when a message of key {key} failed ({class}: {cause}); resume all keys to \
                 go on"
            )
        } else {
            write!(
                f,
                "ordering key {key} is stopped: an earlier message of it failed ({class}: \
                 {cause}); resume the key to go on"
            )
        }
    }
}

/// A key as people read it: quoted, and its head where it is long.
fn shown(key: &str) -> String {
    const CHARS_MAX: usize = 64;
    match key.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{:?}…", &key[..end]),
        None => format!("{key:?}"),
    }
}

#[cfg(feature = "serde")]
fn serialize_shared<S: serde::Serializer>(
    reason: &Arc<Reason>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serde::Serialize::serialize(&**reason, serializer)
}
