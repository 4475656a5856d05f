//! A dispatcher on tokio, by its constructor.

#![allow(clippy::unwrap_used, clippy::panic, reason = "they fail the test")]

#[path = "../examples/own_sink.rs"]
mod own_sink;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use pubsink_tokio::core::delivery::DeliveryContext;
use pubsink_tokio::core::dispatch::{DispatchOptions, EnqueueError};
use pubsink_tokio::core::envelope::Envelope;
use pubsink_tokio::core::failure::Failure;
use pubsink_tokio::core::sink::Receipt;
use pubsink_tokio::journal::MemoryJournal;
use pubsink_tokio::sink::{LogSink, Sink};
use pubsink_tokio::{StartError, dispatch};
use tokio::runtime::Builder;

#[test]
fn a_sink_of_ones_own_is_twenty_lines() {
    own_sink::main().unwrap();
}

#[test]
fn outside_of_tokio_there_is_nothing_to_run_on() {
    let refused = dispatch(MemoryJournal::default()).sink("log", LogSink);
    assert_eq!(refused.spawn().unwrap_err(), StartError::NoRuntime);
}

fn hook() -> Envelope {
    Envelope::new("1", "github", 0, "x")
}

/// Fails for a day, less a few attempts.
#[derive(Clone, Default)]
struct Stubborn(Arc<AtomicU32>);

impl Sink for Stubborn {
    async fn deliver(&self, _: &Envelope, context: &DeliveryContext) -> Result<Receipt, Failure> {
        self.0.store(context.attempt, Ordering::SeqCst);
        match context.attempt {
            ..40 => Err(Failure::transient("not yet")),
            _ => Ok(Receipt::new()),
        }
    }
}

#[test]
fn hours_of_retries_take_no_time_on_a_paused_clock() {
    let mut runtime = Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build().unwrap();
    let sink = Stubborn::default();
    runtime.block_on(async {
        let dispatch = dispatch(MemoryJournal::default())
            .sink("stubborn", sink.clone())
            .seed(7)
            .spawn()
            .unwrap();
        dispatch.enqueue(hook()).await.unwrap();
        let started = tokio::time::Instant::now();
        while dispatch.gauges().lanes > 0 || dispatch.gauges().rows > 0 {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        assert!(started.elapsed() > Duration::from_secs(3_600));
        dispatch.shutdown(Duration::from_secs(5)).await;
    });
    assert_eq!(sink.0.load(Ordering::SeqCst), 40);
}

/// Never answers.
struct Silent;

impl Sink for Silent {
    async fn deliver(&self, _: &Envelope, _: &DeliveryContext) -> Result<Receipt, Failure> {
        std::future::pending().await
    }
}

#[test]
fn a_runtime_shut_down_ends_every_wait() {
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    let (dispatch, waiting, closing) = runtime.block_on(async {
        let dispatch = dispatch(MemoryJournal::default())
            .options(DispatchOptions::default())
            .on_event(|_| {})
            .sink("silent", Silent)
            .spawn()
            .unwrap();
        dispatch.enqueue(hook()).await.unwrap();
        while dispatch.gauges().attempts == 0 {
            tokio::task::yield_now().await;
        }
        let waiting = dispatch.enqueue(hook());
        let closing = dispatch.shutdown(Duration::MAX);
        (dispatch, waiting, closing)
    });
    drop(runtime);
    let runtime = Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        assert_eq!(waiting.await, Err(EnqueueError::Closed));
        closing.await;
        assert!(!dispatch.is_alive());
        assert_eq!(dispatch.enqueue(hook()).await, Err(EnqueueError::Closed));
    });
}
