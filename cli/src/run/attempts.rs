//! One hook from its first attempt to its last.

use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Either, select};
use pubsink_core::delivery::DeliveryContext;
use pubsink_core::envelope::Envelope;
use pubsink_core::failure::Failure;
use pubsink_core::options::{OrderingKey, OrderingOnFailure, PublisherOptions};
use pubsink_core::retry::{NextStep, RetryPolicy};
use pubsink_core::sink::Receipt;
use pubsink_tokio::seam::{Runtime, Timer as _};
use pubsink_tokio::{Delivery, Publisher};

use crate::interrupt::Interrupt;

/// What became of a hook in the end.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) outcome: Result<Receipt, Failure>,
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
    /// Under which replay the hooks are sent, if any.
    pub(super) replay_id: Option<String>,
    pub(super) interrupt: Interrupt,
}

impl<R: Runtime> Attempts<R> {
    /// The context of a first attempt.
    pub(super) fn context(&self) -> DeliveryContext {
        DeliveryContext {
            replay_id: self.replay_id.clone(),
            ..DeliveryContext::batched()
        }
    }

    pub(super) async fn finish(self, envelope: &Envelope, first: Delivery) -> Finished {
        let started = self.runtime.now();
        let mut rng = fastrand::Rng::new();
        let mut context = self.context();
        let mut delivery = first;
        let mut maybe_stored = false;
        let held = is_held(self.publisher.options(), envelope);
        loop {
            let attempts = context.attempt;
            let mut failure = match delivery.await {
                Err(failure) => failure,
                Ok(delivered) => {
                    return Finished {
                        outcome: Ok(delivered.into()),
                        attempts,
                        may_be_twice: maybe_stored,
                    };
                }
            };
            maybe_stored |= failure.may_have_been_stored;
            let elapsed = self.runtime.now().saturating_duration_since(started);
            let next = self.policy.next_step(&failure, attempts, elapsed, &mut rng);
            let again = match next {
                NextStep::RetryAfter(pause) if !held => self.sleep(pause).await,
                NextStep::RetryAfter(_) | NextStep::GiveUp => false,
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

/// Whether a failure of the hook stops its ordering key. Nobody resumes it in this run: tried again
/// the hook would be refused, and going on with it would put it behind what came later.
fn is_held(options: &PublisherOptions, envelope: &Envelope) -> bool {
    let has_key = match options.ordering_key() {
        OrderingKey::None => false,
        OrderingKey::Fixed(key) => !key.is_empty(),
        OrderingKey::FromEnvelope(key) => !key(envelope).is_empty(),
    };
    has_key && options.ordering_on_failure() == OrderingOnFailure::Hold
}
