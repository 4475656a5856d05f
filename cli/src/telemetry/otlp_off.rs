//! Built without the feature `otlp`: no span is exported.

use clap::Args;
use pubsink_core::trace_context::TraceContext;
use tokio::runtime::Runtime;
use tracing::Span;

use super::SpanLayer;
use crate::exit::CommandError;

/// None of them.
#[derive(Debug, Default, Args)]
pub(super) struct Flags {}

impl Flags {
    #[expect(clippy::unused_self, reason = "it has a flag with the feature")]
    pub(super) fn url(&self) -> Option<&str> {
        None
    }
}

/// There is none.
pub(super) enum Exporter {}

impl Exporter {
    pub(super) fn start(_url: &str, _aside: &Runtime) -> Result<Self, CommandError> {
        Err(CommandError("built without the feature otlp".to_owned()))
    }

    pub(super) fn layer(&self) -> SpanLayer {
        match *self {}
    }

    pub(super) fn end(self) {
        match self {}
    }
}

/// The trace that a span is in, as it is exported: in none.
pub(crate) fn trace_context(_span: &Span) -> Option<TraceContext> {
    None
}
