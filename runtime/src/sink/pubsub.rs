//! A topic as a sink.

use std::fmt;
use std::sync::Arc;

use pubsink_core::claim::{ClaimError, ClaimRef};
use pubsink_core::delivery::{DeliveryContext, ForwardHeaders};
use pubsink_core::envelope::Envelope;
use pubsink_core::failure::Failure;
use pubsink_core::options::{OrderingKey, OrderingOnFailure, PublisherOptions};
use pubsink_core::sink::{Description, Receipt, Subject};
use pubsink_core::trace_context::TraceContext;
use tracing::Span;

use super::Sink;
use super::trace::TraceOf;
use crate::claims::{AnyClaimStore, ClaimStore};
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
    trace_of: Option<TraceOf>,
    claims: Option<Claims>,
}

/// Where bodies are checked in that are too large to travel.
#[derive(Clone)]
struct Claims(Arc<dyn AnyClaimStore>);

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
            trace_of: None,
            claims: None,
        }
    }

    /// Checks bodies that are too large to travel inline in at `store`, where the delivery comes
    /// without a claim: it was made directly, not by a dispatcher, which has checked the body in
    /// for all its sinks. Default: such a delivery fails.
    ///
    /// A hook has one claim, however often it is tried: see [`ClaimRef::derive`]. What would be
    /// refused anyway is not checked in.
    #[must_use]
    pub fn claims(mut self, store: impl ClaimStore) -> Self {
        self.claims = Some(Claims(Arc::new(store)));
        self
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

    /// How the trace of an attempt is found in its span: whoever exports spans knows. It travels as
    /// the attributes `traceparent` and `tracestate`, so that what consumers do joins the trace
    /// below the attempt. Default: not at all; the hook's own trace travels instead where the
    /// publisher's [`trace_context`](PublisherOptions::trace_context) says so, also where `find`
    /// gives none.
    ///
    /// `find` is called within the attempt. With `tracing-opentelemetry` it reads
    /// `span.context().span().span_context()`, as docs/observability.md shows.
    #[must_use]
    pub fn trace_context_of(
        mut self,
        find: impl Fn(&Span) -> Option<TraceContext> + Send + Sync + 'static,
    ) -> Self {
        self.trace_of = Some(TraceOf::new(find));
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

    /// Where the body has to be checked in before the hook can go, and the claim it gets.
    fn to_check_in(
        &self,
        envelope: &Envelope,
        context: &DeliveryContext,
    ) -> Result<Option<(&Claims, ClaimRef)>, ClaimError> {
        let too_large = envelope.body.len() > self.options().inline_max_bytes();
        let needed = too_large && context.claim.is_none();
        let Some(claims) = self.claims.as_ref().filter(|_| needed) else {
            return Ok(None);
        };
        let tenant = envelope.tenant_id.as_deref();
        let claim = ClaimRef::derive(tenant, envelope.received_at, &envelope.id)?;
        Ok(Some((claims, claim)))
    }

    /// What the context leaves open is the sink's to say.
    fn complete(&self, envelope: &Envelope, context: &DeliveryContext) -> DeliveryContext {
        let mut context = context.clone();
        let headers = &self.headers;
        if context.forward_headers == ForwardHeaders::Default {
            context.forward_headers.clone_from(&headers.forward);
        }
        context.max_headers = context.max_headers.or(headers.max);
        let max_bytes = &mut context.forward_headers_max_bytes;
        *max_bytes = max_bytes.or(headers.max_bytes);
        if context.trace_context.is_none() {
            let found = self.trace_of.as_ref();
            context.trace_context = found.and_then(|of| of.attempt(envelope));
        }
        context
    }
}

impl Sink for PubsubSink {
    async fn deliver(
        &self,
        envelope: &Envelope,
        context: &DeliveryContext,
    ) -> Result<Receipt, Failure> {
        let mut context = self.complete(envelope, context);
        let to_check_in = self.to_check_in(envelope, &context)?;
        if let Some((_, claim)) = &to_check_in {
            context.claim = Some(claim.clone());
        }
        let admission = self.publisher.check(envelope, &context);
        if let (Ok(_), Some((Claims(store), claim))) = (&admission, to_check_in) {
            store.check_in(&claim, envelope.body.clone()).await?;
        }
        Ok(self.publisher.admit(admission).await?.into())
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

impl fmt::Debug for Claims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Claims")
    }
}
