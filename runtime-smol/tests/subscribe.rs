//! The cases of subscriptions on smol.

#![allow(clippy::unwrap_used, clippy::panic, reason = "they fail the test")]

#[path = "../../runtime/tests/subscribe/mod.rs"]
mod subscribe;

use std::future::Future;
use std::time::Duration;

use pubsink_runtime::core::options::PublisherOptions;
use pubsink_runtime::core::subscribe::{SubscriberOptions, Wire};
use pubsink_runtime::subscribe::{Client, Subscription};
use pubsink_runtime::{Publisher, TokenProvider};
use pubsink_smol::{Http2Client, HttpClient, Smol};
use smol::future::FutureExt as _;

struct OnSmol;

impl subscribe::support::Place for OnSmol {
    type Runtime = Smol;

    fn runtime() -> Smol {
        Smol::global()
    }

    fn publisher(options: PublisherOptions) -> Publisher {
        pubsink_smol::publisher(options).spawn().unwrap()
    }

    fn subscription<P: TokenProvider>(
        options: SubscriberOptions,
        tokens: Option<P>,
    ) -> Subscription {
        let builder = pubsink_smol::subscription(options).seed(1);
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

subscribe::cases!(OnSmol, run);

/// Runs a case, which has a minute.
fn run(case: impl Future<Output = ()>) {
    let late = async {
        smol::Timer::after(Duration::from_secs(60)).await;
        panic!("not done within a minute")
    };
    smol::block_on(case.or(late));
}
