//! A dispatcher works wherever it is run, and every wait ends with where it ran.

#![allow(clippy::unwrap_used, clippy::panic, reason = "they fail the test")]

#[path = "../examples/own_sink.rs"]
mod own_sink;
mod support;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join;
use pubsink_fixtures::server::Server;
use pubsink_smol::core::delivery::DeliveryContext;
use pubsink_smol::core::dispatch::{DispatchOptions, EnqueueError};
use pubsink_smol::core::envelope::Envelope;
use pubsink_smol::core::failure::Failure;
use pubsink_smol::core::sink::Receipt;
use pubsink_smol::journal::MemoryJournal;
use pubsink_smol::sink::{PubsubSink, Sink};
use pubsink_smol::{Dispatch, DispatchBuilder, dispatch, publisher};
use smol::Executor;
use support::{TOPIC, options, run, server, wait_until};

#[test]
fn a_sink_of_ones_own_is_twenty_lines() {
    own_sink::main().unwrap();
}

fn hook() -> Envelope {
    Envelope::new("1", "github", 0, "x")
}

fn to_topic(server: &Server) -> DispatchBuilder {
    let publisher = publisher(options(server)).spawn().unwrap();
    dispatch(MemoryJournal::default())
        .sink("topic", PubsubSink::new(publisher))
        .options(DispatchOptions::default())
        .on_event(|_| {})
        .seed(7)
}

async fn round_trip(server: &Server, dispatch: &Dispatch) {
    for _ in 0..3 {
        dispatch.enqueue(hook()).await.unwrap();
    }
    wait_until("stored", || server.stored(TOPIC).len() == 3).await;
    dispatch.shutdown(Duration::from_secs(5)).await;
    assert_eq!(dispatch.gauges().rows, 0);
    assert!(!dispatch.is_alive());
}

#[test]
fn on_the_global_executor() {
    let server = server();
    let dispatch = to_topic(&server).spawn().unwrap();
    run(round_trip(&server, &dispatch));
}

#[test]
fn on_an_executor_of_ones_own() {
    let server = server();
    let executor = Arc::new(Executor::new());
    let dispatch = to_topic(&server).spawn_on(&executor).unwrap();
    run(executor.run(round_trip(&server, &dispatch)));
}

#[test]
fn in_a_plain_block_on() {
    let server = server();
    let (dispatch, driver) = to_topic(&server).build().unwrap();
    run(join(driver, round_trip(&server, &dispatch)));
}

/// Never answers.
struct Silent;

impl Sink for Silent {
    async fn deliver(&self, _: &Envelope, _: &DeliveryContext) -> Result<Receipt, Failure> {
        std::future::pending().await
    }
}

#[test]
fn an_executor_dropped_ends_every_wait() {
    let executor = Arc::new(Executor::new());
    let dispatch = dispatch(MemoryJournal::default()).sink("silent", Silent);
    let dispatch = dispatch.spawn_on(&executor).unwrap();
    let (waiting, closing) = run(executor.run(async {
        dispatch.enqueue(hook()).await.unwrap();
        wait_until("attempted", || dispatch.gauges().attempts == 1).await;
        let waiting = dispatch.enqueue(hook());
        (waiting, dispatch.shutdown(Duration::MAX))
    }));
    drop(executor);
    run(async {
        assert_eq!(waiting.await, Err(EnqueueError::Closed));
        closing.await;
        assert!(!dispatch.is_alive());
        assert_eq!(dispatch.enqueue(hook()).await, Err(EnqueueError::Closed));
    });
}

#[test]
fn an_executor_that_is_gone_refuses() {
    let executor = Arc::new(Executor::new());
    let gone = pubsink_smol::Smol::from(&executor);
    drop(executor);
    let dispatch = dispatch(MemoryJournal::default()).sink("silent", Silent);
    let dispatch = dispatch.spawn_on(gone).unwrap();
    assert_eq!(run(dispatch.enqueue(hook())), Err(EnqueueError::Closed));
}
