//! R14: a request's time runs from its start; and each part of it has a limit.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use pubsink_core::failure::{Class, Failure};
use pubsink_core::publish::Message;
use pubsink_core::reason::{Reason, TransportKind};
use pubsink_core::retry::RetryPolicy;
use pubsink_fixtures::faults::{Action, Match, Rule};

use super::{all_delivered, failed, numbered, publish_all};
use crate::harness::case::{BOTH, cases};
use crate::harness::env::Env;
use crate::harness::host::Client;
use crate::harness::raw_server::raw_server;
use crate::harness::retrying::policy;

cases! {
    Faults, "R14.1 waiting for a turn is no part of a request's time" => waiting_is_free;
    Faults, "R14.3 a server that never answers fails the request at its timeout" => never_answers, .publishes(BOTH);
    Faults, "R14.4 a server slower than the timeout stores no more copies than attempts, and the outcome says so" => slower_than_timeout, .publishes(BOTH);
    Faults, "a connection that is not made in time is a failure to connect" => no_connection, .publishes(BOTH);
    Faults, "a reply that stalls in its body fails at the timeout" => stalled_body;
    Faults, "a server that takes the request and says nothing fails at the timeout, HTTP/2 too" => silent_server, .publishes(BOTH);
}

fn transport_kind(failure: &Failure) -> TransportKind {
    assert_eq!(failure.class, Class::Transient, "{failure}");
    match &*failure.reason {
        Reason::Transport { transport, .. } => *transport,
        other => panic!("{other:?}"),
    }
}

async fn waiting_is_free(env: Env) {
    env.server().script([
        Rule::on(Match::publish()).then(Action::proceed().delay(Duration::from_millis(300)))
    ]);
    let options = env
        .options()
        .timeout(Duration::from_millis(1_000))
        .batch_max_inflight(1)
        .batch_max_entries(5);
    let publisher = env.publisher(options);
    all_delivered(&publish_all(&publisher, numbered("m", 100)).await);
    assert_eq!((env.publishes(), env.stored().len()), (20, 100));
    assert_eq!(env.server().gauges().max_publishes_in_flight, 1);
}

/// Publishes one message with a timeout of two seconds; how it failed. At twice the timeout the
/// machine gives up whatever its transport does, so it has to be before that.
async fn fails_at_its_timeout(env: &Env, endpoint: &str, client: Client) -> Failure {
    let options = env
        .options()
        .endpoint(endpoint)
        .timeout(Duration::from_secs(2));
    let publisher = env.start(env.spec(options).client(client));
    let start = Instant::now();
    let mut outcomes = publish_all(&publisher, numbered("m", 1)).await;
    let took = start.elapsed();
    assert!(took >= Duration::from_millis(1_950), "{took:?}");
    assert!(took < Duration::from_millis(3_800), "{took:?}");
    outcomes.remove(0).expect_err("nobody answered")
}

async fn never_answers(env: Env) {
    env.server()
        .script([Rule::on(Match::publish()).then(Action::never_answer())]);
    let failure = fails_at_its_timeout(&env, &env.endpoint(), Client::Default).await;
    assert_eq!(transport_kind(&failure), TransportKind::Timeout);
    assert!(failure.may_have_been_stored);
    assert_eq!(env.publishes(), 1);
}

async fn slower_than_timeout(env: Env) {
    let slow = Action::proceed().answer_delay(Duration::from_millis(1_500));
    env.server().script([Rule::on(Match::publish()).then(slow)]);
    let publisher = env.publisher(env.options().timeout(Duration::from_millis(800)));
    let policy = RetryPolicy {
        max_attempts: 3,
        ..policy()
    };
    let tried = env.try_publish(&publisher, Message::new("m"), policy).await;
    let failure = failed(&tried.outcome);
    assert_eq!(transport_kind(failure), TransportKind::Timeout);
    assert!(failure.may_have_been_stored);
    assert_eq!((tried.attempts, env.publishes()), (3, 3));
    assert_eq!(env.stored_text(), ["m", "m", "m"]);
}

/// A listener nobody accepts on, with its backlog full, so that a connect gets no answer.
fn full_backlog() -> Option<(SocketAddr, TcpListener, Vec<TcpStream>)> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let mut held = Vec::new();
    while held.len() < 5_000 {
        match TcpStream::connect_timeout(&addr, Duration::from_millis(300)) {
            Ok(stream) => held.push(stream),
            Err(_) => return Some((addr, listener, held)),
        }
    }
    None
}

async fn no_connection(env: Env) {
    let Some((addr, _listener, _held)) = full_backlog() else {
        return eprintln!(
            "NOT RUN: the connect timeout: this system takes connections without end"
        );
    };
    let failure = fails_at_its_timeout(&env, &format!("http://{addr}"), Client::Default).await;
    assert_eq!(transport_kind(&failure), TransportKind::Connect);
    assert!(!failure.may_have_been_stored, "nothing was sent");
}

async fn stalled_body(env: Env) {
    let addr = raw_server(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{\"messageIds\":[");
    let failure = fails_at_its_timeout(&env, &format!("http://{addr}"), Client::Default).await;
    assert_eq!(transport_kind(&failure), TransportKind::Timeout);
    assert!(failure.may_have_been_stored);
}

async fn silent_server(env: Env) {
    for client in [Client::Default, Client::Http2] {
        let addr = raw_server(b"");
        let failure = fails_at_its_timeout(&env, &format!("http://{addr}"), client).await;
        let kind = transport_kind(&failure);
        // HTTP/2 has no connection before the server has said something.
        assert!(
            matches!(kind, TransportKind::Timeout | TransportKind::Connect),
            "{failure}"
        );
    }
}
