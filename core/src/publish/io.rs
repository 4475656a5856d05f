//! What goes into a publisher machine, and what comes out.

use std::time::Instant;

use super::admission::Admission;
use super::request::{PublishRequest, RequestId, Response};
use crate::failure::{Failure, Outcome};
use crate::text::Text;
use crate::token::Token;

/// Something that happened. `T` is the caller's own mark of a message, given back with its
/// outcome.
#[derive(Debug)]
#[non_exhaustive]
pub enum Input<T> {
    /// A message to publish.
    Admit {
        /// Comes back in [`Output::Settled`], whatever happens.
        tag: T,
        /// The message.
        admission: Admission,
    },
    /// What the token provider said to an [`Output::Authorize`].
    Token {
        /// The request it was asked for.
        request: RequestId,
        /// The token, or why there is none.
        token: Result<Token, Text>,
    },
    /// What came of an [`Output::Send`].
    Response(Response),
    /// Whoever was to answer an [`Output::Authorize`] or [`Output::Send`] never will.
    Lost {
        /// The request.
        request: RequestId,
        /// What is known about it.
        detail: Text,
    },
    /// Send what waits without lingering, and say when all of it is settled.
    Flush {
        /// Comes back in [`Output::Flushed`].
        tag: T,
    },
    /// Go on with an ordering key that was stopped. Nothing happens where it was not, and while
    /// every key is stopped ([`Gauges::every_key_stopped`]) it stays so.
    Resume {
        /// The key.
        key: Text,
    },
    /// Go on with every ordering key.
    ResumeAll,
    /// Take nothing more, and settle everything: at the deadline what is left is given up.
    Close {
        /// When to give up. Without one every message gets its one attempt.
        deadline: Option<Instant>,
    },
}

/// Something to do.
#[derive(Debug)]
#[non_exhaustive]
pub enum Output<T> {
    /// Ask the token provider, then answer with [`Input::Token`].
    Authorize {
        /// The request it is for.
        request: RequestId,
        /// The token that Pub/Sub refused, where a fresh one is wanted.
        refused: Option<Token>,
    },
    /// Encode and send this request, then answer with [`Input::Response`].
    Send(PublishRequest),
    /// Stop working on this request: its messages are settled. An answer is not waited for.
    Cancel(RequestId),
    /// This is what became of a message.
    Settled {
        /// The mark it was admitted with.
        tag: T,
        /// Its outcome.
        outcome: Outcome,
    },
    /// Everything admitted before this flush is settled.
    Flushed {
        /// The mark of the flush.
        tag: T,
    },
}

/// A message that was not taken, given back whole.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refused<T> {
    /// The caller's mark.
    pub tag: T,
    /// Why.
    pub failure: Failure,
    /// The message, which may be admitted again.
    pub admission: Admission,
}

/// What a machine wants next. `R` is the machine's own list of reasons to wait.
#[derive(Debug)]
pub enum Step<O, R = WaitReason> {
    /// Do this, then poll again.
    Do(O),
    /// Nothing until this instant, or the next input.
    Wait(Option<Instant>, R),
}

/// Why a machine waits, so that a busy loop can be explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum WaitReason {
    /// A batch waits for company.
    Linger,
    /// A token or a reply has until then to come.
    Timeout,
    /// Closing gives up then.
    Closing,
    /// Nothing is due; only an input can change that.
    Input,
    /// It is closed and everything is settled. Nothing will ever be due.
    Closed,
}

/// An input that does not fit the machine's state: a bug of the driver, never of the peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Misuse {
    /// The request was never handed out.
    #[error("request {} was never handed out", .0.number())]
    UnknownRequest(RequestId),
    /// A token came for a request that waits for none.
    #[error("request {} waits for no token", .0.number())]
    NoTokenWanted(RequestId),
    /// A response came for a request that was not sent.
    #[error("request {} was not sent, so it can have no response", .0.number())]
    NotSent(RequestId),
    /// The response was made for a request of another machine.
    #[error("the response to request {} is for other messages than it carried", .0.number())]
    ForeignResponse(RequestId),
}

/// What a publisher holds at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Gauges {
    /// Messages admitted and not settled.
    pub messages: usize,
    /// Their bytes.
    pub bytes: usize,
    /// Messages that wait for a request.
    pub waiting: usize,
    /// Requests that are being authorized or sent.
    pub requests: usize,
    /// Ordering keys with something waiting or in flight.
    pub ordering_keys: usize,
    /// Tenants with something not settled.
    pub tenants: usize,
    /// Ordering keys that are remembered as stopped: at most
    /// [`max_stopped_keys`](crate::options::PublisherOptions::max_stopped_keys).
    pub stopped_keys: usize,
    /// Whether every ordering key is stopped, because one more failed than could be remembered.
    pub every_key_stopped: bool,
}
