//! The streaming transport and the runtimes it is used in.

#![allow(clippy::unwrap_used, clippy::panic, reason = "they fail the test")]

use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::Request;
use pubsink_fixtures::server::Server;
use pubsink_tokio::Http2Client;
use pubsink_tokio::core::reason::TransportKind;
use pubsink_tokio::seam::{Answer, SendLimits, StreamTransport as _, TransportError};

async fn get(client: &Http2Client, url: &str) -> Result<Answer, TransportError> {
    let request = Request::get(url).body(Bytes::new()).unwrap();
    let limits = SendLimits::new(Duration::from_secs(20));
    client.call(request, limits).await
}

fn runtime() -> tokio::runtime::Runtime {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build().unwrap()
}

#[test]
fn outside_of_one_it_says_so() {
    let client = Http2Client::new();
    let answer = get(&client, "http://127.0.0.1:1/").now_or_never();
    let error = answer.unwrap().unwrap_err();
    assert_eq!(error.kind, TransportKind::Connect);
    assert!(error.detail.contains("runtime"), "{error}");
}

#[test]
fn a_connection_ends_with_its_runtime_and_another_takes_its_place() {
    let server = Server::builder().start().unwrap();
    let client = Http2Client::new();
    for connections in 1..4 {
        let runtime = runtime();
        for _ in 0..3 {
            let answer = runtime.block_on(get(&client, &server.endpoint()));
            assert_eq!(answer.unwrap().parts.version, http::Version::HTTP_2);
        }
        assert_eq!(server.gauges().connections, connections);
    }
}
