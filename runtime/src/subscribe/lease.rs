//! The time a message is ours.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use pubsink_core::subscribe::LeaseLost;

use super::hand::Hand;
use crate::waiter::Waiter;

/// The lease of a message in hand. It is extended in the background while it is not settled; this
/// tells when that could not be done, or was done for as long as it may be.
///
/// Once it is lost Pub/Sub gives the message to somebody else. What a handler does from then on is
/// done twice, so one that takes long should look now and then, or wait beside its work.
#[derive(Debug, Clone)]
pub struct Lease(Arc<Hand>);

impl Lease {
    pub(crate) fn new(hand: Arc<Hand>) -> Self {
        Self(hand)
    }

    /// Whether it is lost.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.cause().is_some()
    }

    /// Why it is lost. None: it is not.
    #[must_use]
    pub fn cause(&self) -> Option<LeaseLost> {
        self.0.lost()
    }

    /// Resolves when it is lost, with the cause; never where it is not.
    pub fn lost(&self) -> Lost {
        Lost(match self.0.watch() {
            Ok(slot) => State::Watching(Waiter::new(&self.0, slot)),
            Err(cause) => State::Lost(Some(cause)),
        })
    }
}

/// A lease that is watched. Resolves when it is lost.
#[derive(Debug)]
#[must_use = "a lease is watched by awaiting this"]
pub struct Lost(State);

#[derive(Debug)]
enum State {
    Lost(Option<LeaseLost>),
    Watching(Waiter<Hand>),
}

impl Future for Lost {
    type Output = LeaseLost;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<LeaseLost> {
        match &mut self.0 {
            // None: polled after it was ready.
            State::Lost(cause) => cause.take().map_or(Poll::Pending, Poll::Ready),
            State::Watching(waiter) => waiter.poll(cx),
        }
    }
}
