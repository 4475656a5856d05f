//! Logs on standard error, by `PUBSINK_LOG`; warnings by default.

use std::io::{IsTerminal as _, stderr};

use tracing_subscriber::filter::{EnvFilter, LevelFilter};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt, registry};

use crate::telemetry::SpanLayer;

/// Installs them, beside what keeps spans.
pub(crate) fn to_stderr(spans: Option<SpanLayer>) {
    let filter = EnvFilter::builder()
        .with_env_var("PUBSINK_LOG")
        .with_default_directive(LevelFilter::WARN.into())
        .from_env_lossy();
    // curl's failures are outcomes here, and its details may hold a token. What dispatch warns of
    // is said by the command itself.
    let off = ["isahc=off", "pubsink_runtime::dispatch::tell=off"];
    let off = off.into_iter().filter_map(|off| off.parse().ok());
    let filter = off.fold(filter, EnvFilter::add_directive);
    let lines = fmt::layer()
        .with_writer(stderr)
        .with_ansi(stderr().is_terminal())
        // It would panic where standard error is closed.
        .log_internal_errors(false)
        .with_filter(filter);
    registry().with(spans).with(lines).init();
}
