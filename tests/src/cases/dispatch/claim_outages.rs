//! A claim store that is down or hangs: large hooks wait for it, and nothing else does.

use std::time::Duration;

use pubsink_core::dispatch::{BreakerState, DispatchOptions, Event};
use pubsink_core::envelope::Envelope;
use pubsink_core::failure::Class;

use super::claims::{LARGE, large, object_of, redeemed, ref_of};
use crate::harness::case::cases;
use crate::harness::claims::Mood;
use crate::harness::dispatching::{Dispatching, hooks, quick};
use crate::harness::env::Env;
use crate::harness::journals::Watched;

cases! {
    Anything, "dispatch claims: a store that is down for a while delays large hooks alone, and nothing is lost" => down, .limit(60);
    Anything, "dispatch claims: a store that hangs costs large hooks their attempts' time, and nothing else" => hanging, .limit(60);
}

/// More than one after the other would open a breaker.
const LARGE_HOOKS: usize = 8;

fn large_hooks() -> Vec<Envelope> {
    let ids = (0..LARGE_HOOKS).map(|number| format!("large-{number}"));
    ids.map(|id| large(&id, LARGE)).collect()
}

/// How often each large hook had to be tried again, the least of them.
fn least_retries(dispatching: &Dispatching, hooks: &[Envelope]) -> usize {
    let retried = dispatching.heard.retried();
    let of_hook = |hook: &Envelope| retried.iter().filter(|(id, _)| *id == hook.id).count();
    hooks.iter().map(of_hook).min().unwrap_or_default()
}

async fn down(env: Env) {
    let mut options = quick();
    options.retry.max = Duration::from_millis(300);
    // At pauses of 150 to 300 ms that is an outage of 2 s and more.
    outage(&env, Mood::Down, options, 10).await;
}

async fn hanging(env: Env) {
    let mut options = quick();
    options.attempt_timeout = Duration::from_secs(5);
    // Some have to wait for their turn, and their time runs as well.
    options.concurrency = LARGE_HOOKS / 2;
    options.sink_concurrency = LARGE_HOOKS / 2;
    outage(&env, Mood::Hangs, options, 1).await;
}

/// Large and small hooks, while the store is as it is until each large one failed `retries` times.
async fn outage(env: &Env, mood: Mood, options: DispatchOptions, retries: usize) {
    let store = env.claims();
    store.set(mood);
    let publisher = env.publisher(env.options());
    let dispatching = env.claiming(Watched::disk(), publisher, &store, options);
    let all = large_hooks();
    dispatching.accept(all.iter().cloned()).await;
    dispatching.accept(hooks("before", 50)).await;
    dispatching.delivered(env, 50).await;
    let failed = || least_retries(&dispatching, &all) >= retries;
    env.until_within(40, "every large hook failed", failed)
        .await;
    dispatching.accept(hooks("meanwhile", 50)).await;
    for settled in dispatching.delivered(env, 100).await {
        let small = !settled.row.envelope.id.starts_with("large");
        assert!(small && settled.attempts == 1, "{settled:?}");
    }
    assert_eq!(dispatching.dispatch.breakers()[0].1, BreakerState::Closed);
    assert_eq!(store.objects(), [""; 0]);

    store.set(Mood::Works);
    let settled = dispatching.delivered(env, 100 + LARGE_HOOKS).await;
    for hook in &all {
        let settled = settled.iter().find(|one| one.row.envelope.id == hook.id);
        let attempts = settled.expect("it is settled").attempts as usize;
        assert!(attempts > retries, "{} took {attempts}", hook.id);
        failed_for_the_store(&dispatching, mood, hook, attempts - 1);
        let asked = store.asked_for(&ref_of(hook));
        match mood {
            // One whose turn does not come in time is not asked for.
            Mood::Hangs => assert!((1..=attempts).contains(&asked), "asked {asked} times"),
            _ => assert_eq!(asked, attempts),
        }
    }
    let opened = |event: &Event| matches!(event, Event::Breaker { .. });
    assert_eq!(dispatching.heard.count(opened), 0, "its sink did not fail");
    let pulled = env.pull(100 + LARGE_HOOKS).await;
    redeemed(&store, &pulled, &all).await;
    let mut objects: Vec<_> = all.iter().map(object_of).collect();
    objects.sort();
    assert_eq!(store.objects(), objects);
    let ended = || store.running() == 0;
    env.until("every check-in ended", ended).await;
    let journal = dispatching.stop(env).await;
    assert_eq!(journal.lanes_left().await, 0);
}

/// Every attempt but the last was told of, and is the store's failure alone.
fn failed_for_the_store(dispatching: &Dispatching, mood: Mood, hook: &Envelope, times: usize) {
    let words = match mood {
        Mood::Hangs => "the body was not checked in within 5000 ms",
        _ => "it is down",
    };
    let retried = dispatching.heard.retried();
    let failures: Vec<_> = retried.iter().filter(|(id, _)| *id == hook.id).collect();
    assert_eq!(failures.len(), times, "{}", hook.id);
    for (_, failure) in failures {
        assert_eq!(
            (failure.class, failure.reason.kind()),
            (Class::Transient, "claim_check")
        );
        assert!(failure.reason.to_string().contains(words), "{failure}");
        assert!(!failure.may_have_been_stored);
    }
}
