//! The streaming transport's cases on smol.

#![allow(clippy::unwrap_used, clippy::panic, reason = "they fail the test")]

#[path = "../../runtime/tests/http2/mod.rs"]
mod http2;

use std::future::Future;
use std::time::Duration;

use pubsink_smol::http2::SmolConnector;
use smol::future::FutureExt as _;

http2::cases!(SmolConnector, run);

/// Runs a case, which has a minute.
fn run(case: impl Future<Output = ()>) {
    let late = async {
        smol::Timer::after(Duration::from_secs(60)).await;
        panic!("not done within a minute")
    };
    smol::block_on(case.or(late));
}
