//! Large bodies through dispatch: checked in once, named by the message, redeemed byte for byte.

use bytes::Bytes;
use pubsink_core::claim::ClaimRef;
use pubsink_core::envelope::Envelope;
use pubsink_core::message::DecodedMessage;
use pubsink_fixtures::faults::{Action, Match, Rule};
use pubsink_fixtures::hooks::sample_ndjson;
use serde_json::Value;

use super::super::bodies::sha256;
use super::super::hooks::envelopes;
use crate::harness::case::cases;
use crate::harness::claims::Store;
use crate::harness::dispatching::quick;
use crate::harness::env::Env;
use crate::harness::journals::Watched;
use crate::harness::pull::{Pulled, decode};

cases! {
    Anything, "dispatch claims: a body of 3 MiB travels as its claim and is redeemed byte for byte" => travels, .limit(60);
    Anything, "dispatch claims: the sinks of a hook share one check-in and one ref" => shared, .limit(60);
    Faults, "dispatch claims: a retry after a lost reply carries the same ref to the same bytes" => reply_lost, .limit(60);
}

pub(super) const THREE_MIB: usize = 3 * 1024 * 1024;

/// Larger than what travels inline by default, and cheap enough to have many of.
pub(super) const LARGE: usize = 100_000;

/// A sample hook of that id with its body repeated to so many bytes, which begin with the id.
pub(super) fn large(id: &str, bytes: usize) -> Envelope {
    let sample = envelopes(sample_ndjson()).remove(0);
    let repeated = sample.body.iter().copied().cycle();
    let body: Bytes = id.bytes().chain(repeated).take(bytes).collect();
    Envelope {
        id: id.to_owned(),
        dedupe_key: Some(format!("event-{id}")),
        body,
        ..sample
    }
}

pub(super) fn ref_of(hook: &Envelope) -> ClaimRef {
    let claim = ClaimRef::derive(hook.tenant(), hook.received_at, &hook.id);
    claim.expect("the case's tenant can have claims")
}

/// The file of a hook's body, by its path in the store.
pub(super) fn object_of(hook: &Envelope) -> String {
    let claim = ref_of(hook);
    format!("{}/{}", claim.tenant(), claim.id())
}

/// The message of a hook whose body was checked in: it names the claim and has no body.
#[track_caller]
pub(super) fn claimed(data: &[u8], hook: &Envelope) -> DecodedMessage {
    let message = decode(data);
    let raw: Value = serde_json::from_slice(data).expect("a message is JSON");
    assert_eq!(raw.get("body_base64"), None, "{}", hook.id);
    assert_eq!(raw["claim"], ref_of(hook).as_str());
    assert_eq!(
        (&message.id, &message.tenant_id),
        (&hook.id, &hook.tenant_id)
    );
    assert_eq!(message.size, hook.body.len() as u64);
    assert_eq!(message.sha256, Some(sha256(&hook.body)));
    message
}

/// The bodies that the messages name are those of the hooks, by our consumer and by ankusa's.
pub(super) async fn redeemed(store: &Store, pulled: &[Pulled], hooks: &[Envelope]) {
    for hook in hooks {
        let of_hook = |one: &&Pulled| one.attributes["ankusa_id"] == hook.id;
        let found = pulled.iter().find(of_hook);
        let found = found.unwrap_or_else(|| panic!("{} did not come", hook.id));
        redeems(store, &claimed(&found.data, hook), &hook.body).await;
    }
}

/// What a message names are these very bytes.
pub(super) async fn redeems(store: &Store, message: &DecodedMessage, body: &Bytes) {
    let ours = store.redeem(message).await.expect("it is redeemed");
    assert!(ours == *body, "the body of {} changed", message.id);
    let theirs = store.redeem_by_ankusa(message).await;
    let theirs = theirs.expect("ankusa redeems it");
    assert!(theirs == *body, "the body of {} changed", message.id);
}

async fn travels(env: Env) {
    let store = env.claims();
    let publisher = env.publisher(env.options());
    let dispatching = env.claiming(Watched::disk(), publisher, &store, quick());
    let hook = large("large", THREE_MIB);
    let small = large("small", 1_000);
    dispatching.accept([hook.clone(), small.clone()]).await;
    for settled in dispatching.delivered(&env, 2).await {
        let claim = (settled.row.envelope.id == "large").then(|| ref_of(&hook));
        assert_eq!((settled.row.claim.clone(), settled.attempts), (claim, 1));
    }
    let pulled = env.pull(2).await;
    redeemed(&store, &pulled, std::slice::from_ref(&hook)).await;
    let inline = pulled
        .iter()
        .find(|one| one.attributes["ankusa_id"] == "small");
    let inline = decode(&inline.expect("the small one came").data);
    assert_eq!((inline.body, inline.claim), (Some(small.body), None));
    assert_eq!(store.objects(), [object_of(&hook)]);
    assert_eq!(store.asked(), [ref_of(&hook)]);
    assert_eq!(dispatching.journal.lanes_left().await, 0);
}

async fn shared(env: Env) {
    let store = env.claims();
    let ids = ["first", "second", "inline"].map(|name| format!("{}-{name}", env.topic_id()));
    let mut publishers = Vec::new();
    for (place, id) in ids.iter().enumerate() {
        env.create_topic(id, false).await;
        // The last of them would send the body itself, and does.
        let max = if place == 2 { THREE_MIB } else { 65_536 };
        let options = env.options_for(id).inline_max_bytes(max);
        publishers.push((id.clone(), env.publisher(options)));
    }
    let dispatching = env.claiming_to(Watched::disk(), publishers, &store, quick());
    let hook = large("shared", THREE_MIB);
    dispatching.accept([hook.clone()]).await;
    for settled in dispatching.delivered(&env, 3).await {
        assert_eq!(settled.row.claim, Some(ref_of(&hook)));
    }
    for id in &ids[..2] {
        let pulled = env.pull_from(id, 1).await;
        redeemed(&store, &pulled, std::slice::from_ref(&hook)).await;
    }
    let inline = env.pull_from(&ids[2], 1).await;
    let inline = decode(&inline[0].data);
    assert!(inline.body.as_ref() == Some(&hook.body), "the body changed");
    assert_eq!(inline.claim, None);
    assert_eq!(store.objects(), [object_of(&hook)]);
    assert_eq!(store.asked(), [ref_of(&hook)]);
}

async fn reply_lost(env: Env) {
    let lost = Rule::on(Match::publish()).times(1);
    env.server().script([lost.then(Action::reset().store())]);
    let store = env.claims();
    let publisher = env.publisher(env.options());
    let dispatching = env.claiming(Watched::disk(), publisher, &store, quick());
    let hook = large("twice", THREE_MIB);
    dispatching.accept([hook.clone()]).await;
    let settled = dispatching.delivered(&env, 1).await;
    assert_eq!(
        (settled[0].attempts, &settled[0].row.claim),
        (2, &Some(ref_of(&hook)))
    );
    let retried = dispatching.heard.retried();
    assert_eq!(retried.len(), 1);
    assert_eq!(retried[0].1.reason.kind(), "transport");
    assert!(retried[0].1.may_have_been_stored);
    let stored = env.stored();
    assert_eq!(
        stored.len(),
        2,
        "the first was stored, its reply alone was lost"
    );
    let (first, second) = (&stored[0].message, &stored[1].message);
    assert_eq!(first.data, second.data, "the retry is the same message");
    assert_eq!(first.attributes, second.attributes);
    redeems(&store, &claimed(&second.data, &hook), &hook.body).await;
    assert_eq!(store.objects(), [object_of(&hook)]);
    assert_eq!(store.asked(), [ref_of(&hook)], "the journal knows it");
}
