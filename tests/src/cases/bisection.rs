//! R10: one bad message does not fail its batch.

use std::time::Duration;

use pubsink_core::failure::{Class, Outcome};
use pubsink_core::publish::Message;
use pubsink_core::reason::Reason;
use pubsink_fixtures::broker::{PubsubMessage, Status};
use pubsink_fixtures::faults::{Action, Match, Rule};
use serde_json::json;

use super::{all_delivered, delivered, failed, is_throttled, numbered, publish_together};
use crate::harness::case::{BOTH, cases};
use crate::harness::env::{Env, PROJECT};

cases! {
    Faults, "R10.1 R10.6 two bad of a hundred: 98 stored once, 2 permanent, at most 29 requests, then full batches again" => two_of_a_hundred, .publishes(BOTH);
    Faults, "R10.2 sixty-four bad of sixty-four: all permanent, at most 127 requests" => all_bad, .publishes(BOTH);
    Faults, "R10.3 a topic that refuses everything: it ends, and nothing is a success" => topic_at_fault;
    Faults, "R10.4 a half that is throttled while bisecting is throttled, not poisoned" => throttled_half, .publishes(BOTH);
    Faults, "R10.5 a refusal by rights, topic or credentials is never bisected" => never_bisected, .publishes(BOTH);
    Faults, "one bad of a thousand: 999 stored, 1 permanent, at most 20 more requests" => one_of_a_thousand, .publishes(BOTH);
    Faults, "two bad of three hundred that were published as one: each has its own outcome" => as_one, .publishes(BOTH);
    Faults, "bisection keeps the order of a key" => keyed, .publishes(BOTH);
    Schemas, "one bad of a hundred on a topic with a schema: 99 stored, 1 permanent with the server's words" => schema_hundred, .publishes(BOTH);
    Schemas, "one bad of a thousand on a topic with a schema: 999 stored, 1 permanent with the server's words" => schema_thousand;
}

const WORDS: &str = "Message data does not fit the schema.";

fn with_poison(count: usize, at: &[usize]) -> Vec<Message> {
    let mut messages = numbered("m", count);
    for at in at {
        messages[*at] = Message::new("POISON");
    }
    messages
}

/// Those at `at` are permanent with the server's words, the others delivered.
fn check(outcomes: &[Outcome], at: &[usize], words: &str) {
    for (number, outcome) in outcomes.iter().enumerate() {
        if !at.contains(&number) {
            assert!(outcome.is_ok(), "{number}: {outcome:?}");
            continue;
        }
        let failure = failed(outcome);
        assert_eq!(failure.class, Class::Permanent);
        assert!(!failure.may_have_been_stored);
        match &*failure.reason {
            Reason::Pubsub {
                http: 400,
                status,
                message,
                ..
            } => {
                assert_eq!((&**status, &**message), ("INVALID_ARGUMENT", words));
            }
            other => panic!("{other:?}"),
        }
    }
}

fn reject_poison(env: &Env) {
    let topic = env.topic();
    env.server()
        .broker(|broker| broker.reject_data(&topic, "POISON"))
        .unwrap();
}

fn no_empty_request(env: &Env) {
    let log = env.server().log();
    assert!(
        log.publishes()
            .iter()
            .all(|request| request.message_count > 0)
    );
}

async fn two_of_a_hundred(env: Env) {
    reject_poison(&env);
    let publisher = env.publisher(env.patient_options().batch_max_entries(100));
    let outcomes = publish_together(&publisher, with_poison(100, &[17, 83])).await;
    check(&outcomes, &[17, 83], WORDS);
    let requests = env.publishes();
    assert!(requests <= 29, "{requests} requests");
    no_empty_request(&env);
    let mut expected: Vec<_> = (0..100)
        .filter(|n| ![17, 83].contains(n))
        .map(|n| format!("m-{n}"))
        .collect();
    expected.sort();
    assert_eq!(env.stored_text(), expected);
    // The batch size is what it was.
    env.server().clear_log();
    all_delivered(&publish_together(&publisher, numbered("good", 300)).await);
    let log = env.server().log();
    let counts: Vec<_> = log
        .publishes()
        .iter()
        .map(|request| request.message_count)
        .collect();
    assert_eq!(counts, [100, 100, 100]);
}

async fn as_one(env: Env) {
    reject_poison(&env);
    let publisher = env.publisher(env.patient_options().batch_max_entries(100));
    let deliveries = publisher.publish_all(with_poison(300, &[5, 250]));
    publisher.flush().await;
    let outcomes = deliveries.await;
    assert_eq!(outcomes.len(), 300);
    check(&outcomes, &[5, 250], WORDS);
    // Each is stored once, under the id that its own outcome says.
    let stored = env.stored().into_iter();
    let mut stored: Vec<_> = stored
        .map(|one| (one.message.data.to_vec(), one.message_id.clone()))
        .collect();
    let confirmed = outcomes.into_iter().enumerate();
    let mut confirmed: Vec<_> = confirmed
        .filter_map(|(number, outcome)| Some((number, outcome.ok()?.message_id)))
        .map(|(number, id)| (format!("m-{number}").into_bytes(), id.to_string()))
        .collect();
    stored.sort();
    confirmed.sort();
    assert_eq!(stored, confirmed);
    no_empty_request(&env);
}

async fn all_bad(env: Env) {
    reject_poison(&env);
    let publisher = env.publisher(env.patient_options().batch_max_entries(64));
    let all: Vec<usize> = (0..64).collect();
    let outcomes = publish_together(&publisher, with_poison(64, &all)).await;
    check(&outcomes, &all, WORDS);
    assert_eq!(env.publishes(), 127);
    no_empty_request(&env);
    assert!(env.stored().is_empty());
}

async fn topic_at_fault(env: Env) {
    let status = Status::invalid_argument("The schema was deleted.");
    let status = status.with_reason("SCHEMA_DELETED", "pubsub.googleapis.com");
    env.server()
        .script([Rule::on(Match::publish()).then(Action::refuse(&status))]);
    let publisher = env.publisher(env.patient_options());
    let outcomes = publish_together(&publisher, numbered("m", 50)).await;
    assert_eq!(delivered(&outcomes), 0);
    for outcome in &outcomes {
        match &*failed(outcome).reason {
            Reason::Pubsub {
                error_reason: Some(reason),
                ..
            } => assert_eq!(&**reason, "SCHEMA_DELETED"),
            other => panic!("{other:?}"),
        }
    }
    let requests = env.publishes();
    assert!(requests <= 99, "{requests} requests");
}

async fn throttled_half(env: Env) {
    reject_poison(&env);
    // The whole batch is refused; the first half after it meets a 503.
    env.server().script([Rule::on(Match::publish())
        .nth(2)
        .then(Action::status(503, "busy"))]);
    let publisher = env.publisher(
        env.options()
            .batch_linger(Duration::from_millis(300))
            .batch_max_inflight(1),
    );
    let mut messages = numbered("m", 64);
    messages[40] = Message::new("POISON");
    let outcomes = publish_together(&publisher, messages.clone()).await;
    let throttled = outcomes
        .iter()
        .filter(|one| one.as_ref().is_err_and(is_throttled))
        .count();
    let permanent = |one: &Outcome| {
        one.as_ref()
            .is_err_and(|failure| failure.class == Class::Permanent)
    };
    let permanents: Vec<_> = (0..64).filter(|at| permanent(&outcomes[*at])).collect();
    assert_eq!((throttled, permanents), (32, vec![40]));
    assert_eq!(delivered(&outcomes), 31);
    let again = messages
        .into_iter()
        .zip(&outcomes)
        .filter(|(_, one)| one.as_ref().is_err_and(is_throttled));
    env.try_publish_all(&publisher, again.map(|(message, _)| message))
        .await;
    let stored = env.stored_text();
    let mut once = stored.clone();
    once.dedup();
    assert_eq!((stored.len(), once.len()), (63, 63));
}

async fn never_bisected(env: Env) {
    let refusals = [
        Status::new(
            403,
            "PERMISSION_DENIED",
            "User not authorized to perform this action.",
        ),
        Status::not_found("Resource not found (resource=gone)."),
        Status::unauthenticated("Request had invalid authentication credentials."),
    ];
    for status in refusals {
        env.server().clear_log();
        env.server()
            .script([Rule::on(Match::publish()).then(Action::refuse(&status))]);
        let publisher = env.publisher(env.patient_options());
        let outcomes = publish_together(&publisher, numbered("m", 100)).await;
        for outcome in &outcomes {
            assert_eq!(failed(outcome).class, Class::Config, "{status}");
        }
        assert_eq!(env.publishes(), 1, "{status}");
    }
}

async fn one_of_a_thousand(env: Env) {
    reject_poison(&env);
    let publisher = env.publisher(env.patient_options());
    let outcomes = publish_together(&publisher, with_poison(1_000, &[613])).await;
    check(&outcomes, &[613], WORDS);
    let requests = env.publishes();
    assert!(requests <= 21, "{requests} requests");
    let stored = env.stored_text();
    let mut once = stored.clone();
    once.dedup();
    assert_eq!((stored.len(), once.len()), (999, 999));
}

async fn keyed(env: Env) {
    reject_poison(&env);
    let publisher = env.publisher(env.patient_options().batch_max_entries(32));
    let mut messages = with_poison(96, &[5, 40, 41, 95]);
    messages
        .iter_mut()
        .for_each(|message| message.ordering_key = "k".to_owned());
    check(
        &publish_together(&publisher, messages).await,
        &[5, 40, 41, 95],
        WORDS,
    );
    let data = |one: &PubsubMessage| String::from_utf8(one.data.to_vec()).unwrap();
    let stored: Vec<_> = env.stored().iter().map(|one| data(&one.message)).collect();
    let good = (0..96).filter(|n| ![5, 40, 41, 95].contains(n));
    assert_eq!(stored, good.map(|n| format!("m-{n}")).collect::<Vec<_>>());
}

async fn schema_hundred(env: Env) {
    schema(env, 100, 17).await;
}

async fn schema_thousand(env: Env) {
    schema(env, 1_000, 613).await;
}

/// Every message but one fits an Avro schema.
async fn schema(env: Env, count: usize, bad: usize) {
    let id = format!("{}-typed", env.topic_id());
    let definition = json!({
        "type": "record",
        "name": "Event",
        "fields": [{"name": "a", "type": "int"}],
    });
    let schema = json!({"type": "AVRO", "definition": definition.to_string()});
    let path = format!("/v1/projects/{PROJECT}/schemas?schemaId={id}");
    let (status, reply) = env.call("POST", &path, &schema).await;
    assert_eq!(status, 200, "{reply}");
    let name = format!("projects/{PROJECT}/schemas/{id}");
    let topic = json!({"schemaSettings": {"schema": name, "encoding": "JSON"}});
    let topic_name = format!("projects/{PROJECT}/topics/{id}");
    let (status, reply) = env.call("PUT", &format!("/v1/{topic_name}"), &topic).await;
    assert_eq!(status, 200, "{reply}");
    env.create_subscription(&id, &topic_name, false).await;

    let (publisher, recorder) =
        env.recorded(env.options_for(&id).batch_linger(Duration::from_secs(60)));
    let mut messages: Vec<_> = (0..count)
        .map(|n| Message::new(format!("{{\"a\":{n}}}")))
        .collect();
    messages[bad] = Message::new("{\"b\":1}");
    let outcomes = publish_together(&publisher, messages).await;
    check(&outcomes, &[bad], "Could not parse message");
    let most = 2 * usize::try_from(count.next_power_of_two().ilog2()).unwrap();
    let requests = recorder.requests();
    assert!(requests.len() <= 1 + most, "{requests:?}");
    let mut came: Vec<_> = env
        .pull_from(&id, count - 1)
        .await
        .into_iter()
        .map(|one| one.data)
        .collect();
    came.sort();
    came.dedup();
    assert_eq!(came.len(), count - 1);
}
