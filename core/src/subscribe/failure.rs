//! A call or a stream that failed, as far as the machine needs to know it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::message::AckId;
use crate::reason::Reason;
use crate::text::Text;
use crate::token::Token;

/// Why a call got no success. What each status is, is decided by [`wire`](crate::wire).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallFailure {
    /// What follows.
    pub class: CallClass,
    /// What happened.
    pub reason: Arc<Reason>,
    /// What became of single ack ids, where the answer names them. Of such an answer, the ids
    /// that it does not name were accepted.
    pub ids: BTreeMap<AckId, IdFailure>,
    /// The token it was sent with, where that was refused.
    pub refused: Option<Token>,
}

impl CallFailure {
    /// A failure of the whole call.
    #[must_use]
    pub fn new(class: CallClass, reason: impl Into<Arc<Reason>>) -> Self {
        Self {
            class,
            reason: reason.into(),
            ids: BTreeMap::new(),
            refused: None,
        }
    }
}

/// What follows a call that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallClass {
    /// It may pass by itself.
    Transient,
    /// The service asks for a pause, of at least this length where it says so.
    Throttled(Option<Duration>),
    /// The token was refused: one fresh one is tried.
    Unauthenticated,
    /// Subscription, rights or settings are wrong: the operator has to mend something.
    Config,
    /// The answer tells of each ack id by itself.
    PerId,
    /// The request was refused, and the answer does not say which ack id is at fault.
    Invalid,
}

/// Why one ack id was not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum IdFailure {
    /// It never will be: its lease has ended.
    Permanent(Text),
    /// It may be, the next time.
    Transient(Text),
}
