//! What the handlings of one subscription share, and what follows from how they end.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pubsink_core::failure::Class;
use pubsink_core::retry::Rng;
use pubsink_core::subscribe::{Attempts, ReceivedMessage, Retry, Settlement};
use pubsink_core::text::Text;

use super::contain::Panicked;
use super::context::Context;
use super::decode_error::DecodeError;
use super::event::ServiceEvent;
use super::outcome::{BoxError, HandlerError, Outcome};
use super::reply::{Reply, ReplyError};
use super::running::Running;
use super::span::HandlingClass;
use super::tell::Teller;
use crate::metrics::HandlingMetrics;
use crate::place::Place;
use crate::publisher::Publisher;

/// What becomes of a message that its handler cannot read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DecodeFailure {
    /// It is retried, by the handler's retry policy.
    #[default]
    Retry,
    /// It is dropped ([`Settlement::Drop`]).
    Drop,
}

/// What an operator set about a handler.
#[derive(Debug, Clone, Default)]
pub(super) struct Rules {
    pub(super) decode: DecodeFailure,
    pub(super) retry: Retry,
    pub(super) reply_to: Option<Publisher>,
}

/// What the handlings of one subscription share.
pub(super) struct Desk {
    pub(super) subscription: Text,
    pub(super) place: Arc<dyn Place>,
    pub(super) teller: Arc<Teller>,
    pub(super) running: Arc<Running>,
    pub(super) metrics: HandlingMetrics,
    /// Handlings that were stopped before their end.
    pub(super) abandoned: AtomicUsize,
    /// Settlements of which it was never known whether they count.
    pub(super) unconfirmed: AtomicUsize,
    rules: Rules,
    history: Mutex<History>,
}

struct History {
    attempts: Attempts,
    rng: Rng,
}

/// What follows from a handling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) settlement: Settlement,
    pub(super) failed: Option<HandlingClass>,
}

/// How a handler ended.
pub(super) type Answer = Result<Result<Outcome, BoxError>, Panicked>;

/// The longest pause that a reply's failure asks for: as long as Pub/Sub's own retry policy holds
/// a message at most.
const REPLY_PAUSE_MAX: Duration = Duration::from_secs(600);

impl Desk {
    pub(super) fn new(
        subscription: Text,
        place: Arc<dyn Place>,
        teller: Arc<Teller>,
        running: Arc<Running>,
        rules: Rules,
        seed: u64,
    ) -> Self {
        Self {
            metrics: HandlingMetrics::new(&subscription),
            subscription,
            place,
            teller,
            running,
            abandoned: AtomicUsize::new(0),
            unconfirmed: AtomicUsize::new(0),
            rules,
            history: Mutex::new(History {
                attempts: Attempts::default(),
                rng: Rng::with_seed(seed),
            }),
        }
    }

    pub(super) fn attempt(&self, message: &ReceivedMessage) -> u32 {
        self.history().attempts.attempt(message)
    }

    pub(super) fn tell(&self, event: &ServiceEvent) {
        self.teller.tell(event);
    }

    /// What follows from how a handler ended. A reply is published before it is known.
    pub(super) async fn judge(&self, context: &Context, answer: Answer) -> Verdict {
        let outcome = match answer {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(error)) => return self.failed(context, &*error),
            Err(panicked) => return self.panicked(context, &panicked),
        };
        if let Some(reply) = outcome.reply {
            let published = self.publish(reply).await;
            self.metrics.replied(&published);
            if let Err(error) = published {
                return self.reply_failed(context, error);
            }
        }
        let settlement = outcome.settlement;
        let failed = match settlement {
            Settlement::Ack | Settlement::Drop => {
                self.history().attempts.forget(context.message());
                None
            }
            Settlement::Retry | Settlement::RetryAfter(_) => {
                self.history().attempts.failed(context.message());
                Some(HandlingClass::Retry)
            }
        };
        Verdict { settlement, failed }
    }

    /// A handling was stopped before its end.
    pub(super) fn abandon(&self, context: Context) {
        self.abandoned.fetch_add(1, Ordering::Relaxed);
        self.metrics.abandoned();
        self.tell(&ServiceEvent::Abandoned { context });
    }

    async fn publish(&self, reply: Reply) -> Result<(), ReplyError> {
        let publisher = self.rules.reply_to.as_ref();
        let publisher = publisher.ok_or(ReplyError::NoPublisher)?;
        publisher.publish(reply.into_message()?).await?;
        Ok(())
    }

    fn failed(&self, context: &Context, error: &(dyn std::error::Error + 'static)) -> Verdict {
        if let Some(panicked) = cause::<Panicked>(error) {
            return self.panicked(context, panicked);
        }
        if let Some(error) = cause::<DecodeError>(error) {
            return self.unreadable(context, error);
        }
        self.tell(&ServiceEvent::HandlerFailed {
            context: context.clone(),
            error: text(error),
        });
        self.again(
            context,
            HandlingClass::Retry,
            self.rules.retry,
            Duration::ZERO,
        )
    }

    fn unreadable(&self, context: &Context, error: &DecodeError) -> Verdict {
        self.tell(&ServiceEvent::DecodeFailed {
            context: context.clone(),
            error: error.clone(),
        });
        let class = HandlingClass::Decode;
        match self.rules.decode {
            DecodeFailure::Retry => self.again(context, class, self.rules.retry, Duration::ZERO),
            DecodeFailure::Drop => {
                self.history().attempts.forget(context.message());
                Verdict {
                    settlement: Settlement::Drop,
                    failed: Some(class),
                }
            }
        }
    }

    fn panicked(&self, context: &Context, Panicked(error): &Panicked) -> Verdict {
        self.tell(&ServiceEvent::Panicked {
            context: context.clone(),
            error: error.clone(),
        });
        self.again(
            context,
            HandlingClass::Panic,
            self.rules.retry,
            Duration::ZERO,
        )
    }

    /// Another delivery would meet the same at once, so it always has a pause; and the handler had
    /// done its work, so it is never dropped.
    fn reply_failed(&self, context: &Context, error: ReplyError) -> Verdict {
        let least = match &error {
            ReplyError::Publish(failure) => match failure.class {
                Class::RetryAfter(pause) => pause.min(REPLY_PAUSE_MAX),
                Class::Permanent | Class::Config | Class::Transient => Duration::ZERO,
            },
            ReplyError::NotText { .. } | ReplyError::NoPublisher => Duration::ZERO,
        };
        self.tell(&ServiceEvent::ReplyFailed {
            context: context.clone(),
            error,
        });
        let retry = self.rules.retry.never_at_once().never_drops();
        self.again(context, HandlingClass::Reply, retry, least)
    }

    /// By the policy, and no sooner than after `least`.
    fn again(
        &self,
        context: &Context,
        class: HandlingClass,
        retry: Retry,
        least: Duration,
    ) -> Verdict {
        let after = {
            let mut history = self.history();
            let after = retry.after_failure(context.attempt(), &mut history.rng);
            match after.settlement {
                Settlement::Drop => history.attempts.forget(context.message()),
                _ => history.attempts.failed(context.message()),
            }
            after.no_sooner_than(least)
        };
        if after.gave_up {
            self.tell(&ServiceEvent::GaveUp {
                context: context.clone(),
                settlement: after.settlement,
            });
        }
        Verdict {
            settlement: after.settlement,
            failed: Some(class),
        }
    }

    fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The first error of a kind in a chain: a layer may have wrapped it.
fn cause<'a, E: std::error::Error + 'static>(
    error: &'a (dyn std::error::Error + 'static),
) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        next = error.source();
    }
    None
}

/// What an error and its causes say.
fn text(error: &(dyn std::error::Error + 'static)) -> Text {
    if let Some(error) = error.downcast_ref::<HandlerError>() {
        return error.text().clone();
    }
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.contains(&next) {
            text = format!("{text}: {next}");
        }
        cause = error.source();
    }
    Text::capped(text.as_bytes())
}
