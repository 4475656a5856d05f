//! What a dispatcher's calls return.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use pubsink_core::dispatch::{Accepted, EnqueueError};
use pubsink_core::journal::{DeadLetter, JournalError, ReplayJob, StoppedLane};

use super::shared::Shared;
use crate::slots::SlotId;
use crate::waiter::Waiter;

/// What a dispatcher's slot waits for.
#[derive(Debug)]
pub(super) enum Done {
    Accepted(Result<Accepted, EnqueueError>),
    Replay(Result<ReplayJob, JournalError>),
    Resumed(Result<Option<i64>, JournalError>),
    Stopped(Result<Vec<StoppedLane>, JournalError>),
    DeadLetters(Result<Vec<DeadLetter>, JournalError>),
    Discarded(Result<usize, JournalError>),
    Replays(Result<Vec<ReplayJob>, JournalError>),
    /// The driver ended: nothing comes any more.
    Closed,
}

/// A hook on its way to the journal. Resolves once it is kept, or is not.
///
/// The hook was handed over when the call returned this: it goes on its way whether this is polled
/// or not, and dropping it does not take the hook back. [`EnqueueError::Closed`] also means that
/// the driver ended while the journal was asked, which may have kept it.
#[must_use = "whether the hook was kept is known once this was awaited"]
pub struct Acceptance(State);

enum State {
    Refused(Option<EnqueueError>),
    Waiting(Waiter<Shared>),
}

impl Acceptance {
    pub(super) fn refused(error: EnqueueError) -> Self {
        Self(State::Refused(Some(error)))
    }

    pub(super) fn waiting(shared: &Arc<Shared>, slot: SlotId) -> Self {
        Self(State::Waiting(Waiter::new(shared, slot)))
    }
}

impl Future for Acceptance {
    type Output = Result<Accepted, EnqueueError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            // None: polled after it was ready.
            State::Refused(error) => error
                .take()
                .map_or(Poll::Pending, |error| Poll::Ready(Err(error))),
            State::Waiting(waiter) => waiter.poll(cx).map(|done| match done {
                Done::Accepted(result) => result,
                _ => Err(EnqueueError::Closed),
            }),
        }
    }
}

impl fmt::Debug for Acceptance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Acceptance")
    }
}

/// A call to the journal on its way. Resolves with what the journal said, once the dispatcher
/// knows of it. The call is made whether this is polled or not.
#[must_use = "what the journal said is known once this was awaited"]
pub struct JournalCall<T> {
    /// None: there is no driver to make it.
    waiter: Option<Waiter<Shared>>,
    read: fn(Done) -> Result<T, JournalError>,
}

impl<T> JournalCall<T> {
    pub(super) fn new(
        waiter: Option<Waiter<Shared>>,
        read: fn(Done) -> Result<T, JournalError>,
    ) -> Self {
        Self { waiter, read }
    }
}

impl<T> Future for JournalCall<T> {
    type Output = Result<T, JournalError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let done = match &mut self.waiter {
            Some(waiter) => waiter.poll(cx),
            None => Poll::Ready(Done::Closed),
        };
        done.map(self.read)
    }
}

impl<T> fmt::Debug for JournalCall<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JournalCall")
    }
}

/// A dispatcher that is closing. Resolves once it is closed and its driver has ended.
#[must_use = "a dispatcher is closed once this was awaited"]
pub struct Shutdown(Option<Waiter<Shared>>);

impl Shutdown {
    /// None: it has ended before.
    pub(super) fn new(waiter: Option<Waiter<Shared>>) -> Self {
        Self(waiter)
    }
}

impl Future for Shutdown {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.0 {
            Some(waiter) => waiter.poll(cx).map(|_| ()),
            None => Poll::Ready(()),
        }
    }
}

impl fmt::Debug for Shutdown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shutdown")
    }
}
