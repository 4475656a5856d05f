//! R01 through dispatch: what a failure does to the hooks behind it on the same ordering key.

use std::collections::BTreeMap;

use pubsink_core::dispatch::OnDead;
use pubsink_core::envelope::Envelope;
use pubsink_core::journal::Filter;
use pubsink_core::options::{OrderingOnFailure, PublisherOptionsBuilder};
use pubsink_runtime::Publisher;

use super::{died, fails_key, key_of_hooks, keyed, refuses};
use crate::harness::case::cases;
use crate::harness::dispatching::{Dispatching, quick, unbroken};
use crate::harness::env::Env;
use crate::harness::journals::Watched;

cases! {
    Ordering, "dispatch R01 an ordered subscription gets each key's hooks in the order they were enqueued, over a restart" => order_kept, .limit(60);
    Faults, "dispatch R01 a key whose hook fails waits for its retry, and the others go on" => waits, .limit(60);
    Faults, "dispatch R01 a hook given up stops its key until it is resumed, and what is behind it stays in the journal" => stops, .limit(60);
    Faults, "dispatch R01 a hook given up is skipped where the operator wants that" => skips, .limit(60);
}

/// Holds a key after a failure; a hook's key is its path.
pub(super) fn held(options: PublisherOptionsBuilder) -> PublisherOptionsBuilder {
    let key = |hook: &Envelope| hook.path.trim_start_matches('/').to_owned();
    let options = options.ordering_key_with(key);
    options.ordering_on_failure(OrderingOnFailure::Hold)
}

pub(super) fn publisher(env: &Env) -> Publisher {
    env.publisher(held(env.options()))
}

/// The ids stored for a key, in the order they came.
pub(super) fn stored_of(env: &Env, key: &str) -> Vec<String> {
    let stored = env.stored();
    let of_key = stored.iter().filter(|one| one.message.ordering_key == key);
    let ids = of_key.map(|one| one.message.attributes["ankusa_id"].clone());
    ids.collect()
}

pub(super) fn ids(hooks: &[Envelope]) -> Vec<String> {
    hooks.iter().map(|hook| hook.id.clone()).collect()
}

/// So many hooks of each key, one of each after the other.
pub(super) fn in_turns(keys: &[&str], count: usize) -> Vec<Envelope> {
    let of_all = |number| {
        keys.iter()
            .map(move |key| keyed(key, format!("{key}-{number}")))
    };
    (0..count).flat_map(of_all).collect()
}

async fn order_kept(env: Env) {
    const KEYS: [&str; 3] = ["a", "b", "c"];
    let id = format!("{}-ordered", env.topic_id());
    env.create_topic(&id, true).await;
    let publisher = env.publisher(held(env.options_for(&id)));
    let hooks = in_turns(&KEYS, 20);
    let (first, second) = hooks.split_at(30);
    let dispatching = env.dispatching(Watched::disk(), publisher.clone(), quick());
    dispatching.accept(first.iter().cloned()).await;
    // With most of them still in the journal.
    let journal = dispatching.stop(&env).await;
    let dispatching = env.dispatching(journal, publisher, quick());
    dispatching.accept(second.iter().cloned()).await;
    let mut by_key: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for mut one in env.pull_from(&id, hooks.len()).await {
        let id = one.attributes.remove("ankusa_id");
        by_key.entry(one.ordering_key).or_default().extend(id);
    }
    for key in KEYS {
        assert_eq!(by_key[key], ids(&key_of_hooks(key, 20)), "key {key}");
    }
}

async fn waits(env: Env) {
    env.server().script([fails_key("k")]);
    let dispatching = env.dispatching(Watched::memory(), publisher(&env), unbroken());
    dispatching.accept(in_turns(&["k", "l", ""], 5)).await;
    // The others do not wait for it.
    for settled in dispatching.delivered(&env, 10).await {
        assert_ne!(settled.row.envelope.path, "/k");
    }
    let failed_thrice = || dispatching.heard.retried().len() >= 3;
    env.until("it was tried three times", failed_thrice).await;
    env.server().script([]);
    dispatching.delivered(&env, 15).await;
    // Nothing of the key was tried before its first hook was stored.
    for (id, failure) in dispatching.heard.retried() {
        assert_eq!((&*id, failure.reason.kind()), ("k-0", "pubsub"));
    }
    for key in ["k", "l"] {
        assert_eq!(stored_of(&env, key), ids(&key_of_hooks(key, 5)));
    }
    assert_eq!(dispatching.journal.lanes_left().await, 0);
}

async fn stops(env: Env) {
    let mut options = quick();
    options.on_dead = OnDead::Stop;
    env.server().script([refuses("k-1")]);
    let dispatching = env.dispatching(Watched::disk(), publisher(&env), options.clone());
    dispatching.accept(in_turns(&["k", "l", ""], 4)).await;
    let settled = dispatching.settled(&env, 10).await;
    let dead = settled.iter().filter(|one| one.outcome.is_err());
    let dead: Vec<_> = dead.collect();
    assert_eq!((dead.len(), &*dead[0].row.envelope.id), (1, "k-1"));
    assert_eq!(died(dead[0]).reason.kind(), "pubsub");
    // What comes later waits behind it, too.
    dispatching
        .accept([keyed("k", "k-4"), keyed("l", "l-4")])
        .await;
    dispatching.settled(&env, 11).await;
    check_stopped(&env, &dispatching).await;

    // Over a restart as well, on a topic that would take it by now.
    env.server().script([]);
    let journal = dispatching.stop(&env).await;
    let dispatching = env.dispatching(journal, publisher(&env), options);
    dispatching.accept([keyed("l", "l-5")]).await;
    dispatching.delivered(&env, 1).await;
    check_stopped(&env, &dispatching).await;

    let lane = dispatching.dispatch.stopped().await.unwrap().remove(0).lane;
    let due = dispatching.dispatch.resume(lane).await;
    assert!(due.unwrap().is_some(), "there are rows to go on with");
    dispatching.delivered(&env, 4).await;
    assert_eq!(stored_of(&env, "k"), ["k-0", "k-2", "k-3", "k-4"]);
    assert_eq!(dispatching.dispatch.stopped().await.unwrap(), []);
    assert_eq!(stored_of(&env, "l"), ids(&key_of_hooks("l", 6)));
    assert_eq!(dispatching.journal.letters().await.len(), 1);
    assert_eq!(dispatching.journal.lanes_left().await, 0);
}

/// Nothing of `k` goes, and the operator can see why.
async fn check_stopped(env: &Env, dispatching: &Dispatching) {
    assert_eq!(stored_of(env, "k"), ["k-0"]);
    let stopped = dispatching.dispatch.stopped().await.unwrap();
    assert_eq!(stopped.len(), 1);
    let (lane, cause) = (&stopped[0].lane, &stopped[0].cause);
    assert_eq!(lane.key.as_deref(), Some("k"));
    assert_eq!((&*cause.kind, cause.config), ("pubsub", false));
    assert!(
        cause.message.contains("INVALID_ARGUMENT"),
        "{}",
        cause.message
    );
}

async fn skips(env: Env) {
    env.server().script([refuses("k-1"), refuses("k-2")]);
    let dispatching = env.dispatching(Watched::memory(), publisher(&env), quick());
    dispatching.accept(in_turns(&["k", "l"], 5)).await;
    dispatching.settled(&env, 10).await;
    assert_eq!(stored_of(&env, "k"), ["k-0", "k-3", "k-4"]);
    assert_eq!(stored_of(&env, "l"), ids(&key_of_hooks("l", 5)));
    assert_eq!(dispatching.dispatch.stopped().await.unwrap(), []);
    let letters = dispatching.journal.letters().await;
    let dead: Vec<_> = letters.iter().map(|one| &*one.envelope.id).collect();
    assert_eq!(dead, ["k-1", "k-2"]);
    // A replay sends them behind the others: that is what skipping means.
    env.server().script([]);
    let job = dispatching.replay(&env, "r", Filter::default()).await;
    assert_eq!((job.progress.sent, job.progress.delivered), (2, 2));
    assert_eq!(stored_of(&env, "k"), ["k-0", "k-3", "k-4", "k-1", "k-2"]);
}
