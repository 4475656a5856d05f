//! Hooks go to a topic, through a handler and to another topic as replies.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use pubsink_core::delivery::DeliveryContext;
use pubsink_core::envelope::Envelope;
use pubsink_fixtures::faults::{Action, Match, Rule};
use pubsink_fixtures::hooks;
use pubsink_runtime::service::{Context, Hook, Reply, ReplyError, handler};
use serde_json::json;

use crate::cases::all_delivered;
use crate::cases::hooks::{envelopes, real_hooks};
use crate::harness::case::{BOTH, cases};
use crate::harness::env::{Env, PROJECT};
use crate::harness::pull::{Pulled, decode};
use crate::harness::subscribing::{Handling, Handlings, PATIENCE, acks};

cases! {
    Ordering, "hundreds of real hooks are each handled once, in their key's order, and answered before they are acked" => round_trip, .publishes(BOTH), .limit(90);
}

/// How long the embedded server keeps the answer back that a reply is stored.
const STORING: Duration = Duration::from_millis(40);

/// A hook's ordering key: what it is about.
fn key(hook: &Envelope) -> String {
    let event = |(name, _): &&(String, _)| name.eq_ignore_ascii_case("X-GitHub-Event");
    let event = hook.headers.iter().find(event);
    let event = event.map(|(_, value)| String::from_utf8_lossy(value.as_ref()).into_owned());
    event.unwrap_or_else(|| hook.source_id.clone())
}

async fn round_trip(env: Env) {
    let mut all = envelopes(hooks::sample_ndjson());
    all.extend(real_hooks().into_iter().flatten());
    env.create_served_with(json!({"enableMessageOrdering": true}))
        .await;
    let replies_id = format!("{}-replies", env.topic_id());
    env.create_topic(&replies_id, true).await;
    let replies_topic = format!("projects/{PROJECT}/topics/{replies_id}");
    if let Some(server) = env.embedded() {
        let stored = Action::proceed().answer_delay(STORING);
        server.script([Rule::on(Match::topic(&replies_topic)).then(stored)]);
    }

    let handlings = Handlings::default();
    let (noted, place) = (handlings.clone(), env.clone());
    let answer = move |context: Context, hook: Hook| {
        let (noted, env) = (noted.clone(), place.clone());
        async move {
            let _running = noted.begin(&context);
            env.sleep(fastrand::u64(0..4)).await;
            let key = context.ordering_key().unwrap_or_default();
            let reply = Reply::json(&hook.id).map_err(|_| ReplyError::NoPublisher)?;
            let reply = reply.attribute("answers", hook.id.clone());
            Ok::<_, ReplyError>(reply.ordering_key(key))
        }
    };
    let replies = env.publisher(env.options_for(&replies_id));
    let serving = env.serve(env.subscriber(), handler(answer).reply_to(replies));
    let publisher = env.publisher(env.options().ordering_key_with(key));
    let context = DeliveryContext::batched();
    all_delivered(&join_all(all.iter().map(|hook| publisher.deliver(hook, &context))).await);
    serving.quiet_after(&env, PATIENCE, all.len()).await;
    serving.stop().await;

    let handled = handlings.all();
    let mut by_key: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for one in &handled {
        let hook = decode(one.text.as_bytes()).id;
        by_key.entry(key_of(&all, &hook)).or_default().push(hook);
    }
    // So each was handled once, and in order.
    assert_eq!(by_key, ids_by_key(&all));
    let answers = env.pull_from(&replies_id, all.len()).await;
    let mut answered: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for answer in answers {
        let hook = reads(&answer);
        answered.entry(answer.ordering_key).or_default().push(hook);
    }
    assert_eq!(answered, ids_by_key(&all));
    env.pull_from(&env.served_id(), 0).await;
    assert_eq!(serving.told.unsettled(), []);
    env.nothing_came_again();
    if env.embedded().is_some() {
        assert_eq!(env.leased(), 0);
        stored_before_acked(&env, &handled);
    }
}

/// Each reply's answer had come before the ack of its hook was sent.
fn stored_before_acked(env: &Env, handled: &[Handling]) {
    let mut stored: BTreeMap<String, Instant> = BTreeMap::new();
    let log = env.server().log();
    let publishes = log.publishes().into_iter();
    for publish in publishes {
        for message in &publish.messages {
            let answers = message.attributes.get("answers").cloned();
            stored.extend(answers.map(|hook| (hook, publish.at + STORING)));
        }
    }
    let calls = env.served_calls();
    let acked: BTreeMap<&str, Instant> = acks(&calls)
        .into_iter()
        .map(|(at, ack_id)| (ack_id, at))
        .collect();
    assert_eq!(acked.len(), handled.len());
    for one in handled {
        let hook = decode(one.text.as_bytes()).id;
        assert!(acked[&*one.ack_id] >= stored[&hook], "{hook}");
    }
}

/// The hook that a reply answers.
fn reads(answer: &Pulled) -> String {
    let hook: String = serde_json::from_slice(&answer.data).expect("a reply is a JSON string");
    assert_eq!(answer.attributes["answers"], hook);
    assert_eq!(answer.attributes["content_type"], "application/json");
    hook
}

fn key_of(all: &[Envelope], id: &str) -> String {
    let hook = all.iter().find(|hook| hook.id == id);
    key(hook.expect("it was published"))
}

fn ids_by_key(all: &[Envelope]) -> BTreeMap<String, Vec<String>> {
    let mut by_key: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for hook in all {
        by_key.entry(key(hook)).or_default().push(hook.id.clone());
    }
    by_key
}
