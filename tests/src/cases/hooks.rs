//! Hooks, there and back, decoded by two decoders.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use futures_util::future::join_all;
use pubsink_core::claim::ClaimRef;
use pubsink_core::delivery::DeliveryContext;
use pubsink_core::envelope::Envelope;
use pubsink_core::envelope_line;
use pubsink_core::failure::Class;
use pubsink_fixtures::hooks;

use super::all_delivered;
use crate::harness::case::{BOTH, cases};
use crate::harness::env::Env;
use crate::harness::pull::{Pulled, decode};

cases! {
    Anything, "sample hooks published in batches come back whole" => samples_batched, .publishes(BOTH);
    Anything, "sample hooks published directly come back whole, one a request" => samples_direct, .publishes(BOTH);
    Anything, "a replayed hook keeps its keys and names its replay" => replayed;
    Anything, "a body too large to travel goes as its claim, and without one it is refused" => claimed;
    Anything, "hundreds of real hooks come back whole" => real;
}

/// Real hooks beside the workspace, where they are.
const REAL_HOOKS: &str = "../shared/data/github-hooks.ndjson";

pub(super) fn envelopes(lines: &str) -> Vec<Envelope> {
    let lines = lines.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| {
            let line = envelope_line::parse(line.as_bytes()).expect("a sample parses");
            line.into_envelope(|| unreachable!("samples have ids"), 0)
        })
        .collect()
}

async fn samples_batched(env: Env) {
    let hooks = envelopes(hooks::sample_ndjson());
    assert!(hooks.len() >= 24);
    there_and_back(&env, &hooks, &DeliveryContext::batched()).await;
}

async fn samples_direct(env: Env) {
    let hooks = envelopes(hooks::sample_ndjson());
    let (publisher, recorder) = env.recorded(env.options());
    let direct = DeliveryContext::default();
    all_delivered(&join_all(hooks.iter().map(|hook| publisher.deliver(hook, &direct))).await);
    assert_eq!(recorder.requests(), vec![1; hooks.len()]);
    let pulled = env.pull(hooks.len()).await;
    compare(&hooks, &pulled, &direct);
}

async fn replayed(env: Env) {
    let hooks = envelopes(hooks::sample_ndjson());
    let mut context = DeliveryContext::batched();
    context.replay_id = Some("replay-7".to_owned());
    there_and_back(&env, &hooks, &context).await;
}

async fn claimed(env: Env) {
    let publisher = env.publisher(env.options().inline_max_bytes(100));
    let mut hook = envelopes(hooks::sample_ndjson()).remove(0);
    hook.body = vec![b'x'; 101].into();
    let mut context = DeliveryContext::batched();
    let refused = publisher
        .deliver(&hook, &context)
        .await
        .expect_err("it cannot travel");
    // The hook is as it should be: there is no claim store.
    assert_eq!(
        (refused.class, refused.reason.kind()),
        (Class::Config, "claim_check")
    );
    let claim = ClaimRef::derive(hook.tenant_id.as_deref(), hook.received_at, &hook.id).unwrap();
    context.claim = Some(claim.clone());
    all_delivered(&[publisher.deliver(&hook, &context).await]);
    let pulled = env.pull(1).await;
    let message = decode(&pulled[0].data);
    assert_eq!((message.body, message.claim), (None, Some(claim.clone())));
    assert_eq!(message.size, 101);
    let theirs = ankusa::parse_claim_ref(claim.as_str()).expect("ankusa reads our claims");
    assert_eq!(
        (theirs.tenant_id(), theirs.claim_id()),
        (claim.tenant(), claim.id())
    );
    assert_eq!(theirs.path(), claim.path());
}

/// The real hooks; where there are none it says so.
pub(super) fn real_hooks() -> Option<Vec<Envelope>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .join(REAL_HOOKS);
    let Ok(lines) = fs::read_to_string(&path) else {
        eprintln!("NOT RUN: real hooks: there is no {REAL_HOOKS} beside the workspace");
        return None;
    };
    let hooks = envelopes(&lines);
    assert!(hooks.len() >= 300);
    Some(hooks)
}

async fn real(env: Env) {
    let Some(hooks) = real_hooks() else { return };
    there_and_back(&env, &hooks, &DeliveryContext::batched()).await;
}

async fn there_and_back(env: &Env, hooks: &[Envelope], context: &DeliveryContext) {
    let publisher = env.publisher(env.options());
    all_delivered(&join_all(hooks.iter().map(|hook| publisher.deliver(hook, context))).await);
    let pulled = env.pull(hooks.len()).await;
    compare(hooks, &pulled, context);
}

/// Every hook came once, body and attributes as the format says.
fn compare(hooks: &[Envelope], pulled: &[Pulled], context: &DeliveryContext) {
    let by_id: BTreeMap<_, _> = pulled
        .iter()
        .map(|one| (one.attributes["ankusa_id"].as_str(), one))
        .collect();
    assert_eq!(by_id.len(), hooks.len(), "different ankusa_id");
    for hook in hooks {
        let one = by_id[hook.id.as_str()];
        let message = decode(&one.data);
        assert_eq!(message.v, 1);
        assert_eq!(message.id, hook.id);
        assert_eq!(message.source_id, hook.source_id);
        assert_eq!(message.tenant_id, hook.tenant_id);
        assert_eq!(message.received_at, hook.received_at);
        assert_eq!(message.content_type, hook.content_type);
        assert_eq!(message.replay_id, context.replay_id);
        assert_eq!(
            message.body.as_deref(),
            Some(&*hook.body),
            "the body of {}",
            hook.id
        );
        assert_eq!(one.attributes, attributes(hook, context));
        assert_eq!(one.ordering_key, "");
        for never in [
            "authorization",
            "cookie",
            "host",
            "content-type",
            "x-api-key",
        ] {
            assert!(
                !message.headers.contains_key(never),
                "{never} of {}",
                hook.id
            );
        }
    }
}

/// The attributes by the format's own words.
fn attributes(hook: &Envelope, context: &DeliveryContext) -> BTreeMap<String, String> {
    let dedupe_key = hook.dedupe_key.as_deref().filter(|key| !key.is_empty());
    let tenant = hook.tenant_id.as_deref().unwrap_or("default");
    let idempotency_key = match dedupe_key {
        Some(key) => format!("{tenant}:{}:{key}", hook.source_id),
        None => hook.id.clone(),
    };
    let mut attributes = BTreeMap::from([
        ("ankusa_id".to_owned(), hook.id.clone()),
        ("ankusa_source_id".to_owned(), hook.source_id.clone()),
        ("ankusa_message_version".to_owned(), "1".to_owned()),
        ("ankusa_idempotency_key".to_owned(), idempotency_key),
        ("content_type".to_owned(), "application/json".to_owned()),
    ]);
    let optional = [
        ("ankusa_tenant_id", &hook.tenant_id),
        ("ankusa_dedupe_key", &hook.dedupe_key),
        ("ankusa_replay_id", &context.replay_id),
    ];
    for (name, value) in optional {
        attributes.extend(value.clone().map(|value| (name.to_owned(), value)));
    }
    attributes
}
