//! A token shows nowhere: not in errors, not in the logs of the HTTP client.

#![allow(clippy::unwrap_used, clippy::panic, reason = "they fail the test")]

mod support;

use std::io;
use std::sync::{Arc, Mutex};

use pubsink_fixtures::faults::{Action, Match, Rule};
use pubsink_smol::core::token::Token;
use pubsink_smol::{HttpClient, publisher};
use support::{options, publish, run, server};
use tracing_subscriber::filter::LevelFilter;

const SECRET: &str = "ya29.the-secret";

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
fn a_token_is_in_no_error_and_no_log() {
    let written = Written::default();
    let log = written.clone();
    tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_writer(move || log.clone())
        .init();
    let server = server();
    server.require_token(Some(SECRET));
    for http2 in [false, true] {
        let publisher = publisher(options(&server))
            .token_provider(Token::new(SECRET).unwrap())
            .transport(HttpClient::builder().http2(http2).build())
            .spawn()
            .unwrap();
        for action in [
            Action::proceed(),
            Action::reset(),
            Action::status(500, format!("you sent {SECRET}")),
        ] {
            server.script([Rule::on(Match::publish()).then(action)]);
            for _ in 0..3 {
                let outcome = run(publish(&publisher, "x"));
                let shown = format!("{outcome:?} {publisher:?}");
                assert!(!shown.contains(SECRET), "{shown}");
            }
        }
        assert!(server.log().publishes().len() >= 9);
    }
    let written = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
    // It does log at that level.
    assert!(written.contains("isahc"), "{written}");
    assert!(!written.contains(SECRET), "{written}");
}
