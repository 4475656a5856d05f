//! The handle.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use pubsink_core::delivery::DeliveryContext;
use pubsink_core::envelope::Envelope;
use pubsink_core::failure::{Class, Failure};
use pubsink_core::options::PublisherOptions;
use pubsink_core::publish::{Admission, Gauges, Message};
use pubsink_core::reason::{InvalidMessage, Reason, StoppedKey};

use crate::delivery::{Deliveries, Delivery, Flush};
use crate::shared::Shared;
use crate::together;

/// Publishes to one topic. Clones share everything; dropping the last one sends what was admitted
/// in the background, as long as the runtime runs.
///
/// - A topic without a subscription still confirms, and discards.
/// - Pub/Sub stores a repeated publish twice: consumers dedupe on `ankusa_idempotency_key`.
/// - An ordering key orders only with an ordering-enabled subscription, through one regional
///   endpoint.
#[derive(Clone)]
pub struct Publisher(Arc<Handle>);

struct Handle {
    shared: Arc<Shared>,
    options: Arc<PublisherOptions>,
    now: Box<dyn Fn() -> Instant + Send + Sync>,
}

impl Publisher {
    pub(crate) fn new(
        shared: Arc<Shared>,
        options: Arc<PublisherOptions>,
        now: impl Fn() -> Instant + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Handle {
            shared,
            options,
            now: Box::new(now),
        }))
    }

    /// Publishes a plain message.
    ///
    /// It is checked and admitted before this returns, so messages leave in the order of the
    /// calls; the returned future tells its outcome. Past a ceiling it is refused at once, with
    /// a pause to wait before the next try.
    pub fn publish(&self, message: Message) -> Delivery {
        self.admit(Admission::message(message, &self.0.options))
    }

    /// Publishes a hook: one attempt, with its context. See [`publish`](Self::publish).
    ///
    /// With [`DeliveryContext::batch`] it may share its request with others.
    pub fn deliver(&self, envelope: &Envelope, context: &DeliveryContext) -> Delivery {
        self.admit(self.check(envelope, context))
    }

    /// Checks a hook, as [`deliver`](Self::deliver) does before it is admitted.
    pub(crate) fn check(
        &self,
        envelope: &Envelope,
        context: &DeliveryContext,
    ) -> Result<Admission, Failure> {
        let options = &self.0.options;
        // Making the ordering key is the user's code.
        let admission = catch_unwind(AssertUnwindSafe(|| {
            Admission::hook(envelope, context, options)
        }));
        admission.unwrap_or_else(|_| {
            let reason = Reason::InvalidMessage(InvalidMessage::OrderingKeyPanicked);
            Err(Failure::new(Class::Permanent, reason))
        })
    }

    /// Publishes a message that was checked before, as [`Admission`] allows on any thread.
    pub fn admit(&self, admission: Result<Admission, Failure>) -> Delivery {
        let shared = &self.0.shared;
        let admitted = match admission {
            Ok(admission) => shared.admit(|| self.now(), admission),
            Err(failure) => Err(failure),
        };
        match admitted {
            Ok(slot) => Delivery::admitted(shared, slot),
            Err(failure) => {
                shared.metrics.refused(&failure);
                Delivery::refused(failure)
            }
        }
    }

    /// Publishes plain messages together: one future has all their outcomes, which costs less than
    /// one each. See [`publish`](Self::publish); each message has the outcome it would have had by
    /// itself, and what is refused holds up no other.
    ///
    /// The ceilings hold: of more than
    /// [`batch_queue_tenant`](PublisherOptions::batch_queue_tenant) messages without a tenant, 1,024 by
    /// default, the rest is refused.
    pub fn publish_all(&self, messages: impl IntoIterator<Item = Message>) -> Deliveries {
        let options = &self.0.options;
        let messages = messages.into_iter();
        self.admit_all(messages.map(|message| Admission::message(message, options)))
    }

    /// The same of messages that were checked before, as [`Admission`] allows on any thread, or that are
    /// checked as they are asked for.
    pub fn admit_all(
        &self,
        admissions: impl IntoIterator<Item = Result<Admission, Failure>>,
    ) -> Deliveries {
        together::admit(&self.0.shared, || self.now(), admissions)
    }

    /// Sends what waits without lingering. The returned future resolves once everything admitted
    /// before the call is settled, in flight or not.
    pub fn flush(&self) -> Flush {
        let slot = self.0.shared.flush(self.now());
        Flush::new(&self.0.shared, slot)
    }

    /// Takes nothing more, sends what waits, and resolves once everything is settled: after
    /// `limit` what is left fails as transient.
    pub fn shutdown(&self, limit: Duration) -> Flush {
        let now = self.now();
        let shared = &self.0.shared;
        Flush::new(shared, shared.shut_down(now, now.checked_add(limit)))
    }

    /// Goes on with an ordering key that was stopped after a failure
    /// ([`OrderingOnFailure::Hold`](pubsink_core::options::OrderingOnFailure::Hold)): what is
    /// published of it from now on goes. Nothing happens where the key was not stopped.
    ///
    /// Messages that failed with the key come back to nobody by themselves. Whoever publishes them
    /// again does so after this call, in their order, before anything else of the key; a hook can
    /// do both at once, with [`DeliveryContext::resume_key`].
    pub fn resume(&self, key: &str) {
        self.0.shared.resume(self.now(), key);
    }

    /// Goes on with every ordering key. Nothing else ends it when every key is stopped because
    /// more of them failed than
    /// [`max_stopped_keys`](PublisherOptions::max_stopped_keys).
    pub fn resume_all(&self) {
        self.0.shared.resume_all(self.now());
    }

    /// The ordering keys that are stopped, by name, each with its first failure. Where every key is
    /// stopped, the one it is for comes last, with [`StoppedKey::every_key`].
    #[must_use]
    pub fn stopped_keys(&self) -> Vec<StoppedKey> {
        self.0.shared.stopped_keys()
    }

    /// What it holds.
    #[must_use]
    pub fn gauges(&self) -> Gauges {
        self.0.shared.gauges().0
    }

    /// Whether its driver runs. When it does not, every message is refused.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.0.shared.gauges().1
    }

    /// Its options.
    #[must_use]
    pub fn options(&self) -> &PublisherOptions {
        &self.0.options
    }

    fn now(&self) -> Instant {
        (self.0.now)()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.close((self.now)());
    }
}

impl fmt::Debug for Publisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Publisher")
            .field("topic", &self.0.options.topic_name())
            .field("endpoint", &self.0.options.endpoint().as_str())
            .field("gauges", &self.gauges())
            .finish()
    }
}
