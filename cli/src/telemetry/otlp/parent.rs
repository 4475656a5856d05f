//! An attempt is in the trace of its hook: below the span that the hook came with, and linked to it.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use opentelemetry::trace::{
    Link, Span as _, SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState,
};
use opentelemetry::{Context, ContextGuard};
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{Span, SpanData, SpanProcessor};
use pubsink_core::trace_context::{TRACEPARENT, TraceContext};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing_subscriber::Layer;

use super::counts::Counts;

/// Two layers, before and after the one that makes a span of OpenTelemetry out of a new span of
/// ours: between them the context is that of the span's field `traceparent`.
pub(super) enum Parents {
    Before,
    After,
}

thread_local! {
    /// What the layer before has set and the one behind it takes back.
    static SET: RefCell<Option<ContextGuard>> = const { RefCell::new(None) };
}

impl Parents {
    pub(super) fn around() -> [Self; 2] {
        [Self::Before, Self::After]
    }
}

impl<S: tracing::Subscriber> Layer<S> for Parents {
    fn on_new_span(
        &self,
        attributes: &Attributes<'_>,
        _: &Id,
        _: tracing_subscriber::layer::Context<'_, S>,
    ) {
        let set = match self {
            Self::Before => {
                let mut found = Found(None);
                attributes.record(&mut found);
                let parent = found
                    .0
                    .map(|it| Context::current().with_remote_span_context(it));
                parent.map(Context::attach)
            }
            Self::After => None,
        };
        drop(SET.replace(set));
    }
}

/// The span that a field names.
struct Found(Option<SpanContext>);

impl Visit for Found {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == TRACEPARENT {
            self.0 = span_context(value);
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}

fn span_context(traceparent: &str) -> Option<SpanContext> {
    TraceContext::new(traceparent)?;
    let mut parts = traceparent.split('-').skip(1);
    let trace = TraceId::from_hex(parts.next()?).ok()?;
    let span = SpanId::from_hex(parts.next()?).ok()?;
    let flags = u8::from_str_radix(parts.next()?, 16).ok()?;
    let state = TraceState::default();
    Some(SpanContext::new(
        trace,
        span,
        TraceFlags::new(flags),
        true,
        state,
    ))
}

/// Links spans to the span that a hook came with, and counts those that are complete.
#[derive(Debug)]
pub(super) struct Linked(Arc<Counts>);

impl Linked {
    pub(super) fn new(counts: Arc<Counts>) -> Self {
        Self(counts)
    }
}

impl SpanProcessor for Linked {
    fn on_start(&self, span: &mut Span, context: &Context) {
        let parent = context.span().span_context().clone();
        if parent.is_remote() {
            let Link {
                span_context,
                attributes,
                ..
            } = Link::with_context(parent);
            span.add_link(span_context, attributes);
        }
    }

    fn on_end(&self, span: SpanData) {
        if span.span_context.is_sampled() {
            self.0.ended();
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}
