//! The span of an attempt.

use pubsink_core::delivery::DeliveryContext;
use pubsink_core::envelope::Envelope;
use pubsink_core::failure::Failure;
use pubsink_core::journal::Row;
use pubsink_core::trace_context::TraceContext;
use tracing::Span;
use tracing::field::Empty;

/// The span of one attempt to deliver a hook to a sink, `ankusa.dispatch.attempt`.
///
/// A dispatcher runs each of its attempts in one, so that whatever the sink logs is inside of it;
/// this is for those who deliver without one. How it ended is told by [`mark_attempt`].
///
/// `traceparent` is the hook's own, where it came with one: a layer that exports spans makes the
/// attempt a child of it, so that every attempt of a hook, however late, is in its trace.
#[must_use]
pub fn attempt_span(envelope: &Envelope, sink: &str, context: &DeliveryContext) -> Span {
    // What costs anything is in the macro: it is not asked for where nobody wants the span.
    tracing::info_span!(
        "ankusa.dispatch.attempt",
        hook_id = envelope.id.as_str(),
        source_id = envelope.source_id.as_str(),
        tenant_id = envelope.tenant(),
        sink,
        attempt = context.attempt,
        replay_id = context.replay_id.as_deref(),
        traceparent = TraceContext::of_hook(envelope)
            .as_ref()
            .map(TraceContext::traceparent),
        error_class = Empty,
        otel.status_code = Empty,
    )
}

/// Marks the span of an attempt that failed: by its class, never by its reason, which others wrote.
pub fn mark_attempt<T>(span: &Span, outcome: &Result<T, Failure>) {
    if let Err(failure) = outcome {
        span.record("error_class", failure.class.error_class().as_str());
        // What tracing-opentelemetry reads: shown as failed, without words.
        span.record("otel.status_code", "ERROR");
    }
}

/// The span that an attempt for a row runs in.
pub(super) fn attempt(row: &Row, context: &DeliveryContext) -> Span {
    attempt_span(&row.envelope, row.lane.sink.as_str(), context)
}

pub(super) use mark_attempt as mark;
