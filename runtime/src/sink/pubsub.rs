//! A topic as a sink.

use pubsink_core::delivery::{DeliveryContext, ForwardHeaders};
use pubsink_core::envelope::Envelope;
use pubsink_core::failure::Failure;
use pubsink_core::options::{OrderingKey, OrderingOnFailure, PublisherOptions};
use pubsink_core::sink::{Description, Receipt, Subject};

use super::Sink;
use crate::publisher::Publisher;

/// Publishes each hook to the topic of a [`Publisher`]. How it batches, what travels inline and
/// the ordering key are the publisher's options; which headers travel is set here.
///
/// With [`OrderingOnFailure::Hold`] it keeps order: the hooks of an ordering key go one at a time,
/// and the retries of one before the next. Otherwise a hook that is tried again is stored behind
/// those that came later.
#[derive(Debug, Clone)]
pub struct PubsubSink {
    publisher: Publisher,
    headers: Headers,
}

#[derive(Debug, Clone, Default)]
struct Headers {
    forward: ForwardHeaders,
    max: Option<usize>,
    max_bytes: Option<usize>,
}

impl PubsubSink {
    /// A sink that publishes by `publisher`, and forwards every header that may be.
    #[must_use]
    pub fn new(publisher: Publisher) -> Self {
        Self {
            publisher,
            headers: Headers::default(),
        }
    }

    /// Which headers travel with the message. Default: every one that may.
    #[must_use]
    pub fn forward_headers(mut self, forward: ForwardHeaders) -> Self {
        self.headers.forward = forward;
        self
    }

    /// The most headers that travel. Default: no bound.
    #[must_use]
    pub fn max_headers(mut self, max: usize) -> Self {
        self.headers.max = Some(max);
        self
    }

    /// The most bytes of header names and values that travel. Default: no bound.
    #[must_use]
    pub fn forward_headers_max_bytes(mut self, max: usize) -> Self {
        self.headers.max_bytes = Some(max);
        self
    }

    /// Its publisher.
    #[must_use]
    pub fn publisher(&self) -> &Publisher {
        &self.publisher
    }

    fn options(&self) -> &PublisherOptions {
        self.publisher.options()
    }

    /// What the context leaves open is the sink's to say.
    fn complete(&self, context: &DeliveryContext) -> DeliveryContext {
        let mut context = context.clone();
        let headers = &self.headers;
        if context.forward_headers == ForwardHeaders::Default {
            context.forward_headers.clone_from(&headers.forward);
        }
        context.max_headers = context.max_headers.or(headers.max);
        let max_bytes = &mut context.forward_headers_max_bytes;
        *max_bytes = max_bytes.or(headers.max_bytes);
        context
    }
}

impl Sink for PubsubSink {
    async fn deliver(
        &self,
        envelope: &Envelope,
        context: &DeliveryContext,
    ) -> Result<Receipt, Failure> {
        let context = self.complete(context);
        let delivered = self.publisher.deliver(envelope, &context).await?;
        Ok(delivered.into())
    }

    fn batched(&self) -> bool {
        self.options().batch()
    }

    fn inline_max_bytes(&self) -> Option<usize> {
        Some(self.options().inline_max_bytes())
    }

    fn describe(&self, _subject: &Subject) -> Option<Description> {
        Some(Description::of_topic(self.options()))
    }

    fn ordered(&self) -> bool {
        self.options().ordering_on_failure() == OrderingOnFailure::Hold
    }

    fn ordering_key(&self, envelope: &Envelope) -> Option<String> {
        let key = match self.options().ordering_key() {
            OrderingKey::None => return None,
            OrderingKey::Fixed(key) => key.clone(),
            OrderingKey::FromEnvelope(key) => key(envelope),
        };
        Some(key).filter(|key| !key.is_empty())
    }
}
