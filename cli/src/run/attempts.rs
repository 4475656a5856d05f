//! One hook from its first attempt to its last.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use pubsink_core::claim::{ClaimError, ClaimRef};
use pubsink_core::delivery::DeliveryContext;
use pubsink_core::envelope::Envelope;
use pubsink_core::failure::Failure;
use pubsink_core::options::{OrderingKey, OrderingOnFailure, PublisherOptions};
use pubsink_core::retry::{NextStep, RetryPolicy};
use pubsink_core::sink::Receipt;
use pubsink_runtime::dispatch::{attempt_span, mark_attempt};
use pubsink_tokio::seam::{Runtime, Timer as _};
use pubsink_tokio::{Delivery, Publisher};
use tracing::{Instrument as _, Span};

use super::check_ins::CheckIns;
use super::places::Place;
use crate::interrupt::Interrupt;
use crate::telemetry::trace_context;

/// How long a check-in may take: longer than a bucket's own limit. A directory has none.
const CHECK_IN_MAX: Duration = Duration::from_secs(60);

/// What became of a hook in the end.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) outcome: Result<Receipt, Failure>,
    pub(super) attempts: u32,
    /// An earlier attempt may have stored it too.
    pub(super) may_be_twice: bool,
}

/// An attempt, from before its message is made until its outcome is known.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) context: DeliveryContext,
    span: Span,
}

/// How an attempt begins.
pub(super) enum Begun {
    /// Its message is on its way.
    Sent(Delivery),
    /// It waits: its body is checked in before, or that of another hook of its ordering key.
    Waits(Place),
}

/// Tries a hook, whose first attempt is under way, by `policy`.
#[derive(Debug, Clone)]
pub(super) struct Attempts<R> {
    pub(super) runtime: R,
    pub(super) publisher: Publisher,
    pub(super) policy: RetryPolicy,
    /// The context of a first attempt.
    pub(super) context: Arc<DeliveryContext>,
    /// Where large bodies are checked in, if anywhere.
    pub(super) check_ins: Option<CheckIns>,
    pub(super) interrupt: Interrupt,
}

impl<R: Runtime> Attempts<R> {
    /// The claim that the hook needs, where there is a store for it.
    pub(super) fn claim(&self, envelope: &Envelope) -> Result<Option<ClaimRef>, ClaimError> {
        let too_large = envelope.body.len() > self.publisher.options().inline_max_bytes();
        if self.check_ins.is_none() || !too_large {
            return Ok(None);
        }
        let tenant = envelope.tenant_id.as_deref();
        let claim = ClaimRef::derive(tenant, envelope.received_at, &envelope.id)?;
        Ok(Some(claim))
    }

    /// Begins an attempt, number `attempt` from 1, in a span of its own.
    pub(super) fn begin(
        &self,
        envelope: &Envelope,
        attempt: u32,
        claim: Option<ClaimRef>,
    ) -> Attempt {
        let options = self.publisher.options();
        let mut context = DeliveryContext {
            attempt,
            claim,
            ..(*self.context).clone()
        };
        let span = attempt_span(envelope, options.topic_name(), &context);
        if options.trace_context() {
            let trace = trace_context(&span);
            context.trace_context = trace.map(|trace| trace.or_state_of_hook(envelope));
        }
        Attempt { context, span }
    }

    /// Waits for the delivery of a first attempt, and for those of others that have to follow. A
    /// body is checked in once, under one ref.
    pub(super) async fn finish(
        self,
        envelope: &Envelope,
        first: Attempt,
        begun: Begun,
    ) -> Finished {
        let mut started = self.runtime.now();
        let mut rng = fastrand::Rng::new();
        let claim = first.context.claim.clone();
        let (mut attempt, mut begun) = (first, begun);
        let mut maybe_stored = false;
        let held = is_held(self.publisher.options(), envelope);
        loop {
            let attempts = attempt.context.attempt;
            let (outcome, unplaced) = match begun {
                Begun::Sent(delivery) => (delivery.await, None),
                Begun::Waits(mut place) => {
                    let check_in = self.check_in(envelope, claim.as_ref());
                    match check_in.instrument(attempt.span.clone()).await {
                        Ok(()) => {
                            if place.turn().await {
                                // The others' time is none of its own.
                                started = self.runtime.now();
                            }
                            let delivery = self.publisher.deliver(envelope, &attempt.context);
                            drop(place);
                            (delivery.await, None)
                        }
                        Err(error) => (Err(error.into()), Some(place)),
                    }
                }
            };
            mark_attempt(&attempt.span, &outcome);
            // The pause is none of it.
            drop(attempt);
            let mut failure = match outcome {
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
                // What has no place in its key yet can still be tried in order.
                NextStep::RetryAfter(pause) if !held || unplaced.is_some() => {
                    self.sleep(pause).await
                }
                NextStep::RetryAfter(_) | NextStep::GiveUp => false,
            };
            if !again {
                if let Some(mut place) = unplaced {
                    // Those behind it still have to wait for the one before.
                    place.turn().await;
                }
                failure.may_have_been_stored = maybe_stored;
                return Finished {
                    outcome: Err(failure),
                    attempts,
                    may_be_twice: false,
                };
            }
            attempt = self.begin(envelope, attempts + 1, claim.clone());
            begun = match unplaced {
                Some(place) => Begun::Waits(place),
                None => Begun::Sent(self.publisher.deliver(envelope, &attempt.context)),
            };
        }
    }

    async fn check_in(
        &self,
        envelope: &Envelope,
        claim: Option<&ClaimRef>,
    ) -> Result<(), ClaimError> {
        let (Some(check_ins), Some(claim)) = (&self.check_ins, claim) else {
            return Ok(());
        };
        let interrupted = || ClaimError::unavailable("interrupted before the body was checked in");
        let turn = check_ins.turn(&self.interrupt).await;
        let turn = turn.ok_or_else(interrupted)?;
        let checking_in = pin!(turn.check_in(claim, envelope.body.clone()));
        match select(checking_in, pin!(self.sleep(CHECK_IN_MAX))).await {
            Either::Left((done, _)) => done,
            Either::Right((true, _)) => {
                let limit = CHECK_IN_MAX.as_secs();
                Err(ClaimError::unavailable(format!(
                    "no answer within {limit} s"
                )))
            }
            Either::Right((false, _)) => Err(interrupted()),
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
