//! What a handle's calls return.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use pubsink_core::failure::{Delivered, Diagnostics, Failure, MessageId, Outcome};

use crate::shared::{Shared, driver_ended};
use crate::slots::SlotId;
use crate::waiter::Waiter;

/// What a publisher's slot waits for. There is a slot for every message on its way, so what most of
/// them get, an id and nothing else, is all there is room for.
#[derive(Debug)]
pub(crate) enum Done {
    Stored(MessageId),
    /// Any other outcome.
    Settled(Box<Outcome>),
    /// Of messages that were published together.
    All(Box<[Outcome]>),
    Flushed,
}

impl From<Outcome> for Done {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Ok(delivered) if delivered.diagnostics.is_empty() => Self::Stored(delivered.message_id),
            other => Self::Settled(Box::new(other)),
        }
    }
}

/// A message on its way. Resolves once Pub/Sub has confirmed it, or it is known why not.
///
/// The message was admitted when the call returned this: it goes on its way whether this is
/// polled or not, and dropping it does not take the message back.
#[derive(Debug)]
#[must_use = "a delivery that is not awaited hides its outcome"]
pub struct Delivery(State);

#[derive(Debug)]
enum State {
    Refused(Option<Box<Failure>>),
    Admitted(Waiter<Shared>),
}

impl Delivery {
    pub(crate) fn refused(failure: Failure) -> Self {
        Self(State::Refused(Some(Box::new(failure))))
    }

    pub(crate) fn admitted(shared: &Arc<Shared>, slot: SlotId) -> Self {
        Self(State::Admitted(Waiter::new(shared, slot)))
    }
}

impl Future for Delivery {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
        match &mut self.0 {
            State::Refused(failure) => match failure.take() {
                Some(failure) => Poll::Ready(Err(*failure)),
                // Polled after it was ready.
                None => Poll::Pending,
            },
            State::Admitted(waiter) => waiter.poll(cx).map(|done| match done {
                Done::Stored(id) => Ok(Delivered::new(id, Diagnostics::default())),
                Done::Settled(outcome) => *outcome,
                Done::All(_) | Done::Flushed => Err(driver_ended()),
            }),
        }
    }
}

/// Messages on their way that were published together. Resolves to their outcomes, in the order of
/// the messages, once all are known. Of no messages there are none, at once.
///
/// As with a [`Delivery`] the messages go on their way whether this is polled or not, and dropping
/// it does not take them back.
#[derive(Debug)]
#[must_use = "deliveries that are not awaited hide their outcomes"]
pub struct Deliveries(Waiter<Shared>);

impl Deliveries {
    pub(crate) fn new(shared: &Arc<Shared>, slot: SlotId) -> Self {
        Self(Waiter::new(shared, slot))
    }
}

impl Future for Deliveries {
    type Output = Vec<Outcome>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Vec<Outcome>> {
        self.0.poll(cx).map(|done| match done {
            Done::All(outcomes) => outcomes.into_vec(),
            Done::Stored(_) | Done::Settled(_) | Done::Flushed => Vec::new(),
        })
    }
}

/// A flush on its way. Resolves once everything admitted before it is settled.
#[derive(Debug)]
#[must_use = "a flush is done once it was awaited"]
pub struct Flush(Option<Waiter<Shared>>);

impl Flush {
    /// A flush that waits for `slot`, or one with nothing to wait for.
    pub(crate) fn new(shared: &Arc<Shared>, slot: Option<SlotId>) -> Self {
        Self(slot.map(|slot| Waiter::new(shared, slot)))
    }
}

impl Future for Flush {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.0 {
            Some(waiter) => waiter.poll(cx).map(|_| ()),
            None => Poll::Ready(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outcome_of_a_message_takes_the_room_of_its_id() {
        assert_eq!(size_of::<Done>(), size_of::<MessageId>());
    }
}
