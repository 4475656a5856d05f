//! What a handler may know beside the message's content.

use std::fmt;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use pubsink_core::failure::MessageId;
use pubsink_core::subscribe::{DeliveryId, ReceivedMessage};
use pubsink_core::text::Text;
use pubsink_core::trace_context::{TRACEPARENT, TRACESTATE, TraceContext};

use crate::subscribe::{Delivery, Hand, Lease};

/// The header that holds the ordering key.
pub const PARTITION_KEY: &str = "partition-key";

/// The header that tells which delivery of the message this is, where Pub/Sub counts them.
pub const DELIVERY_ATTEMPT: &str = "pubsub-delivery-attempt";

/// Under which Google's own libraries pass on a trace.
const GOOGCLIENT_TRACEPARENT: &str = "googclient_traceparent";

/// A message in hand, as its handler sees it. Clones share it, and copy nothing.
#[derive(Clone)]
pub struct Context {
    message: Arc<ReceivedMessage>,
    hand: Arc<Hand>,
    attempt: u32,
    /// Pub/Sub's count as text, where somebody asked for that header.
    delivery_attempt: OnceLock<Text>,
}

impl Context {
    /// A message for which nobody waits and whose lease is never lost: to try handlers, codecs and
    /// layers with.
    #[must_use]
    pub fn new(message: impl Into<Arc<ReceivedMessage>>, subscription: impl Into<Text>) -> Self {
        let message = message.into();
        let attempt = message.delivery_attempt.unwrap_or(1).max(1);
        let hand = Hand::new(DeliveryId::new(0), subscription.into());
        Self {
            message,
            hand: Arc::new(hand),
            attempt,
            delivery_attempt: OnceLock::new(),
        }
    }

    pub(super) fn of(delivery: &Delivery, attempt: u32) -> Self {
        Self {
            message: Arc::clone(delivery.message()),
            hand: Arc::clone(delivery.hand()),
            attempt,
            delivery_attempt: OnceLock::new(),
        }
    }

    /// The message.
    #[must_use]
    pub fn message(&self) -> &Arc<ReceivedMessage> {
        &self.message
    }

    /// The message's id: the same when it is delivered again.
    #[must_use]
    pub fn message_id(&self) -> &MessageId {
        &self.message.message_id
    }

    /// The message's data: the buffer it came in.
    #[must_use]
    pub fn data(&self) -> &Bytes {
        &self.message.data
    }

    /// The name of the subscription, `projects/P/subscriptions/S`.
    #[must_use]
    pub fn subscription(&self) -> &str {
        &self.hand.subscription
    }

    /// Which attempt to handle the message this is, from 1: by Pub/Sub's count where it has one,
    /// else by how often it failed in this process.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Pub/Sub's own count, from 1. Only where the subscription has a dead-letter policy.
    #[must_use]
    pub fn delivery_attempt(&self) -> Option<u32> {
        self.message.delivery_attempt
    }

    /// The ordering key.
    #[must_use]
    pub fn ordering_key(&self) -> Option<&str> {
        let key = self.message.ordering_key.as_str();
        (!key.is_empty()).then_some(key)
    }

    /// When the message was published, unix milliseconds.
    #[must_use]
    pub fn publish_time(&self) -> Option<i64> {
        let time = self.message.publish_time;
        (time != 0).then_some(time)
    }

    /// A header: an attribute, or [`PARTITION_KEY`] or [`DELIVERY_ATTEMPT`] where there is one.
    /// These two come before attributes of their names. Names are as the sender wrote them: their
    /// case counts.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let ours = match name {
            PARTITION_KEY => self.ordering_key(),
            DELIVERY_ATTEMPT => self.delivery_attempt_text(),
            _ => None,
        };
        ours.or_else(|| self.message.attributes.get(name))
    }

    /// Every header, each name once: what [`header`](Self::header) gives, attributes first and by
    /// name.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        let ours = [
            (PARTITION_KEY, self.ordering_key()),
            (DELIVERY_ATTEMPT, self.delivery_attempt_text()),
        ];
        let attributes = self.message.attributes.iter();
        attributes
            .filter(move |(name, _)| {
                !ours
                    .iter()
                    .any(|(own, value)| own == name && value.is_some())
            })
            .chain(
                ours.into_iter()
                    .filter_map(|(name, value)| Some((name, value?))),
            )
    }

    fn delivery_attempt_text(&self) -> Option<&str> {
        let attempt = self.delivery_attempt()?;
        let text = || Text::new(&attempt.to_string());
        Some(self.delivery_attempt.get_or_init(text))
    }

    /// The lease of the message: it tells when the message is ours no more.
    #[must_use]
    pub fn lease(&self) -> Lease {
        Lease::new(Arc::clone(&self.hand))
    }

    /// The trace that the message belongs to, of its attributes `traceparent` and `tracestate`, or
    /// of the one that Google's own libraries write.
    #[must_use]
    pub fn trace_context(&self) -> Option<TraceContext> {
        let attributes = &self.message.attributes;
        let own = attributes.get(TRACEPARENT).and_then(TraceContext::new);
        let Some(own) = own else {
            return TraceContext::new(attributes.get(GOOGCLIENT_TRACEPARENT)?);
        };
        Some(match attributes.get(TRACESTATE) {
            Some(state) => own.with_state(state),
            None => own,
        })
    }
}

/// Without data and attributes, which are the sender's.
impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("subscription", &self.hand.subscription)
            .field("attempt", &self.attempt)
            .field("message", &self.message)
            .finish()
    }
}
