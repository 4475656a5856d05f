//! One hook from its first attempt to its last.

use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Either, select};
use pubsink_core::delivery::DeliveryContext;
use pubsink_core::envelope::Envelope;
use pubsink_core::failure::Outcome;
use pubsink_core::retry::{NextStep, RetryPolicy};
use pubsink_tokio::seam::{Runtime, Timer as _};
use pubsink_tokio::{Delivery, Publisher};

use crate::interrupt::Interrupt;

/// What became of a hook in the end.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) outcome: Outcome,
    pub(super) attempts: u32,
    /// An earlier attempt may have stored it too.
    pub(super) may_be_twice: bool,
}

/// Tries a hook, whose first attempt is under way, by `policy`.
#[derive(Debug, Clone)]
pub(super) struct Attempts<R> {
    pub(super) runtime: R,
    pub(super) publisher: Publisher,
    pub(super) policy: RetryPolicy,
    pub(super) interrupt: Interrupt,
}

impl<R: Runtime> Attempts<R> {
    pub(super) async fn finish(self, envelope: &Envelope, first: Delivery) -> Finished {
        let started = self.runtime.now();
        let mut rng = fastrand::Rng::new();
        let mut context = DeliveryContext::batched();
        let mut delivery = first;
        let mut maybe_stored = false;
        loop {
            let attempts = context.attempt;
            let mut failure = match delivery.await {
                Err(failure) => failure,
                Ok(delivered) => {
                    return Finished {
                        outcome: Ok(delivered),
                        attempts,
                        may_be_twice: maybe_stored,
                    };
                }
            };
            maybe_stored |= failure.may_have_been_stored;
            let elapsed = self.runtime.now().saturating_duration_since(started);
            let next = self.policy.next_step(&failure, attempts, elapsed, &mut rng);
            let again = match next {
                NextStep::RetryAfter(pause) => self.sleep(pause).await,
                NextStep::GiveUp => false,
            };
            if !again {
                failure.may_have_been_stored = maybe_stored;
                return Finished {
                    outcome: Err(failure),
                    attempts,
                    may_be_twice: false,
                };
            }
            context.attempt += 1;
            delivery = self.publisher.deliver(envelope, &context);
        }
    }

    /// Whether the pause passed without an interrupt.
    async fn sleep(&self, pause: Duration) -> bool {
        let mut timer = pin!(self.runtime.timer());
        timer.as_mut().reset(self.runtime.now() + pause);
        let asked = pin!(self.interrupt.asked());
        matches!(select(timer, asked).await, Either::Left(_)) && !self.interrupt.is_asked()
    }
}
