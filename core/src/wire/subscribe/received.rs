//! What was received, and what of it could not be read.

use crate::failure::MessageId;
use crate::subscribe::{AckId, ReceivedMessage, StreamAnswer};

/// What a pull brought.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Pulled {
    /// The messages, in the order of the answer.
    pub messages: Vec<ReceivedMessage>,
    /// What else was in it, the first [`UNREADABLE_MAX`] of them. It spoils nothing beside it.
    pub unreadable: Vec<Unreadable>,
}

/// What one response of a stream brought.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Streamed {
    /// The response.
    pub answer: StreamAnswer,
    /// The messages of it that are not in `answer`, the first [`UNREADABLE_MAX`] of them.
    pub unreadable: Vec<Unreadable>,
}

/// The most messages of an answer that are named although they could not be read. Pub/Sub puts at
/// most 1,000 into one, so only an answer that was made to fill our memory has more.
pub const UNREADABLE_MAX: usize = 1_000;

/// A message that could not be read. It stays leased until its ack deadline, unless it is given
/// back by its ack id, and comes again; a dead-letter policy ends that.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unreadable {
    /// Its lease, where that much could be read.
    pub ack_id: Option<AckId>,
    /// Its id, where that much could be read.
    pub message_id: Option<MessageId>,
    /// What is wrong with it.
    pub problem: UnreadableProblem,
}

/// Why a message could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnreadableProblem {
    /// Nothing can be said of a message without an ack id.
    #[error("the message has no ack id")]
    NoAckId,
    /// Messages are told apart by their id.
    #[error("the message has no id")]
    NoMessageId,
    /// It is text by its type, and is not.
    #[error("the message's {0} is not UTF-8")]
    NotUtf8(&'static str),
    /// The data of a message over REST.
    #[error("the message's data is no base64")]
    NotBase64,
    /// It does not have the shape of a message.
    #[error("the message is not one of Pub/Sub's")]
    Malformed,
}

impl Unreadable {
    /// A message of which nothing is known.
    pub(super) fn unknown(problem: UnreadableProblem) -> Self {
        Self {
            ack_id: None,
            message_id: None,
            problem,
        }
    }

    /// A message that was leased as `ack_id`.
    pub(super) fn leased(ack_id: AckId, problem: UnreadableProblem) -> Self {
        Self {
            ack_id: Some(ack_id),
            ..Self::unknown(problem)
        }
    }
}

/// What could be read, and what could not.
#[derive(Default)]
pub(super) struct Parted {
    pub(super) messages: Vec<ReceivedMessage>,
    pub(super) unreadable: Vec<Unreadable>,
}

impl Parted {
    pub(super) fn add(&mut self, read: Result<ReceivedMessage, Unreadable>) {
        match read {
            Ok(message) => self.messages.push(message),
            Err(problem) if self.unreadable.len() < UNREADABLE_MAX => self.unreadable.push(problem),
            Err(_) => {}
        }
    }
}
