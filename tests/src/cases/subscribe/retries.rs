//! R24: what fails is held without a handler's place, and its lease is kept.
//!
//! 24.3 has 500 poisoned messages here; the 5,000 are met on simulated time.

use std::time::{Duration, Instant};

use pubsink_core::subscribe::{Backoff, GiveUp, Settlement};
use pubsink_runtime::service::{Context, ServiceEvent, handler};
use serde_json::json;

use crate::cases::{all_delivered, numbered, publish_all};
use crate::harness::case::{BOTH, cases};
use crate::harness::env::{Env, PROJECT};
use crate::harness::subscribing::{Handlings, PATIENCE, nacks, text, texts};

cases! {
    Anything, "subscribe R24.1 a poisoned message waits longer and longer, and holds up no other" => waits_longer, .wires(BOTH), .waits(), .limit(90);
    Faults, "subscribe R24.1 a poisoned message becomes a dead letter after its last attempt" => dead_letter, .wires(BOTH), .waits(), .limit(90);
    Anything, "subscribe R24.2 the lease of a held message is kept" => kept, .wires(BOTH), .waits(), .limit(90);
    Faults, "subscribe R24.3 held messages are bounded, and good ones get through" => bounded, .wires(BOTH), .limit(90);
    Anything, "subscribe R24.4 what is held goes back at once when the service stops" => goes_back, .wires(BOTH), .waits(), .limit(90);
}

const GOOD: usize = 20;

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// Fails what is poisoned.
async fn poisoned(noted: Handlings, context: Context) -> Result<(), &'static str> {
    let _running = noted.begin(&context);
    match text(&context).starts_with("poison") {
        true => Err("poison"),
        false => Ok(()),
    }
}

async fn publish(env: &Env, name: &str, count: usize) {
    let publisher = env.publisher(env.options());
    all_delivered(&publish_all(&publisher, numbered(name, count)).await);
}

async fn waits_longer(env: Env) {
    env.create_served().await;
    let handlings = Handlings::default();
    let noted = handlings.clone();
    let backoff = Backoff {
        base: seconds(1),
        jitter_percent: 0,
        max_attempts: Some(4),
        give_up: GiveUp::Drop,
        ..Backoff::default()
    };
    let by = handler(move |context: Context| poisoned(noted.clone(), context)).retry(backoff);
    let serving = env.serve(env.subscriber().handlers(2), by);
    publish(&env, "poison", 2).await;
    publish(&env, "good", GOOD).await;
    serving.quiet_after(&env, PATIENCE, GOOD + 8).await;
    serving.stop().await;

    let poison = ["poison-0", "poison-1"].map(|text| handlings.of(text));
    let second = poison.iter().map(|of_one| of_one[1].began).min().unwrap();
    for good in texts("good", GOOD) {
        let of_it = handlings.of(&good);
        // With the poisoned ones in the way they would have waited for them to be over.
        assert!(
            of_it.len() == 1 && of_it[0].began < second + seconds(1),
            "{of_it:?}"
        );
    }
    for of_one in poison {
        assert_eq!(of_one.len(), 4);
        for (pair, pause) in of_one.windows(2).zip([1, 2, 4]) {
            let between = pair[1].began - pair[0].began;
            let most = seconds(pause) * 13 / 10 + seconds(1);
            assert!(between >= seconds(pause) && between <= most, "{between:?}");
        }
        let attempts: Vec<_> = of_one.iter().map(|one| one.attempt).collect();
        assert_eq!(attempts, [1, 2, 3, 4]);
    }
    let gave_up = |event: &ServiceEvent| matches!(event, ServiceEvent::GaveUp { .. });
    assert_eq!(serving.told.count(gave_up), 2);
    env.pull_from(&env.served_id(), 0).await;
    if env.embedded().is_some() {
        let calls = env.served_calls();
        assert_eq!(nacks(&calls).len(), 6);
    }
}

async fn dead_letter(env: Env) {
    let letters = format!("{}-letters", env.topic_id());
    env.create_topic(&letters, false).await;
    env.create_served_with(json!({"deadLetterPolicy": {
        "deadLetterTopic": format!("projects/{PROJECT}/topics/{letters}"),
        "maxDeliveryAttempts": 5,
    }}))
    .await;
    let handlings = Handlings::default();
    let noted = handlings.clone();
    let backoff = Backoff {
        base: Duration::from_millis(100),
        max_attempts: Some(5),
        ..Backoff::default()
    };
    let by = handler(move |context: Context| poisoned(noted.clone(), context)).retry(backoff);
    let serving = env.serve(env.subscriber().handlers(2), by);
    publish(&env, "poison", 2).await;
    publish(&env, "good", GOOD).await;
    serving.quiet_after(&env, PATIENCE, GOOD + 10).await;
    serving.stop().await;
    for poison in texts("poison", 2) {
        let attempts: Vec<_> = handlings
            .of(&poison)
            .iter()
            .map(|one| one.attempt)
            .collect();
        assert_eq!(attempts, [1, 2, 3, 4, 5]);
    }
    let dead = env.pull_from(&letters, 2).await;
    let mut dead: Vec<_> = dead.into_iter().map(|one| one.data).collect();
    dead.sort();
    assert_eq!(dead, [b"poison-0", b"poison-1"]);
    assert_eq!(env.leased(), 0);
    env.pull_from(&env.served_id(), 0).await;
}

async fn kept(env: Env) {
    const PAUSE: Duration = Duration::from_secs(15);
    env.create_served().await;
    let handlings = Handlings::default();
    let noted = handlings.clone();
    // What asks to be held did not fail: attempts do not count it.
    let held = move |context: Context| {
        let first = noted.of(&text(&context)).is_empty();
        let _running = noted.begin(&context);
        async move {
            match first {
                true => Settlement::RetryAfter(PAUSE),
                false => Settlement::Ack,
            }
        }
    };
    let serving = env.serve(env.subscriber().handlers(2), handler(held));
    publish(&env, "m", 4).await;
    serving.quiet_after(&env, PATIENCE, 8).await;
    serving.stop().await;
    for one in texts("m", 4) {
        let of_it = handlings.of(&one);
        assert_eq!(of_it.len(), 2, "{of_it:?}");
        assert!(of_it[1].began - of_it[0].began >= PAUSE);
    }
    env.pull_from(&env.served_id(), 0).await;
    if let Some(server) = env.embedded() {
        let gauges = server.gauges();
        // Each was given back once, after its pause.
        assert_eq!((gauges.expired_leases, gauges.redeliveries), (0, 4));
    }
}

async fn bounded(env: Env) {
    const POISONED: usize = 500;
    const HELD: usize = 100;
    const AT_ONCE: Duration = Duration::from_secs(3);
    env.create_served().await;
    let handlings = Handlings::default();
    let noted = handlings.clone();
    let by = move |context: Context| {
        let noted = noted.clone();
        async move {
            match text(&context).starts_with("poison") {
                true => Settlement::RetryAfter(seconds(600)),
                false => {
                    drop(noted.begin(&context));
                    Settlement::Ack
                }
            }
        }
    };
    let options = env.subscriber().handlers(2).max_held(HELD);
    env.put_texts(texts("poison", POISONED));
    let serving = env.serve(options, handler(by));
    let full = || serving.subscription.gauges().held == HELD;
    env.until("as many are held as may be", full).await;
    let (mut most_held, mut most_outstanding) = (0, 0);
    for good in texts("good", 15) {
        let sent = Instant::now();
        env.put_texts([good.clone()]);
        env.sleep(100).await;
        env.until("a good message is handled", || {
            let gauges = serving.subscription.gauges();
            most_held = most_held.max(gauges.held);
            most_outstanding = most_outstanding.max(gauges.outstanding);
            !handlings.of(&good).is_empty()
        })
        .await;
        let took = handlings.of(&good)[0].began - sent;
        assert!(took <= AT_ONCE, "{good} waited {took:?}");
    }
    assert_eq!(most_held, HELD);
    assert!(most_outstanding <= POISONED + 15, "{most_outstanding}");
    handlings.each_once(texts("good", 15));
    serving.stop_within(5).await;
    assert_eq!(env.leased(), 0);
}

async fn goes_back(env: Env) {
    const HELD: usize = 5;
    env.create_served().await;
    let held = |_: Context| async { Settlement::RetryAfter(seconds(60)) };
    let serving = env.serve(env.subscriber().handlers(2), handler(held));
    publish(&env, "m", HELD).await;
    let all = || serving.subscription.gauges().held == HELD;
    env.until("every message is held", all).await;
    let asked = Instant::now();
    serving.stop().await;
    let took = asked.elapsed();
    assert!(took <= seconds(3), "{took:?}");
    assert_eq!(serving.told.unsettled(), []);
    env.pull_from(&env.served_id(), HELD).await;
    if let Some(server) = env.embedded() {
        assert_eq!(server.gauges().expired_leases, 0);
        let calls = env.served_calls();
        let at_once = nacks(&calls);
        assert!(at_once.len() >= HELD && at_once[0].0 - asked <= seconds(1));
    }
}
