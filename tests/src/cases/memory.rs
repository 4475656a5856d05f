//! R30: an outage costs no more memory than the ceilings say. Each in a process of its own.

use std::collections::VecDeque;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use pubsink_core::failure::{Class, Outcome};
use pubsink_core::publish::Message;
use pubsink_core::reason::Reason;
use pubsink_fixtures::faults::{Action, Match, Rule};
use pubsink_runtime::{Delivery, Publisher};

use super::{failed, numbered, publish_all};
use crate::harness::case::cases;
use crate::harness::env::Env;
use crate::harness::memory::{assert_growth, resident_mb};

cases! {
    Faults, "R30.1 a refusing server costs 40 MB at most and accepted is stored plus failed" => refused, .measures_memory(), .limit(60);
    Faults, "R30.1 a silent server costs 40 MB at most and accepted is stored plus failed" => silent, .measures_memory(), .limit(60);
    Faults, "R30.2 messages of one byte cost 60 MB at most" => tiny, .measures_memory(), .limit(60);
    Faults, "R30.3 error bodies of 100 KB are cut and memory stays" => error_bodies, .measures_memory(), .limit(60);
    Faults, "R30.4 a body without end is read to its limit and memory stays" => endless_body, .measures_memory(), .limit(60);
}

/// How long the outage is. In the report it was 30 s; what is bounded does not grow with it.
const OUTAGE: Duration = Duration::from_secs(6);

#[derive(Debug, Default)]
struct Count {
    accepted: usize,
    stored: usize,
    failed: usize,
    refused: usize,
    first_refusal: Option<Duration>,
}

impl Count {
    fn settle(&mut self, outcome: &Outcome) {
        match outcome {
            Ok(_) => self.stored += 1,
            Err(_) => self.failed += 1,
        }
    }
}

fn is_refusal(outcome: &Outcome) -> bool {
    let full = |reason: &Reason| matches!(reason, Reason::BatchQueueFull { .. });
    outcome.as_ref().is_err_and(|failure| {
        matches!(failure.class, Class::RetryAfter(_)) && full(&failure.reason)
    })
}

/// Pushes messages as fast as they are taken, until the outage is over. Memory may grow by `most`
/// MB meanwhile.
async fn push(env: &Env, publisher: &Publisher, bytes: usize, most: u64) -> Count {
    let before = resident_mb();
    let mut count = Count::default();
    let mut held: VecDeque<Delivery> = VecDeque::new();
    let start = Instant::now();
    while start.elapsed() < OUTAGE {
        // What is known is taken, since an outcome nobody reads is the caller's memory.
        while let Some(first) = held.front_mut() {
            let Some(outcome) = first.now_or_never() else {
                break;
            };
            count.settle(&outcome);
            held.pop_front();
        }
        let mut delivery = publisher.publish(Message::new(vec![b'x'; bytes]));
        match (&mut delivery).now_or_never() {
            Some(outcome) if is_refusal(&outcome) => {
                count.refused += 1;
                count.first_refusal.get_or_insert_with(|| start.elapsed());
                env.sleep(5).await;
            }
            // Taken, and its outcome was there before we looked.
            Some(outcome) => {
                count.accepted += 1;
                count.settle(&outcome);
            }
            None => {
                count.accepted += 1;
                held.push_back(delivery);
            }
        }
    }
    // Before the outage ends, since the server keeps what it stores.
    assert_growth(before, most);
    env.server().refuse_connections(false).unwrap();
    env.server().script([]);
    for delivery in held {
        count.settle(&delivery.await);
    }
    count
}

/// The queue filled up, and soon.
fn filled(count: &Count) {
    let soon = |at| at < Duration::from_secs(4);
    assert!(
        count.refused > 0 && count.first_refusal.is_some_and(soon),
        "{count:?}"
    );
}

fn check(env: &Env, publisher: &Publisher, count: &Count) {
    eprintln!("NOTE: {count:?}");
    assert_eq!(count.accepted, count.stored + count.failed, "{count:?}");
    assert_eq!(env.stored().len(), count.stored);
    let gauges = publisher.gauges();
    assert_eq!(
        (
            gauges.messages,
            gauges.bytes,
            gauges.waiting,
            gauges.requests
        ),
        (0, 0, 0, 0)
    );
    assert!(publisher.is_alive());
}

fn budget(env: &Env, endpoint: &str) -> Publisher {
    let options = env
        .options()
        .endpoint(endpoint)
        .batch_queue_bytes(10_000_000);
    let options = options
        .batch_queue_max(1_000_000)
        .batch_queue_tenant(1_000_000);
    env.publisher(options.timeout(Duration::from_secs(2)))
}

async fn refused(env: Env) {
    env.server().refuse_connections(true).unwrap();
    env.server().drop_connections();
    let publisher = budget(&env, &env.endpoint());
    // What is refused fails as fast as it is published, so the queue need not fill up.
    let count = push(&env, &publisher, 1_000, 40).await;
    check(&env, &publisher, &count);
}

/// The server takes connections and never reads: what is sent it is the system's, so that all
/// memory of this process is the publisher's.
async fn silent(env: Env) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let publisher = budget(&env, &endpoint);
    let count = push(&env, &publisher, 1_000, 40).await;
    assert_eq!(count.stored, 0);
    filled(&count);
    check(&env, &publisher, &count);
}

async fn tiny(env: Env) {
    env.server()
        .script([Rule::on(Match::publish()).then(Action::never_answer())]);
    let options = env
        .options()
        .batch_queue_max(100_000)
        .batch_queue_tenant(100_000);
    let publisher = env.publisher(options.timeout(Duration::from_secs(2)));
    let count = push(&env, &publisher, 1, 60).await;
    filled(&count);
    check(&env, &publisher, &count);
}

async fn error_bodies(env: Env) {
    env.server()
        .script([Rule::on(Match::publish()).then(Action::status(503, vec![b'e'; 100_000]))]);
    let publisher = env.publisher(env.options().batch_max_entries(1));
    let mut kept = Vec::new();
    let mut before = None;
    for round in 0..20 {
        for outcome in publish_all(&publisher, numbered("m", 50)).await {
            match &*failed(&outcome).reason {
                Reason::Status { http: 503, body } => {
                    assert!(body.len() < 8_300, "{} bytes kept", body.len());
                }
                other => panic!("{other:?}"),
            }
            kept.push(outcome);
        }
        if round == 4 {
            before = resident_mb();
        }
    }
    // 750 more failures of at most 8.3 KB, where whole bodies were 75 MB.
    assert_growth(before, 25);
    assert_eq!(kept.len(), 1_000);
}

async fn endless_body(env: Env) {
    let publisher = env.publisher(env.options());
    let mut before = None;
    for round in 0..20 {
        let status = if round % 2 == 0 { 200 } else { 500 };
        env.server()
            .script([Rule::on(Match::publish()).then(Action::endless_body(status))]);
        let outcomes = publish_all(&publisher, numbered("m", 1)).await;
        let failure = failed(&outcomes[0]);
        assert_eq!(failure.class, Class::Transient);
        assert!(failure.may_have_been_stored);
        assert_eq!(
            failure.reason.kind(),
            if status == 200 {
                "unexpected_reply"
            } else {
                "status"
            }
        );
        if round == 4 {
            before = resident_mb();
        }
    }
    assert_growth(before, 20);
}
