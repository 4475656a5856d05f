//! The trace of an attempt, as whoever exports spans tells it.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use pubsink_core::envelope::Envelope;
use pubsink_core::trace_context::TraceContext;
use tracing::Span;

/// How the trace is found in the span of an attempt: the user's code.
#[derive(Clone)]
pub(super) struct TraceOf(Arc<Find>);

type Find = dyn Fn(&Span) -> Option<TraceContext> + Send + Sync;

impl TraceOf {
    pub(super) fn new(
        find: impl Fn(&Span) -> Option<TraceContext> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(find))
    }

    /// The trace of the attempt that runs. A state that the hook came with stays with its trace.
    pub(super) fn attempt(&self, envelope: &Envelope) -> Option<TraceContext> {
        let found = catch_unwind(AssertUnwindSafe(|| (self.0)(&Span::current())));
        // A hook must not fail because it was traced.
        let trace = found.unwrap_or_else(|_| {
            tracing::error!("finding the trace of an attempt panicked");
            None
        });
        trace.map(|trace| trace.or_state_of_hook(envelope))
    }
}

impl fmt::Debug for TraceOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TraceOf")
    }
}
