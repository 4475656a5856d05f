//! Spans by OTLP/HTTP, to a collector.
//!
//! The library's own spans are exported, those of attempts above all, and nothing else: no log, and
//! no field but those that the library puts on them.

mod client;
mod counts;
mod parent;

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use opentelemetry::trace::{SpanContext, TraceContextExt as _, TracerProvider as _};
use opentelemetry::{Key, Value};
use opentelemetry_otlp::{WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, SdkTracerProvider, SpanExporter,
};
use pubsink_core::options::{Endpoint, OptionError};
use pubsink_core::trace_context::TraceContext;
use tokio::runtime::Runtime;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::filter_fn;

use super::SpanLayer;
use crate::exit::CommandError;
use client::Client;
use counts::{Counted, Counts};
use parent::{Linked, Parents};

/// How long the collector has for a batch of spans, and for all of the last ones.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(5);
/// The most spans that wait for the collector. What comes beyond is dropped, and told of.
const QUEUE: usize = 16_384;
/// The most spans of a request: as many as a full publish request has messages.
const BATCH: usize = 1_000;

/// Where spans go.
#[derive(Debug, Default, Args)]
pub(super) struct Flags {
    /// Export a span of each attempt by OTLP/HTTP (protobuf) to the collector at URL, for example
    /// http://127.0.0.1:4318; /v1/traces is added. OpenTelemetry's own variables set the rest:
    /// OTEL_EXPORTER_OTLP_HEADERS, OTEL_SERVICE_NAME, OTEL_TRACES_SAMPLER
    #[arg(long, value_name = "URL")]
    otlp: Option<String>,
}

impl Flags {
    pub(super) fn url(&self) -> Option<&str> {
        self.otlp.as_deref()
    }
}

/// Exports spans until it is ended.
pub(super) struct Exporter {
    provider: SdkTracerProvider,
    counts: Arc<Counts>,
}

impl Exporter {
    pub(super) fn start(url: &str, aside: &Runtime) -> Result<Self, CommandError> {
        let counts = Arc::new(Counts::default());
        let client = Client::new(aside.handle().clone(), EXPORT_TIMEOUT, Arc::clone(&counts));
        let exporter = opentelemetry_otlp::SpanExporter::builder()
            .with_http()
            .with_http_client(client)
            .with_endpoint(traces_url(url)?)
            .with_timeout(EXPORT_TIMEOUT)
            .build();
        let exporter = exporter.map_err(|error| CommandError::new("--otlp", error))?;
        Ok(Self::of(exporter, counts))
    }

    fn of(exporter: impl SpanExporter + 'static, counts: Arc<Counts>) -> Self {
        let config = BatchConfigBuilder::default()
            .with_max_queue_size(QUEUE)
            .with_max_export_batch_size(BATCH)
            .build();
        let exporter = Counted::new(exporter, Arc::clone(&counts));
        let provider = SdkTracerProvider::builder()
            .with_resource(resource())
            .with_span_processor(Linked::new(Arc::clone(&counts)))
            .with_span_processor(BatchSpanProcessor::new(exporter, config))
            .build();
        Self { provider, counts }
    }

    pub(super) fn layer(&self) -> SpanLayer {
        let spans = tracing_opentelemetry::layer()
            .with_tracer(self.provider.tracer("pubsink"))
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_level(false)
            .with_tracked_inactivity(false)
            // Nobody here asks for the current context, and it costs at every poll.
            .with_context_activation(false);
        let [before, after] = Parents::around();
        let ours = filter_fn(|it| it.is_span() && it.target().starts_with("pubsink"));
        Box::new(before.and_then(spans).and_then(after).with_filter(ours))
    }

    /// Sends what is left, and says how much could not be sent.
    pub(super) fn end(self) {
        // What it came to is in the counts.
        let _ = self.provider.shutdown_with_timeout(EXPORT_TIMEOUT);
        self.counts.tell();
    }
}

/// The trace that a span is in, as it is exported.
pub(crate) fn trace_context(span: &Span) -> Option<TraceContext> {
    let context = span.context();
    let context: SpanContext = context.span().span_context().clone();
    let parent = format!(
        "00-{}-{}-{:02x}",
        context.trace_id(),
        context.span_id(),
        context.trace_flags()
    );
    TraceContext::new(&parent)
}

/// Where a collector at this base takes spans.
fn traces_url(base: &str) -> Result<String, CommandError> {
    // It is not repeated: a query may hold a key.
    let wrong = |error: OptionError| CommandError(format!("--otlp must be {}", error.expected));
    let url = Endpoint::new(base).map_err(wrong)?;
    let url = url.as_str();
    Ok(match url.ends_with("/v1/traces") {
        true => url.to_owned(),
        false => format!("{url}/v1/traces"),
    })
}

/// What all spans are of: pubsink, unless the environment says otherwise.
fn resource() -> Resource {
    let name = Key::from_static_str("service.name");
    let detected = Resource::builder().build().get(&name);
    let unknown = |name: &Value| name.as_str().starts_with("unknown_service");
    match detected.filter(|name| !unknown(name)) {
        Some(name) => Resource::builder().with_service_name(name),
        None => Resource::builder().with_service_name("pubsink"),
    }
    .build()
}

#[cfg(test)]
mod tests;
