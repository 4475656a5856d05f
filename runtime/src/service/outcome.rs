//! What a handler returns.

use std::error::Error;
use std::fmt::Display;

use pubsink_core::subscribe::Settlement;
use pubsink_core::text::Text;

use super::reply::Reply;

/// An error of a handler or a layer, its type forgotten.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// What a handling came to: what becomes of the message, once the reply is stored.
///
/// This is the response of the services that layers wrap.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// What becomes of the message.
    pub settlement: Settlement,
    /// What is published before that. If it cannot be, the message is retried whatever the
    /// settlement says.
    pub reply: Option<Reply>,
}

impl Outcome {
    /// An outcome without a reply.
    #[must_use]
    pub fn new(settlement: Settlement) -> Self {
        Self {
            settlement,
            reply: None,
        }
    }

    /// The same with a reply.
    #[must_use]
    pub fn with_reply(mut self, reply: impl Into<Option<Reply>>) -> Self {
        self.reply = reply.into();
        self
    }
}

/// What a handler can return.
///
/// | returned | the message is |
/// |---|---|
/// | `()` | acked |
/// | [`Settlement`] | settled so |
/// | [`Reply`], `Option<Reply>` | acked once the reply is stored |
/// | `(Settlement, Reply)`, [`Outcome`] | settled so once the reply is stored |
/// | `Result<T, E>` | by `T`; an `Err` is reported, and retried by the [policy] |
///
/// [policy]: super::HandlerBuilder::retry
#[diagnostic::on_unimplemented(
    message = "a handler cannot return a `{Self}`",
    label = "it is not known what this means for the message",
    note = "a handler returns `()`, `Settlement`, `Reply`, `Option<Reply>`, `(Settlement, Reply)`, \
            `Outcome`, or a `Result` of one of them whose error can be displayed"
)]
pub trait IntoSettlement {
    /// Whether it may hold a reply, so that a handler without a publisher for it is refused when
    /// the service is built.
    const MAY_REPLY: bool = false;

    /// What the handling came to.
    ///
    /// # Errors
    ///
    /// Why it failed.
    fn into_outcome(self) -> Result<Outcome, BoxError>;
}

impl IntoSettlement for Outcome {
    fn into_outcome(self) -> Result<Outcome, BoxError> {
        Ok(self)
    }
}

impl IntoSettlement for () {
    fn into_outcome(self) -> Result<Outcome, BoxError> {
        Ok(Outcome::new(Settlement::Ack))
    }
}

impl IntoSettlement for Settlement {
    fn into_outcome(self) -> Result<Outcome, BoxError> {
        Ok(Outcome::new(self))
    }
}

impl IntoSettlement for Reply {
    const MAY_REPLY: bool = true;

    fn into_outcome(self) -> Result<Outcome, BoxError> {
        Ok(Outcome::new(Settlement::Ack).with_reply(self))
    }
}

impl IntoSettlement for Option<Reply> {
    const MAY_REPLY: bool = true;

    fn into_outcome(self) -> Result<Outcome, BoxError> {
        Ok(Outcome::new(Settlement::Ack).with_reply(self))
    }
}

impl<R: Into<Option<Reply>>> IntoSettlement for (Settlement, R) {
    const MAY_REPLY: bool = true;

    fn into_outcome(self) -> Result<Outcome, BoxError> {
        Ok(Outcome::new(self.0).with_reply(self.1))
    }
}

impl<T: IntoSettlement, E: Display> IntoSettlement for Result<T, E> {
    const MAY_REPLY: bool = T::MAY_REPLY;

    fn into_outcome(self) -> Result<Outcome, BoxError> {
        match self {
            Ok(done) => done.into_outcome(),
            Err(error) => Err(HandlerError::new(error).into()),
        }
    }
}

/// What a handler said when it failed, with its causes where it tells them (`{:#}`), cut after
/// 8 KiB.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HandlerError(Text);

impl HandlerError {
    /// What `error` says.
    #[must_use]
    pub fn new(error: impl Display) -> Self {
        Self(Text::capped(format!("{error:#}").as_bytes()))
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &Text {
        &self.0
    }
}
