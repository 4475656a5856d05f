//! R23: connections that die.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use pubsink_core::failure::Class;
use pubsink_core::publish::Message;
use pubsink_core::reason::{Reason, TransportKind};
use pubsink_fixtures::broker::SubscriptionConfig;
use pubsink_fixtures::faults::{Action, Match, Rule};
use pubsink_fixtures::server::Server;

use super::{all_delivered, failed, numbered, publish_all};
use crate::harness::case::{BOTH, cases};
use crate::harness::env::{Env, PROJECT};
use crate::harness::host::Client;
use crate::harness::raw_server::raw_server;
use crate::harness::retrying::policy;

cases! {
    Faults, "R23.1 a kept connection cut at a request's first byte is one failed attempt, and the next is stored" => cut_once, .publishes(BOTH);
    Faults, "R23.2 twenty kept connections cut at once: all twenty stored within three attempts" => cut_all;
    Faults, "R23.3 a server that closes idle connections costs nothing where they are given up before" => idle;
    Faults, "R23.3 a server that closes idle connections costs retries at most" => idle_at_its_worst;
    Faults, "R23.4 a connection that went dead is never used again" => black_hole;
    Faults, "R23.5 a server that closes after each answer costs nothing" => closes_each_time;
    Faults, "a connection that is refused is a failure to connect, and nothing was sent" => refused, .publishes(BOTH);
    Faults, "an endpoint that does not speak TLS where it should is a failure to connect" => no_tls, .publishes(BOTH);
    Faults, "an answer that is no HTTP is a broken connection and bounded" => no_http;
    Faults, "an answer in chunks, after interim ones, or by HTTP/1.0 is an answer" => odd_http;
    Faults, "an answer lost after the messages were stored says so" => stored_and_lost, .publishes(BOTH);
}

async fn cut_once(env: Env) {
    let publisher = env.publisher(env.options());
    all_delivered(&publish_all(&publisher, numbered("first", 1)).await);
    env.server()
        .script([Rule::on(Match::first_byte_kept_alive())
            .times(1)
            .then(Action::reset())]);
    let tried = env
        .try_publish(&publisher, Message::new("second"), policy())
        .await;
    assert!(tried.outcome.is_ok(), "{tried:?}");
    assert_eq!(tried.attempts, 2);
    assert_eq!(env.stored_text(), ["first-0", "second"]);
    let log = env.server().log();
    let connections: Vec<_> = log
        .publishes()
        .iter()
        .map(|request| request.connection)
        .collect();
    assert_ne!(connections[0], connections[1]);
}

async fn cut_all(env: Env) {
    let publisher = env.publisher(env.options().batch_max_entries(1).batch_max_inflight(20));
    env.server().script([
        Rule::on(Match::publish()).then(Action::proceed().delay(Duration::from_millis(300)))
    ]);
    all_delivered(&publish_all(&publisher, numbered("warm", 20)).await);
    let log = env.server().log();
    let warm: BTreeSet<_> = log
        .publishes()
        .iter()
        .map(|request| request.connection)
        .collect();
    assert_eq!(warm.len(), 20);
    env.server()
        .script([Rule::on(Match::first_byte_kept_alive())
            .times(20)
            .then(Action::reset())]);
    let tries = env.try_publish_all(&publisher, numbered("m", 20)).await;
    assert!(tries.iter().all(|tried| tried.attempts <= 3), "{tries:?}");
    assert!(
        tries.iter().any(|tried| tried.attempts > 1),
        "the cuts were met"
    );
    assert_eq!(env.stored().len(), 40);
}

/// A server that closes connections idle for `keep`, with the case's topic.
fn short_keep_alive(env: &Env, keep: Duration) -> Server {
    let server = Server::builder()
        .keep_published(true)
        .idle_timeout(keep)
        .start()
        .unwrap();
    server.create_topic(&env.topic()).unwrap();
    let subscription = format!("projects/{PROJECT}/subscriptions/kept");
    server
        .create_subscription(SubscriptionConfig::new(subscription, env.topic()))
        .unwrap();
    server
}

async fn idle(env: Env) {
    let server = short_keep_alive(&env, Duration::from_millis(1_000));
    let options = env.options().endpoint(&server.endpoint());
    let client = Client::IdleTimeout(Duration::from_millis(400));
    let publisher = env.start(env.spec(options).client(client));
    for round in 0..8 {
        all_delivered(&publish_all(&publisher, numbered(&format!("r{round}"), 1)).await);
        env.sleep(1_500).await;
    }
    assert_eq!(server.stored(&env.topic()).len(), 8);
}

async fn idle_at_its_worst(env: Env) {
    // The pause is the server's own limit: now the one is first, now the other.
    let server = short_keep_alive(&env, Duration::from_millis(100));
    let publisher = env.publisher(env.options().endpoint(&server.endpoint()));
    for round in 0..30 {
        let message = Message::new(format!("m-{round}"));
        let tried = env.try_publish(&publisher, message, policy()).await;
        assert!(tried.outcome.is_ok() && tried.attempts <= 3, "{tried:?}");
        env.sleep(80).await;
    }
    let stored = server.stored(&env.topic());
    let different: BTreeSet<_> = stored.iter().map(|one| one.message.data.clone()).collect();
    assert_eq!(different.len(), 30);
}

async fn black_hole(env: Env) {
    let publisher = env.publisher(env.options().timeout(Duration::from_millis(500)));
    all_delivered(&publish_all(&publisher, numbered("first", 1)).await);
    env.server().script([Rule::on(Match::publish())
        .times(1)
        .then(Action::never_answer())]);
    let start = Instant::now();
    let tried = env
        .try_publish(&publisher, Message::new("second"), policy())
        .await;
    assert!(tried.outcome.is_ok(), "{tried:?}");
    assert_eq!(tried.attempts, 2);
    assert!(tried.may_have_been_stored, "a timeout leaves that open");
    assert!(
        start.elapsed() < Duration::from_secs(4),
        "{:?}",
        start.elapsed()
    );
    all_delivered(&publish_all(&publisher, numbered("third", 5)).await);
    let log = env.server().log();
    let publishes = log.publishes();
    let dead = publishes[1].connection;
    assert!(
        publishes[2..]
            .iter()
            .all(|request| request.connection != dead)
    );
    assert_eq!(publishes[1].status, None);
}

async fn closes_each_time(env: Env) {
    env.server()
        .script([Rule::on(Match::publish()).then(Action::proceed().close_after_answer())]);
    let publisher = env.publisher(env.options());
    for round in 0..10 {
        all_delivered(&publish_all(&publisher, numbered(&format!("r{round}"), 2)).await);
    }
    let log = env.server().log();
    let connections: BTreeSet<_> = log
        .publishes()
        .iter()
        .map(|request| request.connection)
        .collect();
    assert_eq!((connections.len(), env.stored().len()), (10, 20));
}

async fn refused(env: Env) {
    env.server().refuse_connections(true).unwrap();
    let publisher = env.publisher(env.options());
    for outcome in publish_all(&publisher, numbered("m", 3)).await {
        let failure = failed(&outcome);
        assert_eq!(failure.class, Class::Transient);
        assert!(!failure.may_have_been_stored);
        assert!(
            matches!(
                *failure.reason,
                Reason::Transport {
                    transport: TransportKind::Connect,
                    ..
                }
            ),
            "{failure}"
        );
    }
    env.server().refuse_connections(false).unwrap();
    all_delivered(&publish_all(&publisher, numbered("m", 3)).await);
}

async fn stored_and_lost(env: Env) {
    env.server().script([Rule::on(Match::publish())
        .times(1)
        .then(Action::reset().store())]);
    let publisher = env.publisher(env.options());
    let outcomes = join_all(
        numbered("m", 3)
            .into_iter()
            .map(|one| publisher.publish(one)),
    )
    .await;
    for outcome in &outcomes {
        let failure = failed(outcome);
        assert_eq!(failure.class, Class::Transient);
        assert!(failure.may_have_been_stored, "{failure}");
        assert!(
            matches!(
                *failure.reason,
                Reason::Transport {
                    transport: TransportKind::Connection,
                    ..
                }
            ),
            "{failure}"
        );
    }
    assert_eq!(env.stored().len(), 3);
}

async fn no_tls(env: Env) {
    let endpoint = env.endpoint().replace("http://", "https://");
    let publisher = env.publisher(env.options().endpoint(&endpoint));
    let outcomes = publish_all(&publisher, numbered("m", 1)).await;
    let failure = failed(&outcomes[0]);
    assert_eq!(failure.class, Class::Transient);
    assert!(
        matches!(
            *failure.reason,
            Reason::Transport {
                transport: TransportKind::Connect,
                ..
            }
        ),
        "{failure}"
    );
    assert!(!failure.may_have_been_stored);
}

async fn no_http(env: Env) {
    let long_header = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "h".repeat(2_000_000));
    let answers = [
        b"220 mail.example ESMTP\r\n".to_vec(),
        b"HTTP/1.1 999999 OK\r\n\r\n".to_vec(),
        b"HTTP/1.1 200 OK\r\ncontent-length: minus one\r\n\r\n".to_vec(),
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n".to_vec(),
        vec![0xFF; 100_000],
        long_header.into_bytes(),
    ];
    for answer in answers {
        let head = String::from_utf8_lossy(&answer[..20.min(answer.len())]).into_owned();
        let endpoint = format!("http://{}", raw_server(answer));
        let publisher = env.publisher(env.options().endpoint(&endpoint));
        let outcomes = publish_all(&publisher, numbered("m", 1)).await;
        let failure = failed(&outcomes[0]);
        assert_eq!(failure.class, Class::Transient, "{head}: {failure}");
        assert!(
            matches!(
                *failure.reason,
                Reason::Transport {
                    transport: TransportKind::Connection,
                    ..
                }
            ),
            "{head}: {failure}"
        );
        assert!(failure.may_have_been_stored, "{head}");
    }
}

async fn odd_http(env: Env) {
    let ids = r#"{"messageIds":["7"]}"#;
    let answers = [
        format!(
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{}\r\nf\r\n{}\r\n0\r\n\r\n",
            &ids[..5],
            &ids[5..]
        ),
        format!(
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n{ids}"
        ),
        format!("HTTP/1.1 200\r\nContent-Length:20\r\n\r\n{ids}"),
        format!("HTTP/1.0 200 OK\r\ncontent-length: 20\r\n\r\n{ids}"),
    ];
    for answer in answers {
        let endpoint = format!("http://{}", raw_server(answer.clone()));
        let publisher = env.publisher(env.options().endpoint(&endpoint));
        let outcomes = publish_all(&publisher, numbered("m", 1)).await;
        let delivered = outcomes[0].as_ref();
        assert_eq!(
            delivered.map(|one| one.message_id.as_str()),
            Ok("7"),
            "{answer}"
        );
    }
}
