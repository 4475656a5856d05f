//! Where the connections of the streaming transport run, and what of them is in the logs.

#![allow(clippy::unwrap_used, clippy::panic, reason = "they fail the test")]

mod support;

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{HeaderValue, Request};
use pubsink_fixtures::server::Server;
use pubsink_smol::Http2Client;
use pubsink_smol::core::reason::TransportKind;
use pubsink_smol::http2::SmolConnector;
use pubsink_smol::seam::{Answer, SendLimits, StreamTransport as _, TransportError};
use smol::Executor;
use support::run;
use tracing_subscriber::filter::LevelFilter;

const SECRET: &str = "ya29.the-secret";

async fn get(client: &Http2Client, url: &str) -> Result<Answer, TransportError> {
    let mut token = HeaderValue::from_str(&format!("Bearer {SECRET}")).unwrap();
    token.set_sensitive(true);
    let request = Request::get(url)
        .header(AUTHORIZATION, token)
        .body(Bytes::new())
        .unwrap();
    let limits = SendLimits::new(Duration::from_secs(20));
    client.call(request, limits).await
}

#[test]
fn connections_run_on_the_executor_they_were_given_and_end_with_it() {
    let server = Server::builder().start().unwrap();
    let executor = Arc::new(Executor::new());
    let client = Http2Client::builder()
        .connector(SmolConnector::on(&executor))
        .build();
    let answers = async {
        for _ in 0..3 {
            get(&client, &server.endpoint()).await.unwrap();
        }
    };
    run(executor.run(answers));
    assert_eq!(server.gauges().connections, 1);
    drop(executor);
    let error = run(get(&client, &server.endpoint())).unwrap_err();
    assert_eq!(error.kind, TransportKind::Connect);
    assert!(error.detail.contains("ended as soon as"), "{error}");
}

#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_token_is_in_no_log_and_no_debug() {
    let written = Written::default();
    let log = written.clone();
    tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_writer(move || log.clone())
        .init();
    let server = Server::builder().start().unwrap();
    server.require_token(Some(SECRET));
    let client = Http2Client::new();
    for _ in 0..3 {
        let answer = run(get(&client, &server.endpoint()));
        let shown = format!("{answer:?} {client:?}");
        assert!(!shown.contains(SECRET), "{shown}");
    }
    let written = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
    // It does log at that level.
    assert!(written.contains("h2::"), "{written}");
    assert!(!written.contains(SECRET), "the token is in the log");
}
