//! The streaming transport's cases on tokio.

#![allow(clippy::unwrap_used, clippy::panic, reason = "they fail the test")]

#[path = "../../runtime/tests/http2/mod.rs"]
mod http2;

use std::future::Future;
use std::time::Duration;

use pubsink_tokio::http2::TokioConnector;

http2::cases!(TokioConnector, run);

/// Runs a case, which has a minute.
fn run(case: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let minute = Duration::from_secs(60);
    let done = runtime.block_on(async { tokio::time::timeout(minute, case).await });
    assert!(done.is_ok(), "not done within a minute");
}
