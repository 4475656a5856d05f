//! What happens to a call on its way.

use std::time::Duration;

use pubsink_core::subscribe::{AckId, CallClass, CallFailure};

use crate::server::status;

/// What a call is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    Ack,
    Nack,
    Extend,
    Pull,
    Stream,
}

/// A call on its way.
pub(crate) struct Sent<'a> {
    pub(crate) at: Duration,
    pub(crate) what: What,
    pub(crate) ids: &'a [AckId],
    /// It has a fresh token.
    pub(crate) renewed: bool,
}

/// What becomes of it.
#[derive(Debug, Clone)]
pub(crate) enum Fate {
    /// The server gets it after this time, and the answer takes as long.
    Served(Duration),
    /// The server gets it in no time, and answers after this time.
    Slow(Duration),
    /// It fails after this time, and the server has done nothing.
    Fails(Duration, CallFailure),
    /// The server does it, and the answer is a failure all the same.
    ServedButFails(Duration, CallFailure),
    /// No answer ever comes; whether the server does it.
    Silent(bool),
}

pub(crate) type Network = Box<dyn FnMut(&Sent<'_>) -> Fate>;

pub(crate) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub(crate) fn secs(s: u64) -> Duration {
    Duration::from_secs(s)
}

pub(crate) fn fails(class: CallClass) -> CallFailure {
    CallFailure::new(class, status(503))
}

/// Everything arrives after a millisecond.
pub(crate) fn good() -> Network {
    Box::new(|_| Fate::Served(ms(1)))
}

/// Calls of one kind meet a fate of their own; the others arrive.
pub(crate) fn but(what: What, mut fate: impl FnMut(&Sent<'_>) -> Fate + 'static) -> Network {
    Box::new(move |sent| match sent.what == what {
        true => fate(sent),
        false => Fate::Served(ms(1)),
    })
}
