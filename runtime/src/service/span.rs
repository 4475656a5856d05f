//! The span of a handling.

use pubsink_core::trace_context::TraceContext;
use tracing::Span;
use tracing::field::Empty;

use super::context::Context;

/// The span of one attempt to handle a message, `ankusa.subscribe.attempt`.
///
/// A service runs each of its handlers in one, so that whatever the handler logs is inside of it;
/// this is for those who handle messages without a service. How it ended is told by
/// [`mark_handling`].
///
/// `traceparent` is the message's own, where it came with one: a layer that exports spans makes
/// the attempt a child of it. `hook_id`, `source_id` and `tenant_id` are there for hooks.
#[must_use]
pub fn handling_span(context: &Context) -> Span {
    let attributes = &context.message().attributes;
    // What costs anything is in the macro: it is not asked for where nobody wants the span.
    tracing::info_span!(
        "ankusa.subscribe.attempt",
        subscription = context.subscription(),
        message_id = context.message_id().as_str(),
        attempt = context.attempt(),
        hook_id = attributes.get("ankusa_id"),
        source_id = attributes.get("ankusa_source_id"),
        tenant_id = attributes.get("ankusa_tenant_id"),
        traceparent = context
            .trace_context()
            .as_ref()
            .map(TraceContext::traceparent),
        error_class = Empty,
        otel.status_code = Empty,
    )
}

/// Marks the span of a handling that failed: by the class of the failure, never by its words or
/// the message's.
pub fn mark_handling(span: &Span, failed: HandlingClass) {
    span.record("error_class", failed.as_str());
    // What tracing-opentelemetry reads: shown as failed, without words.
    span.record("otel.status_code", "ERROR");
}

/// How a handling failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HandlingClass {
    /// The handler failed, or asked for a retry.
    Retry,
    /// The message is not what the handler takes.
    Decode,
    /// The reply was not published.
    Reply,
    /// The handler panicked.
    Panic,
    /// The lease was lost while the handler worked.
    LeaseLost,
}

impl HandlingClass {
    /// The class as operators write it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Decode => "decode",
            Self::Reply => "reply",
            Self::Panic => "panic",
            Self::LeaseLost => "lease_lost",
        }
    }
}
