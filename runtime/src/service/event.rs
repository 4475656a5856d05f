//! What a service tells.

use std::time::Duration;

use pubsink_core::subscribe::{LeaseLost, SettleError, Settlement};
use pubsink_core::text::Text;

use super::context::Context;
use super::decode_error::DecodeError;
use super::reply::ReplyError;
use crate::subscribe::SourceEnd;

/// Something worth telling. The message it is about is in its context.
///
/// Every delivery comes to one [`Handled`](Self::Handled) or one [`Abandoned`](Self::Abandoned).
/// What went wrong on the way is told before that.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ServiceEvent {
    /// A handling is done and its settlement is on its way.
    Handled {
        /// The message.
        context: Context,
        /// What is to become of it.
        settlement: Settlement,
        /// How long handler and reply took.
        took: Duration,
    },
    /// A handling was stopped before its end: its grace was over, or its task was dropped. The
    /// message is given back.
    Abandoned {
        /// The message.
        context: Context,
    },
    /// The message is not what its handler takes.
    DecodeFailed {
        /// The message.
        context: Context,
        /// Why.
        error: DecodeError,
    },
    /// The handler, or a layer around it, failed.
    HandlerFailed {
        /// The message.
        context: Context,
        /// What it said.
        error: Text,
    },
    /// The handler, a layer around it, or the reading of the message panicked.
    Panicked {
        /// The message.
        context: Context,
        /// What it said.
        error: Text,
    },
    /// The reply was not published. The message is retried, and never dropped for it.
    ReplyFailed {
        /// The message.
        context: Context,
        /// Why.
        error: ReplyError,
    },
    /// The last attempt failed that the handler's [retry policy](super::HandlerBuilder::retry)
    /// allows, or one beyond it.
    GaveUp {
        /// The message.
        context: Context,
        /// What becomes of it.
        settlement: Settlement,
    },
    /// The lease was lost while the handler worked. It goes on, but somebody else may have the
    /// message.
    LeaseLost {
        /// The message.
        context: Context,
        /// Why.
        cause: LeaseLost,
    },
    /// A settlement does not count: the message comes again, acked or not. With
    /// [`SettleError::Closed`] it is not known: the shutdown did not wait for its confirmation.
    SettleFailed {
        /// The message.
        context: Context,
        /// What was to become of it.
        settlement: Settlement,
        /// Why.
        error: SettleError,
    },
    /// A subscription hands out no more messages.
    SourceEnded {
        /// Its name.
        subscription: Text,
        /// Why.
        end: SourceEnd,
    },
}
