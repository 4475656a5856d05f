//! One message in hand.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use pubsink_core::subscribe::{DeliveryId, LeaseLost, ReceivedMessage, SettleError, Settlement};
use pubsink_core::text::Text;

use super::hand::Hand;
use super::lease::Lease;

/// One message in hand. It is ours until it is settled, or its [lease](Self::lease) is lost; let
/// go of unsettled it is given back at once, as by [`retry`](Self::retry).
#[must_use = "a delivery that is dropped is given back"]
pub struct Delivery {
    message: Arc<ReceivedMessage>,
    hand: Arc<Hand>,
    /// None: it is settled.
    settler: Option<Arc<dyn Settler>>,
}

/// Takes the settlements of deliveries: whoever drives them.
pub trait Settler: Send + Sync + 'static {
    /// What a handler says of a delivery. Called once for each, also for one that is dropped. What
    /// becomes of it is told at the delivery's [other end](DeliveryEnd::settled), now or later.
    ///
    /// It should return soon, and must not panic: it may be called while a task is dropped. So
    /// whoever drives deliveries drops none of them under a lock that this takes.
    fn settle(&self, delivery: DeliveryId, settlement: Settlement);

    /// The longest pause that [`Settlement::RetryAfter`] can ask for of a delivery now; a longer
    /// one is refused with [`SettleError::RetryTooLate`]. None, the default: it is not known here.
    fn longest_pause(&self, delivery: DeliveryId) -> Option<Duration> {
        let _ = delivery;
        None
    }
}

impl Delivery {
    /// A delivery, and its other end for whoever drives it.
    pub fn new(
        id: DeliveryId,
        message: impl Into<Arc<ReceivedMessage>>,
        subscription: impl Into<Text>,
        settler: Arc<dyn Settler>,
    ) -> (Self, DeliveryEnd) {
        let hand = Arc::new(Hand::new(id, subscription.into()));
        let delivery = Self {
            message: message.into(),
            hand: Arc::clone(&hand),
            settler: Some(settler),
        };
        (delivery, DeliveryEnd { hand, told: false })
    }

    /// Its number.
    #[must_use]
    pub fn id(&self) -> DeliveryId {
        self.hand.id
    }

    /// The message.
    #[must_use]
    pub fn message(&self) -> &Arc<ReceivedMessage> {
        &self.message
    }

    /// The name of the subscription it came from, `projects/P/subscriptions/S`.
    #[must_use]
    pub fn subscription(&self) -> &str {
        &self.hand.subscription
    }

    /// Its lease.
    #[must_use]
    pub fn lease(&self) -> Lease {
        Lease::new(Arc::clone(&self.hand))
    }

    /// Settles it, and lets go of the message. The settlement is on its way when this returns; the
    /// future tells whether it counts: on an exactly-once subscription `Ok` means that Pub/Sub
    /// confirmed it.
    pub fn settle(mut self, settlement: Settlement) -> Settling {
        self.give(settlement);
        Settling {
            hand: Arc::clone(&self.hand),
            told: false,
        }
    }

    /// It is done: Pub/Sub forgets it.
    pub fn ack(self) -> Settling {
        self.settle(Settlement::Ack)
    }

    /// It is never to be handled: see [`Settlement::Drop`].
    pub fn discard(self) -> Settling {
        self.settle(Settlement::Drop)
    }

    /// It is given back at once.
    pub fn retry(self) -> Settling {
        self.settle(Settlement::Retry)
    }

    /// It is held for this time and then given back: see [`Settlement::RetryAfter`].
    ///
    /// A pause that is longer than [`longest_pause`](Self::longest_pause) is refused by this call:
    /// what it returns is ready, with [`SettleError::RetryTooLate`], and the message is given back
    /// at once.
    pub fn retry_after(self, pause: Duration) -> Settling {
        self.settle(Settlement::RetryAfter(pause))
    }

    /// The longest pause that [`retry_after`](Self::retry_after) can ask for now: what is left of
    /// [`max_lease`](pubsink_core::subscribe::SubscriberOptions::max_lease), less two seconds for
    /// giving it back. None: its lease is lost, or its source does not tell.
    #[must_use]
    pub fn longest_pause(&self) -> Option<Duration> {
        self.settler.as_ref()?.longest_pause(self.hand.id)
    }

    pub(crate) fn hand(&self) -> &Arc<Hand> {
        &self.hand
    }

    fn give(&mut self, settlement: Settlement) {
        if let Settlement::RetryAfter(asked) = settlement
            && let Some(max) = self.longest_pause()
            && asked > max
        {
            // It is known before the driver hears of it, and the first word stays.
            let refused = SettleError::RetryTooLate { asked, max };
            self.hand.settled(Err(refused));
        }
        if let Some(settler) = self.settler.take() {
            settler.settle(self.hand.id, settlement);
        }
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        self.give(Settlement::Retry);
    }
}

impl fmt::Debug for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delivery")
            .field("id", &self.hand.id)
            .field("subscription", &self.hand.subscription)
            .field("message", &self.message)
            .finish_non_exhaustive()
    }
}

/// A settlement on its way. Resolves once it is known whether it counts: for a message that is
/// held, when it was given back.
///
/// The settlement was handed over when the call returned this: dropping it takes nothing back.
#[derive(Debug)]
#[must_use = "whether a settlement counts is known once this was awaited"]
pub struct Settling {
    hand: Arc<Hand>,
    told: bool,
}

impl Future for Settling {
    type Output = Result<(), SettleError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if self.told {
            return Poll::Pending;
        }
        let settled = self.hand.poll_settled(cx);
        self.told = settled.is_ready();
        settled
    }
}

/// The other end of a delivery, for whoever drives it: here it is told what became of it. Dropped
/// without a word it says [`Closed`](SettleError::Closed).
///
/// Telling wakes tasks, which is foreign code: hold no lock of yours while you do.
#[derive(Debug)]
pub struct DeliveryEnd {
    hand: Arc<Hand>,
    /// What became of it was told.
    told: bool,
}

impl DeliveryEnd {
    /// The delivery's number.
    #[must_use]
    pub fn id(&self) -> DeliveryId {
        self.hand.id
    }

    /// The lease is lost. The first cause stays.
    pub fn lost(&self, cause: &LeaseLost) {
        self.hand.lose(cause);
    }

    /// What became of its settlement.
    pub fn settled(mut self, result: Result<(), SettleError>) {
        self.hand.settled(result);
        self.told = true;
    }
}

impl Drop for DeliveryEnd {
    fn drop(&mut self) {
        if !self.told {
            self.hand.lose(&LeaseLost::Closed);
            self.hand.settled(Err(SettleError::Closed));
        }
    }
}
