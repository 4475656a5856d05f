//! The same over HTTP/2 with prior knowledge.

use std::time::{Duration, Instant};

use pubsink_core::failure::Class;
use pubsink_core::publish::Message;
use pubsink_core::retry::RetryPolicy;
use pubsink_fixtures::broker::Status;
use pubsink_fixtures::faults::{Action, Match, Rule};
use pubsink_runtime::Publisher;

use super::{
    all_delivered, delivered, failed, is_throttled, numbered, publish_all, publish_together,
};
use crate::harness::case::cases;
use crate::harness::env::Env;
use crate::harness::host::Client;
use crate::harness::relay::Relay;
use crate::harness::retrying::policy;

cases! {
    Faults, "HTTP/2: many requests share one connection" => shared;
    Faults, "HTTP/2: megabytes in flight are all stored" => large;
    Faults, "HTTP/2: one bad of a hundred, and the classes are the same" => refusals;
    Faults, "HTTP/2: a connection cut under requests is retried on another" => cut;
    Faults, "HTTP/2: a server that closes after each answer costs nothing" => closes_each_time;
    Faults, "HTTP/2: a connection that died without a word is found out and replaced" => dead;
    Faults, "HTTP/2: a request that gets no answer ends at its timeout and the connection serves the others" => no_answer;
}

fn publisher(env: &Env, options: pubsink_core::options::PublisherOptionsBuilder) -> Publisher {
    env.start(env.spec(options).client(Client::Http2))
}

async fn shared(env: Env) {
    let publisher = publisher(&env, env.options().batch_max_entries(10));
    all_delivered(&publish_all(&publisher, numbered("warm", 1)).await);
    env.server().script([
        Rule::on(Match::publish()).then(Action::proceed().delay(Duration::from_millis(50)))
    ]);
    all_delivered(&publish_all(&publisher, numbered("m", 400)).await);
    let log = env.server().log();
    let publishes = log.publishes();
    assert_eq!(publishes.len(), 41);
    assert!(
        publishes
            .iter()
            .all(|request| request.version == http::Version::HTTP_2)
    );
    let first = publishes[0].connection;
    assert!(publishes.iter().all(|request| request.connection == first));
    assert_eq!(env.server().gauges().max_publishes_in_flight, 8);
    assert_eq!(env.stored().len(), 401);
}

async fn large(env: Env) {
    let publisher = publisher(&env, env.options());
    let messages = (0..24).map(|n| Message::new(vec![n; 1_000_000]));
    all_delivered(&publish_all(&publisher, messages).await);
    let mut sizes: Vec<_> = env
        .stored()
        .iter()
        .map(|one| (one.message.data[0], one.message.data.len()))
        .collect();
    sizes.sort_unstable();
    assert_eq!(sizes, (0..24).map(|n| (n, 1_000_000)).collect::<Vec<_>>());
}

async fn refusals(env: Env) {
    let topic = env.topic();
    env.server()
        .broker(|broker| broker.reject_data(&topic, "POISON"))
        .unwrap();
    let publisher = publisher(&env, env.patient_options());
    let mut messages = numbered("m", 100);
    messages[42] = Message::new("POISON");
    let outcomes = publish_together(&publisher, messages).await;
    assert_eq!(delivered(&outcomes), 99);
    assert_eq!(failed(&outcomes[42]).class, Class::Permanent);
    assert!(env.publishes() <= 15);
    env.server().script([Rule::on(Match::publish())
        .times(1)
        .then(Action::status(503, "busy"))]);
    assert!(is_throttled(failed(
        &publish_together(&publisher, numbered("m", 1)).await[0]
    )));
    let denied = Status::new(403, "PERMISSION_DENIED", "no");
    env.server().script([Rule::on(Match::publish())
        .times(1)
        .then(Action::refuse(&denied))]);
    assert_eq!(
        failed(&publish_together(&publisher, numbered("m", 1)).await[0]).class,
        Class::Config
    );
}

async fn cut(env: Env) {
    let publisher = publisher(&env, env.options().batch_max_entries(1));
    all_delivered(&publish_all(&publisher, numbered("first", 1)).await);
    env.server()
        .script([Rule::on(Match::publish()).times(1).then(Action::reset())]);
    let tries = env.try_publish_all(&publisher, numbered("m", 8)).await;
    assert!(tries.iter().all(|tried| tried.attempts <= 3), "{tries:?}");
    env.server().drop_connections();
    let tried = env
        .try_publish(&publisher, Message::new("last"), policy())
        .await;
    assert!(tried.outcome.is_ok() && tried.attempts <= 2, "{tried:?}");
}

async fn no_answer(env: Env) {
    let has_stuck = |messages: &[pubsink_fixtures::broker::PubsubMessage]| {
        messages.iter().any(|one| one.data == "stuck")
    };
    env.server()
        .script([Rule::on(Match::publish().messages(has_stuck)).then(Action::never_answer())]);
    let options = env
        .options()
        .timeout(Duration::from_secs(1))
        .batch_max_entries(1);
    let publisher = publisher(&env, options);
    let start = Instant::now();
    let stuck = publisher.publish(Message::new("stuck"));
    all_delivered(&publish_all(&publisher, numbered("m", 20)).await);
    let outcome = stuck.await;
    assert_eq!(failed(&outcome).class, Class::Transient);
    assert!(failed(&outcome).may_have_been_stored);
    assert!(start.elapsed() < Duration::from_secs(6));
    all_delivered(&publish_all(&publisher, numbered("m", 20)).await);
}

async fn closes_each_time(env: Env) {
    let close = Action::proceed().close_after_answer();
    env.server()
        .script([Rule::on(Match::publish()).then(close)]);
    let publisher = publisher(&env, env.options());
    for round in 0..10 {
        let tries = env.try_publish_all(&publisher, numbered(&format!("r{round}"), 2));
        assert!(tries.await.iter().all(|tried| tried.attempts <= 2));
        env.sleep(30).await;
    }
    assert_eq!(env.stored().len(), 20);
}

async fn dead(env: Env) {
    let relay = Relay::to(env.server().addr());
    let options = env.options().endpoint(&format!("http://{}", relay.addr));
    let publisher = publisher(&env, options.timeout(Duration::from_secs(1)));
    all_delivered(&publish_all(&publisher, numbered("first", 1)).await);
    relay.kill();
    let policy = RetryPolicy {
        max: Duration::from_secs(1),
        max_elapsed: Duration::from_secs(25),
        ..policy()
    };
    let tried = env
        .try_publish(&publisher, Message::new("second"), policy)
        .await;
    assert!(tried.outcome.is_ok(), "{tried:?}");
    assert_eq!(relay.connections(), 2);
    assert_eq!(env.stored_text(), ["first-0", "second"]);
}
