//! What the command shows of itself while it runs: metrics, and spans where it is built with the
//! feature `otlp`. Nothing of it is there unless it is asked for.

#[cfg(feature = "otlp")]
mod otlp;
#[cfg(not(feature = "otlp"))]
#[path = "otlp_off.rs"]
mod otlp;
mod page;
mod recorder;

use clap::Args;
use tokio::runtime::{Builder, Runtime};
use tracing_subscriber::{Layer, Registry};

use crate::exit::CommandError;
use crate::say::say;
pub(crate) use otlp::trace_context;
use page::Page;

/// What to show.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Observability")]
pub(crate) struct TelemetryFlags {
    /// Serve metrics for Prometheus at http://ADDR/metrics while the command runs. ADDR is
    /// HOST:PORT, or :PORT on 127.0.0.1; port 0 takes a free one
    #[arg(long, value_name = "ADDR")]
    metrics: Option<String>,
    #[command(flatten)]
    otlp: otlp::Flags,
}

/// What was asked for, while it runs.
#[derive(Default)]
pub(crate) struct Telemetry {
    /// Where it runs: whatever the command does meanwhile, and on whichever runtime.
    aside: Option<Runtime>,
    exporter: Option<otlp::Exporter>,
}

/// What keeps spans.
pub(crate) type SpanLayer = Box<dyn Layer<Registry> + Send + Sync>;

impl TelemetryFlags {
    /// Starts what was asked for.
    pub(crate) fn start(&self) -> Result<Telemetry, CommandError> {
        let mut telemetry = Telemetry::default();
        if let Some(addr) = &self.metrics {
            let page = Page::bind(addr)?;
            let registry = recorder::install()?;
            say(format_args!("pubsink: metrics at {}", page.url()));
            page.serve(registry, telemetry.aside()?)?;
        }
        if let Some(url) = self.otlp.url() {
            let exporter = otlp::Exporter::start(url, telemetry.aside()?)?;
            telemetry.exporter = Some(exporter);
        }
        Ok(telemetry)
    }
}

impl Telemetry {
    /// What keeps spans, where they are exported.
    pub(crate) fn spans(&self) -> Option<SpanLayer> {
        self.exporter.as_ref().map(otlp::Exporter::layer)
    }

    /// Sends the last spans, and ends.
    pub(crate) fn end(self) {
        if let Some(exporter) = self.exporter {
            exporter.end();
        }
        if let Some(aside) = self.aside {
            // A reader that takes its time must not hold up the end.
            aside.shutdown_background();
        }
    }

    fn aside(&mut self) -> Result<&Runtime, CommandError> {
        if self.aside.is_none() {
            let mut builder = Builder::new_multi_thread();
            let builder = builder.worker_threads(1).thread_name("telemetry");
            let runtime = builder.enable_all().build();
            let failed = |error| CommandError::new("cannot start a thread for telemetry", error);
            self.aside = Some(runtime.map_err(failed)?);
        }
        self.aside
            .as_ref()
            .ok_or_else(|| CommandError("no telemetry".to_owned()))
    }
}
