//! What a scripted server and a scripted token provider do.

use std::time::Duration;

use super::replies::{self, ErrorReply};
use crate::reason::TransportKind;
use crate::text::Text;
use crate::token::Token;
use crate::wire::Reply;

/// What a scripted server does with one request: what it says, whether it stores the messages,
/// and how long it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub(super) stored: bool,
    /// None is the simulation's latency.
    pub(super) after: Option<Duration>,
    pub(super) what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    /// 200 with an id for each message.
    Ids,
    Reply(Reply),
    Failed(TransportKind),
    Lost,
    Never,
}

impl Answer {
    /// Every message is stored, and the reply says so with an id for each.
    #[must_use]
    pub fn stored() -> Self {
        Self::of(What::Ids).although_stored()
    }

    /// Every message is stored, but the connection breaks before the reply is through.
    #[must_use]
    pub fn stored_but_reply_lost() -> Self {
        Self::connection_broke().although_stored()
    }

    /// Nothing ever comes back.
    #[must_use]
    pub fn never() -> Self {
        Self::of(What::Never)
    }

    /// The connection breaks under the request, and nothing is stored. The publisher cannot tell
    /// that from [`stored_but_reply_lost`](Self::stored_but_reply_lost).
    #[must_use]
    pub fn connection_broke() -> Self {
        Self::failed(TransportKind::Connection)
    }

    /// The transport fails in this way.
    #[must_use]
    pub fn failed(kind: TransportKind) -> Self {
        Self::of(What::Failed(kind))
    }

    /// The task that sends is gone: it panicked, or its runtime dropped it.
    #[must_use]
    pub fn lost() -> Self {
        Self::of(What::Lost)
    }

    /// This reply. [`replies`] builds the usual ones.
    #[must_use]
    pub fn reply(reply: impl Into<Reply>) -> Self {
        Self::of(What::Reply(reply.into()))
    }

    /// An error document of this HTTP status and `status`.
    #[must_use]
    pub fn error(http: u16, status: &str) -> Self {
        Self::reply(replies::error(http, status, "the server's text"))
    }

    /// `INVALID_ARGUMENT`: a message of the request is refused.
    #[must_use]
    pub fn refused() -> Self {
        Self::error(400, "INVALID_ARGUMENT")
    }

    /// The same answer, the messages stored whatever it says.
    #[must_use]
    pub fn although_stored(mut self) -> Self {
        self.stored = true;
        self
    }

    /// The same answer, coming after this long instead of the simulation's latency.
    #[must_use]
    pub fn after(mut self, after: Duration) -> Self {
        self.after = Some(after);
        self
    }

    /// Whether the messages are stored.
    #[must_use]
    pub fn stores(&self) -> bool {
        self.stored
    }

    pub(super) fn of(what: What) -> Self {
        Self {
            stored: false,
            after: None,
            what,
        }
    }
}

impl From<Reply> for Answer {
    fn from(reply: Reply) -> Self {
        Self::reply(reply)
    }
}

impl From<ErrorReply> for Answer {
    fn from(reply: ErrorReply) -> Self {
        Self::reply(reply)
    }
}

/// What a scripted token provider does when it is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenAnswer {
    pub(super) after: Duration,
    pub(super) says: Says,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Says {
    Token(Result<Token, Text>),
    Lost,
    Never,
}

impl TokenAnswer {
    /// Gives `token`, at once.
    ///
    /// # Panics
    ///
    /// If `token` is none that a header can carry: the script is wrong.
    #[must_use]
    #[track_caller]
    pub fn give(token: &str) -> Self {
        Self::of(Says::Token(Ok(
            Token::new(token).expect("a header can carry a scripted token")
        )))
    }

    /// Says no, and why.
    #[must_use]
    pub fn refuse(detail: &str) -> Self {
        Self::of(Says::Token(Err(detail.into())))
    }

    /// The provider's task is gone.
    #[must_use]
    pub fn lost() -> Self {
        Self::of(Says::Lost)
    }

    /// Never says anything.
    #[must_use]
    pub fn never() -> Self {
        Self::of(Says::Never)
    }

    /// The same, after this long.
    #[must_use]
    pub fn after(mut self, after: Duration) -> Self {
        self.after = after;
        self
    }

    pub(super) fn of(says: Says) -> Self {
        Self {
            after: Duration::ZERO,
            says,
        }
    }
}
