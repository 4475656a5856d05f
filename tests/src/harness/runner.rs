//! Runs one case within its wall limit.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Instant;

use pubsink_core::subscribe::Wire;

use super::case::Case;
use super::env::Env;
use super::panics;
use super::runtimes::RuntimeEntry;
use super::servers::ServerEntry;

/// Runs a case on a thread and a runtime of its own.
pub(super) fn run(
    case: &'static Case,
    runtime: RuntimeEntry,
    server: &ServerEntry,
    wire: Wire,
) -> Result<(), String> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    // Its runtime's threads have the same name, so its panics are found.
    let name = format!("case-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
    let (done, ended) = channel::<()>();
    let opened = server.open(case.measures_memory);
    let thread_name = name.clone();
    let body = move || {
        let _done = done;
        let started = (runtime.start)(case.flavor, &thread_name);
        let env = Env::new(started.host(), runtime, opened, wire, case.publishes);
        started.block_on(Box::pin(async move {
            env.prepare().await;
            (case.run)(env).await;
        }));
    };
    let start = Instant::now();
    let thread = thread::Builder::new().name(name.clone()).spawn(body);
    let thread = thread.map_err(|error| error.to_string())?;
    // The sender is dropped when the case ends, also by a panic.
    if ended.recv_timeout(case.limit) == Err(RecvTimeoutError::Timeout) {
        return Err(format!("it did not end within {} s", case.limit.as_secs()));
    }
    let joined = thread.join();
    let panics = panics::on(&name);
    if joined.is_ok() && panics.is_empty() {
        return Ok(());
    }
    Err(format!(
        "after {:.1} s: {}",
        start.elapsed().as_secs_f64(),
        panics.join("\n")
    ))
}
