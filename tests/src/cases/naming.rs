//! Topics that are not there, and topics with odd names.

use std::time::Duration;

use pubsink_core::failure::Class;
use pubsink_core::reason::Reason;
use pubsink_fixtures::faults::{Action, Match, Rule};

use super::{all_delivered, failed, numbered, publish_all, publish_together};
use crate::harness::case::{BOTH, cases};
use crate::harness::env::Env;

cases! {
    Anything, "a missing topic is a config failure for all hundred, in one request, and is never created" => missing, .publishes(BOTH);
    Anything, "a missing topic that is created later is published to without a restart" => created_later, .publishes(BOTH);
    Anything, "a topic's odd characters reach the server as they are" => odd, .publishes(BOTH);
    Faults, "a topic with a percent sign before two digits is not decoded twice" => percent, .publishes(BOTH);
    Anything, "an emulator is found by its host and port" => by_host;
    Faults, "an endpoint's path stays in front of Pub/Sub's" => prefix;
}

async fn missing(env: Env) {
    let (publisher, recorder) = env.recorded(
        env.options_for("not-there")
            .batch_linger(Duration::from_secs(60)),
    );
    let outcomes = publish_together(&publisher, numbered("m", 100)).await;
    assert_eq!(recorder.requests(), [100]);
    for outcome in &outcomes {
        let failure = failed(outcome);
        assert_eq!(failure.class, Class::Config);
        assert!(!failure.may_have_been_stored);
        match &*failure.reason {
            Reason::Pubsub {
                http: 404, status, ..
            } => assert_eq!(&**status, "NOT_FOUND"),
            other => panic!("{other:?}"),
        }
    }
    let path = "/v1/projects/pubsink-tests/topics/not-there";
    assert_eq!(env.call("GET", path, &serde_json::json!({})).await.0, 404);
}

async fn created_later(env: Env) {
    let id = format!("{}-later", env.topic_id());
    let publisher = env.publisher(env.options_for(&id));
    let outcomes = publish_all(&publisher, numbered("m", 3)).await;
    assert!(
        outcomes
            .iter()
            .all(|outcome| failed(outcome).class == Class::Config)
    );
    env.create_topic(&id, false).await;
    all_delivered(&publish_all(&publisher, numbered("m", 3)).await);
    env.pull_from(&id, 3).await;
}

async fn odd(env: Env) {
    there_and_back(&env, &["A0-._~+%z", "+", "~.~", "%", "%%"]).await;
}

async fn percent(env: Env) {
    // Google's emulator decodes twice itself, so this cannot be seen there.
    there_and_back(&env, &["%25", "a%2Fb", "%2B"]).await;
}

async fn there_and_back(env: &Env, suffixes: &[&str]) {
    for suffix in suffixes {
        let id = format!("{}-{suffix}", env.topic_id());
        env.create_topic(&id, false).await;
        let publisher = env.publisher(env.options_for(&id));
        all_delivered(&publish_all(&publisher, numbered(suffix, 2)).await);
        let mut came: Vec<_> = env
            .pull_from(&id, 2)
            .await
            .into_iter()
            .map(|one| one.data)
            .collect();
        came.sort();
        assert_eq!(
            came,
            [
                format!("{suffix}-0").into_bytes(),
                format!("{suffix}-1").into_bytes()
            ]
        );
    }
}

async fn by_host(env: Env) {
    let endpoint = env.endpoint();
    let host = endpoint.strip_prefix("http://").unwrap();
    let publisher = env.publisher(env.options().emulator(host));
    all_delivered(&publish_all(&publisher, numbered("m", 3)).await);
    env.pull(3).await;
}

async fn prefix(env: Env) {
    let path = format!("/pub/sub/v1/{}:publish", env.topic());
    let stored = Action::answer(200, &[], r#"{"messageIds":["1"]}"#);
    env.server().clear_log();
    env.server()
        .script([Rule::on(Match::any().path_ends(&path)).then(stored)]);
    let publisher = env.publisher(
        env.options()
            .endpoint(&format!("{}/pub/sub/", env.endpoint())),
    );
    all_delivered(&publish_all(&publisher, numbered("m", 1)).await);
    assert_eq!(env.server().log().requests()[0].path, path);
}
