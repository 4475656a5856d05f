//! The cases of subscriptions on tokio.

#![allow(clippy::unwrap_used, clippy::panic, reason = "they fail the test")]

#[path = "../../runtime/tests/subscribe/mod.rs"]
mod subscribe;

use std::future::Future;
use std::time::Duration;

use pubsink_runtime::core::options::PublisherOptions;
use pubsink_runtime::core::subscribe::{SubscriberOptions, Wire};
use pubsink_runtime::subscribe::{Client, ConnectError, Subscription};
use pubsink_runtime::{Publisher, TokenProvider};
use pubsink_tokio::{Http2Client, HttpClient, Tokio};

struct OnTokio;

impl subscribe::support::Place for OnTokio {
    type Runtime = Tokio;

    fn runtime() -> Tokio {
        Tokio::current().unwrap()
    }

    fn publisher(options: PublisherOptions) -> Publisher {
        pubsink_tokio::publisher(options).spawn().unwrap()
    }

    fn subscription<P: TokenProvider>(
        options: SubscriberOptions,
        tokens: Option<P>,
    ) -> Subscription {
        let builder = pubsink_tokio::subscription(options).seed(1);
        match tokens {
            Some(tokens) => builder.tokens(tokens).spawn().unwrap(),
            None => builder.spawn().unwrap(),
        }
    }

    fn client(wire: Wire) -> Client {
        match wire {
            Wire::Grpc => Client::grpc(Http2Client::new()),
            Wire::Rest => Client::rest(HttpClient::new()),
        }
    }
}

subscribe::cases!(OnTokio, run);

#[test]
fn a_runtime_is_needed() {
    let options = SubscriberOptions::builder("p", "all").build().unwrap();
    let spawned = pubsink_tokio::subscription(options).spawn();
    assert_eq!(spawned.err(), Some(ConnectError::NoRuntime));
}

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
