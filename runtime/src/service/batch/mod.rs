//! Handling many messages at once.

mod answers;
mod collector;

use std::fmt::{self, Display};
use std::sync::Arc;
use std::time::Duration;

use pubsink_core::subscribe::Settlement;
use tracing::span;

use super::context::Context;
use super::outcome::{HandlerError, Outcome};
use super::reply::Reply;
use answers::{Answers, Given};
pub(super) use collector::{BatchOptions, Collector, CollectorService};

/// Messages that are handled together, in the order they came in. Never empty.
///
/// Each can be settled by itself, at any time; those that are not get what the handler returns. A
/// message that could not be read is not in it.
#[derive(Debug)]
pub struct Batch<T> {
    items: Vec<Item<T>>,
}

impl<T> Batch<T> {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are none left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The messages.
    pub fn iter(&self) -> std::slice::Iter<'_, Item<T>> {
        self.items.iter()
    }
}

impl<T> IntoIterator for Batch<T> {
    type Item = Item<T>;
    type IntoIter = std::vec::IntoIter<Item<T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a Batch<T> {
    type Item = &'a Item<T>;
    type IntoIter = std::slice::Iter<'a, Item<T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}

/// One message of a batch. Dropped without a word it gets what the handler returns.
pub struct Item<T> {
    /// What the message holds.
    pub value: T,
    /// What settles it.
    pub ticket: Ticket,
}

impl<T> Item<T> {
    /// The message.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.ticket.context
    }

    /// It is done.
    pub fn ack(self) {
        self.ticket.settle(Settlement::Ack);
    }

    /// It is never to be handled: see [`Settlement::Drop`].
    pub fn discard(self) {
        self.ticket.settle(Settlement::Drop);
    }

    /// It is given back at once.
    pub fn retry(self) {
        self.ticket.settle(Settlement::Retry);
    }

    /// It is held for this time and then given back.
    pub fn retry_after(self, pause: Duration) {
        self.ticket.settle(Settlement::RetryAfter(pause));
    }

    /// It failed: reported, and retried by the policy.
    pub fn fail(self, error: impl Display) {
        self.ticket.fail(error);
    }

    /// It is acked once this reply is stored.
    pub fn reply(self, reply: Reply) {
        self.ticket.reply(reply);
    }
}

impl<T: fmt::Debug> fmt::Debug for Item<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Item")
            .field("value", &self.value)
            .field("context", &self.ticket.context)
            .finish_non_exhaustive()
    }
}

/// What settles one message of a batch, apart from what the message holds.
pub struct Ticket {
    context: Context,
    answers: Arc<Answers>,
    place: usize,
    /// The span of its attempt.
    span: Option<span::Id>,
}

impl Ticket {
    /// The message.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// It is settled so.
    pub fn settle(self, settlement: Settlement) {
        self.give(Given::Outcome(Outcome::new(settlement)));
    }

    /// It failed: reported, and retried by the policy.
    pub fn fail(self, error: impl Display) {
        self.give(Given::Failed(HandlerError::new(error)));
    }

    /// It is acked once this reply is stored.
    pub fn reply(self, reply: Reply) {
        let outcome = Outcome::new(Settlement::Ack).with_reply(reply);
        self.give(Given::Outcome(outcome));
    }

    fn give(&self, given: Given) {
        self.answers.give(self.place, given);
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket")
            .field("context", &self.context)
            .finish_non_exhaustive()
    }
}
