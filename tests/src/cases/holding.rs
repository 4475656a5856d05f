//! R01, and R11's bound on stopped keys: a key that is held after a failure, until it is resumed.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use http::{Request, Response};
use pubsink_core::delivery::DeliveryContext;
use pubsink_core::envelope::Envelope;
use pubsink_core::failure::{Class, ErrorClass, Outcome};
use pubsink_core::options::{OrderingOnFailure, PublisherOptionsBuilder};
use pubsink_core::publish::Message;
use pubsink_core::reason::{Reason, StoppedKey};
use pubsink_fixtures::broker::{PubsubMessage, Status};
use pubsink_fixtures::faults::{Action, Match, Rule};
use pubsink_runtime::Publisher;
use pubsink_runtime::seam::{SendLimits, Transport};

use super::{all_delivered, failed, publish_all};
use crate::harness::any::{AnyTransport, Sent};
use crate::harness::case::{BOTH, cases};
use crate::harness::env::Env;
use crate::harness::host::Client;
use crate::harness::memory::{assert_growth, resident_mb};

cases! {
    Faults, "R01.1 R01.2 R01.3 a failure stops what was accepted behind it until the key is resumed" => open_batch, .publishes(BOTH);
    Faults, "R01.4 a message refused by bisection stops what waits behind its batch" => bisected, .publishes(BOTH);
    Faults, "R01.5 a message that found no room is refused for its ceiling, then for its key" => no_room;
    Faults, "a hook resumes its own key where its context says that it is next" => next_hook;
    Faults, "R11.2 stopped keys are bounded, and past the bound every key is stopped" => bounded, .measures_memory(), .limit(60);
}

fn keyed(key: &str, data: impl Into<Bytes>) -> Message {
    let mut message = Message::new(data);
    message.ordering_key = key.to_owned();
    message
}

/// Two messages a batch, 300 ms of linger.
fn options(env: &Env) -> PublisherOptionsBuilder {
    env.options()
        .ordering_on_failure(OrderingOnFailure::Hold)
        .batch_max_entries(2)
        .batch_linger(Duration::from_millis(300))
}

/// The first request of key `k`.
fn first_of_k() -> pubsink_fixtures::faults::RuleBuilder {
    let of_k = |messages: &[PubsubMessage]| messages[0].ordering_key == "k";
    Rule::on(Match::publish().messages(of_k)).nth(1)
}

/// How many messages each request of a key had.
fn requests_of(env: &Env, key: &str) -> Vec<usize> {
    let log = env.server().log();
    let of_key = log
        .publishes()
        .into_iter()
        .filter(|request| request.ordering_keys.iter().any(|other| other == key));
    of_key.map(|request| request.message_count).collect()
}

fn stored_of(env: &Env, key: &str) -> Vec<Bytes> {
    let stored = env.stored();
    let of_key = stored.iter().filter(|one| one.message.ordering_key == key);
    of_key.map(|one| one.message.data.clone()).collect()
}

/// The stopped key that a message failed for: unsent, and passing once the key is resumed.
#[track_caller]
fn stopped(outcome: &Outcome) -> &StoppedKey {
    let failure = failed(outcome);
    assert_eq!(failure.class, Class::Transient);
    assert!(!failure.may_have_been_stored);
    match &*failure.reason {
        Reason::KeyStopped(stopped) => stopped,
        other => panic!("{other}"),
    }
}

/// It is stopped for the failure of `first`, the very same.
#[track_caller]
fn stopped_by(outcome: &Outcome, first: &Outcome) {
    let stopped = stopped(outcome);
    assert_eq!(&*stopped.key, "k");
    assert!(Arc::ptr_eq(&stopped.cause, &failed(first).reason));
}

/// Publishes m1 and m2 at once, m3 at 50 ms, `other` of key `l` at 60 ms, m4 at 250 ms.
async fn timeline(env: &Env, publisher: &Publisher, second: &str) -> [Outcome; 5] {
    let (m1, m2) = (keyed("k", "m1"), keyed("k", second.to_owned()));
    let (m1, m2) = (publisher.publish(m1), publisher.publish(m2));
    env.sleep(50).await;
    let m3 = publisher.publish(keyed("k", "m3"));
    env.sleep(10).await;
    let n1 = publisher.publish(keyed("l", "n1"));
    env.sleep(190).await;
    let m4 = publisher.publish(keyed("k", "m4"));
    let all = join_all([m1, m2, m3, m4, n1]);
    let within = env.within(Duration::from_secs(5), all).await;
    let outcomes = within.expect("all are resolved in time");
    outcomes.try_into().expect("there are five")
}

async fn open_batch(env: Env) {
    // A 400 that no message can be at fault for: it is not bisected.
    let refusal = Status::new(400, "FAILED_PRECONDITION", "not now");
    let held = Action::refuse(&refusal).delay(Duration::from_millis(200));
    env.server().script([first_of_k().then(held)]);
    let publisher = env.publisher(options(&env));
    let [m1, m2, m3, m4, n1] = timeline(&env, &publisher, "m2").await;
    for outcome in [&m1, &m2] {
        let reason = &failed(outcome).reason;
        assert!(
            matches!(&**reason, Reason::Pubsub { http: 400, .. }),
            "{reason}"
        );
    }
    stopped_by(&m3, &m1);
    stopped_by(&m4, &m1);
    all_delivered(&[n1]);
    assert_eq!(
        (requests_of(&env, "k"), requests_of(&env, "l")),
        (vec![2], vec![1])
    );
    let keys = publisher.stopped_keys();
    let [key] = &keys[..] else {
        panic!("{keys:?}");
    };
    assert_eq!(
        (&*key.key, key.class, key.every_key),
        ("k", ErrorClass::Transient, false)
    );

    publisher.resume("k");
    assert_eq!(publisher.stopped_keys(), []);
    all_delivered(&[publisher.publish(keyed("k", "m5")).await]);
    assert_eq!(requests_of(&env, "k"), [2, 1]);
    assert_eq!(stored_of(&env, "k"), ["m5"]);
}

async fn bisected(env: Env) {
    let topic = env.topic();
    env.server()
        .broker(|broker| broker.reject_data(&topic, "POISON"))
        .unwrap();
    let slow = Action::proceed().delay(Duration::from_millis(200));
    env.server().script([first_of_k().then(slow)]);
    let publisher = env.publisher(options(&env));
    let [m1, m2, m3, m4, n1] = timeline(&env, &publisher, "POISON").await;
    all_delivered(&[m1, n1]);
    assert_eq!(failed(&m2).class, Class::Permanent);
    stopped_by(&m3, &m2);
    stopped_by(&m4, &m2);
    assert_eq!(stored_of(&env, "k"), ["m1"]);
    assert_eq!(requests_of(&env, "k"), [2, 1, 1]);

    publisher.resume("k");
    let again = [keyed("k", "m3"), keyed("k", "m4")];
    all_delivered(&publish_all(&publisher, again).await);
    assert_eq!(stored_of(&env, "k"), ["m1", "m3", "m4"]);
}

/// A publisher here makes nobody wait for room: a message past a ceiling is refused at once. So m3
/// never waits where a failure would have to reach it; its caller knows before m4, and a caller
/// that tries again finds the key stopped.
async fn no_room(env: Env) {
    let refusal = Status::new(400, "FAILED_PRECONDITION", "not now");
    let held = Action::refuse(&refusal).delay(Duration::from_millis(200));
    env.server().script([first_of_k().then(held)]);
    let publisher = env.publisher(options(&env).batch_queue_max(2));
    let first = [keyed("k", "m1"), keyed("k", "m2")];
    let first = first.map(|message| publisher.publish(message));
    let full = publisher.publish(keyed("k", "m3")).await;
    let reason = &failed(&full).reason;
    assert!(
        matches!(**reason, Reason::BatchQueueFull { max: 2, .. }),
        "{reason}"
    );
    let first = join_all(first).await;
    stopped_by(&publisher.publish(keyed("k", "m3")).await, &first[0]);
    stopped_by(&publisher.publish(keyed("k", "m4")).await, &first[0]);
    assert_eq!(requests_of(&env, "k"), [2]);
    assert!(stored_of(&env, "k").is_empty());
}

async fn next_hook(env: Env) {
    let busy = Action::status(503, "busy");
    env.server().script([first_of_k().then(busy)]);
    let publisher = env.publisher(options(&env).ordering_key("k"));
    let hook = |number: u8| Envelope {
        id: format!("h{number}"),
        source_id: "tests".to_owned(),
        tenant_id: None,
        received_at: 1_764_500_000_000,
        method: "POST".to_owned(),
        path: "/".to_owned(),
        headers: Vec::new(),
        content_type: None,
        body: "{}".into(),
        dedupe_key: None,
    };
    let direct = DeliveryContext::default();
    let first = publisher.deliver(&hook(1), &direct);
    let second = publisher.deliver(&hook(2), &direct);
    let (first, second) = (first.await, second.await);
    stopped_by(&second, &first);
    let next = DeliveryContext {
        resume_key: true,
        ..direct.clone()
    };
    let again = [(1, &next), (2, &direct)].map(|(n, context)| publisher.deliver(&hook(n), context));
    all_delivered(&join_all(again).await);
    let stored = env.stored();
    let ids: Vec<_> = stored
        .iter()
        .map(|one| one.message.attributes["ankusa_id"].clone())
        .collect();
    assert_eq!(ids, ["h1", "h2"]);
}

/// Refuses every publish of a key for good, and takes the others.
struct Refusing;

impl Transport for Refusing {
    async fn send(&self, request: Request<Bytes>, _: SendLimits) -> Sent {
        let keyed = request
            .body()
            .windows(11)
            .any(|part| part == b"orderingKey");
        let (status, body) = match keyed {
            // As long as a failure keeps, so that the memory of the keys shows.
            true => (400, Status::invalid_argument("no".repeat(4_000)).to_json()),
            false => (200, br#"{"messageIds":["1"]}"#.to_vec()),
        };
        let mut reply = Response::new(Bytes::from(body));
        *reply.status_mut() = http::StatusCode::from_u16(status).expect("it is one");
        Ok(reply)
    }
}

async fn bounded(env: Env) {
    const MAX: usize = 1_024;
    let options = env.options().ordering_on_failure(OrderingOnFailure::Hold);
    let spec = env.spec(options);
    let publisher = env.start(spec.client(Client::Own(AnyTransport::new(Refusing))));
    let mut before = None;
    for round in 0..2 {
        let mut refused_for_all = 0;
        for chunk in 0..20 {
            let messages = (0..500).map(|n| keyed(&format!("key-{round}-{chunk}-{n}"), "x"));
            for outcome in publish_all(&publisher, messages).await {
                match &*failed(&outcome).reason {
                    Reason::Pubsub { .. } => {}
                    _ => refused_for_all += usize::from(stopped(&outcome).every_key),
                }
            }
        }
        let gauges = publisher.gauges();
        assert_eq!((gauges.stopped_keys, gauges.every_key_stopped), (MAX, true));
        assert_eq!((gauges.ordering_keys, gauges.messages), (0, 0));
        assert_eq!(publisher.stopped_keys().len(), MAX + 1);
        assert!(refused_for_all > 5_000, "{refused_for_all}");
        all_delivered(&[publisher.publish(Message::new("without a key")).await]);
        publisher.resume_all();
        assert_eq!(publisher.stopped_keys(), []);
        if round == 0 {
            before = resident_mb();
        }
    }
    assert_growth(before, 20);
}
