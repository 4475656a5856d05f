//! What the tests share: a server, and options for it.

#![allow(dead_code, reason = "no test uses all of it")]

use std::future::Future;
use std::time::{Duration, Instant};

use pubsink_fixtures::server::Server;
use pubsink_smol::core::failure::Failure;
use pubsink_smol::core::options::PublisherOptions;
use pubsink_smol::core::publish::Message;
use pubsink_smol::core::reason::{Reason, TransportKind};
use pubsink_smol::{HttpClient, Publisher};
use smol::future::FutureExt as _;

pub(crate) const TOPIC: &str = "projects/p/topics/hooks";

pub(crate) fn server() -> Server {
    let server = Server::builder().keep_published(true).start().unwrap();
    server.create_topic(TOPIC).unwrap();
    server
}

/// Options for that server, with 5 s for each step.
pub(crate) fn options(server: &Server) -> PublisherOptions {
    options_within(&server.endpoint(), Duration::from_secs(5))
}

pub(crate) fn options_within(endpoint: &str, timeout: Duration) -> PublisherOptions {
    PublisherOptions::builder("p", "hooks")
        .endpoint(endpoint)
        .timeout(timeout)
        .build()
        .unwrap()
}

/// Publishers with each of the client's settings: HTTP/1.1 and HTTP/2.
pub(crate) fn publishers(server: &Server) -> [Publisher; 2] {
    [false, true].map(|http2| {
        pubsink_smol::publisher(options(server))
            .transport(HttpClient::builder().http2(http2).build())
            .spawn()
            .unwrap()
    })
}

/// Runs a test's future, which has 30 s.
pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    smol::block_on(within(future))
}

pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    let late = async {
        smol::Timer::after(Duration::from_secs(30)).await;
        panic!("not done within 30 s")
    };
    future.or(late).await
}

pub(crate) async fn publish(publisher: &Publisher, text: &str) -> Result<String, Failure> {
    let outcome = publisher.publish(Message::new(text.to_owned())).await;
    outcome.map(|delivered| delivered.message_id.to_string())
}

/// The kind of transport failure it is, and the words.
pub(crate) fn transport(failure: &Failure) -> (TransportKind, String) {
    match &*failure.reason {
        Reason::Transport { transport, detail } => (*transport, detail.as_str().to_owned()),
        other => panic!("not a transport failure: {other:?}"),
    }
}

pub(crate) async fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < Duration::from_secs(10), "never: {what}");
        smol::Timer::after(Duration::from_millis(5)).await;
    }
}
