//! Messages that fail again and again.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pubsink_runtime::core::subscribe::{Backoff, GiveUp, ReceivedMessage, Settlement};
use pubsink_runtime::service::{Context, ServiceEvent, handler};

use crate::broker::{Broker, Script};
use crate::support::{Heard, Paused, message, now, run, serving, sleep};

/// 1, 2 and 4 s, and 4 attempts.
fn backoff() -> Backoff {
    Backoff {
        max_attempts: Some(4),
        ..Backoff::default()
    }
}

type Times = Arc<Mutex<Vec<(String, u32, f64)>>>;

type Picked = Pin<Box<dyn Future<Output = Result<(), &'static str>> + Send>>;

/// Fails the poisoned ones, and keeps when it handled which message as which attempt.
fn picky(times: &Times) -> impl Fn(Context) -> Picked + Send + Sync + 'static + use<> {
    let (times, started) = (Arc::clone(times), now());
    move |context| {
        let (id, since) = (context.message_id().to_string(), now() - started);
        let fails = id.starts_with("poison");
        let handled = (id, context.attempt(), since.as_secs_f64());
        times.lock().unwrap().push(handled);
        Box::pin(async move {
            sleep(0.05).await;
            if fails { Err("poisoned") } else { Ok(()) }
        })
    }
}

fn times_of(times: &Times, id: &str) -> (Vec<u32>, Vec<f64>) {
    let times = times.lock().unwrap();
    let of = times.iter().filter(|(of, ..)| of == id);
    of.map(|(_, attempt, at)| (*attempt, *at)).unzip()
}

/// Two poisoned ones first, then 20 good ones.
fn poisoned() -> Vec<ReceivedMessage> {
    let poisons = ["poison 1", "poison 2"].map(|id| message(id, ""));
    let good = (1..=20).map(|id| message(&format!("good {id}"), ""));
    poisons.into_iter().chain(good).collect()
}

fn is_about(at: f64, expected: f64) -> bool {
    (at - expected).abs() <= 0.3 * expected + 0.2
}

async fn poisoned_messages_back_off(dead_letter_after: Option<u32>) -> (Broker, Times, Heard) {
    let script = Script {
        handlers: 2,
        dead_letter_after,
        ..Script::default()
    };
    let (broker, times, heard) = (
        Broker::new(script, poisoned()),
        Times::default(),
        Heard::default(),
    );
    let service =
        serving(&broker, handler(picky(&times)).retry(backoff())).on_event(heard.observer());
    run(service).await;
    (broker, times, heard)
}

#[tokio::test(start_paused = true)]
async fn poisoned_messages_hold_up_nothing_and_come_back_after_1_2_and_4_s() {
    let (broker, times, heard) = poisoned_messages_back_off(Some(4)).await;
    for id in ["poison 1", "poison 2"] {
        let (attempts, at) = times_of(&times, id);
        assert_eq!(attempts, [1, 2, 3, 4]);
        for (at, expected) in at.iter().zip([0.0, 1.0, 3.0, 7.0]) {
            assert!(is_about(*at, expected), "{at} is not about {expected}");
        }
        assert_eq!(broker.settlements(id).last(), Some(&Settlement::Retry));
    }
    let good = broker
        .log()
        .into_iter()
        .filter(|(_, id, _)| id.starts_with("good"));
    let last = good.map(|(at, ..)| at).fold(0.0, f64::max);
    assert!(last < 2.0, "the last good one was done after {last} s");
    assert!(broker.nacks() <= 8, "{} nacks", broker.nacks());
    let mut dead = broker.dead();
    dead.sort();
    assert_eq!(dead, ["poison 1", "poison 2"]);
    let gave_up = heard.all(|event| match event {
        ServiceEvent::GaveUp {
            context,
            settlement,
        } => Some((context.attempt(), settlement)),
        _ => None,
    });
    assert_eq!(gave_up, [(4, Settlement::Retry); 2]);
}

#[tokio::test(start_paused = true)]
async fn attempts_are_counted_here_where_pubsub_does_not_and_nothing_goes_round_in_a_hot_loop() {
    // Without a dead-letter policy nobody takes it: it never ends by itself.
    let script = Script {
        handlers: 2,
        ..Script::default()
    };
    let (broker, times) = (
        Broker::new(script, [message("poison", "")]),
        Times::default(),
    );
    let service = serving(&broker, handler(picky(&times)).retry(backoff()));
    let service = service.build().unwrap();
    service.run_until(Paused, 1, sleep(200.0)).await;
    let (attempts, at) = times_of(&times, "poison");
    // The fifth at once, and from then on one a minute.
    assert_eq!(attempts, [1, 2, 3, 4, 5, 6, 7, 8]);
    assert!(is_about(at[4], 7.0) && is_about(at[7], 187.0), "{at:?}");
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_given_up_may_be_dropped_which_is_told() {
    let (broker, heard) = (
        Broker::new(Script::default(), [message("1", "")]),
        Heard::default(),
    );
    let fails = || async { Err::<(), _>("no") };
    let dropping = handler(fails).retry(Backoff {
        give_up: GiveUp::Drop,
        max_attempts: Some(2),
        jitter_percent: 0,
        ..Backoff::default()
    });
    run(serving(&broker, dropping).on_event(heard.observer())).await;
    let second = Duration::from_secs(1);
    let expected = [Settlement::RetryAfter(second), Settlement::Drop];
    assert_eq!(broker.settlements("1"), expected);
    let gave_up = heard.all(|event| match event {
        ServiceEvent::GaveUp { settlement, .. } => Some(settlement),
        _ => None,
    });
    assert_eq!(gave_up, [Settlement::Drop]);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_succeeds_begins_anew() {
    let script = Script {
        ends: false,
        ..Script::default()
    };
    let (broker, seen) = (Broker::new(script, [message("1", "")]), Times::default());
    let keep = Arc::clone(&seen);
    let third = move |context: Context| {
        let mut seen = keep.lock().unwrap();
        seen.push((String::new(), context.attempt(), 0.0));
        let done = seen.len() >= 3;
        async move {
            if done {
                Settlement::Ack
            } else {
                Settlement::Retry
            }
        }
    };
    let again = broker.clone();
    let stop = async move {
        sleep(1.0).await;
        // Pub/Sub may deliver what was acked once more.
        again.publish(message("1", ""));
        sleep(1.0).await;
    };
    let service = serving(&broker, third).build().unwrap();
    service.run_until(Paused, 1, stop).await;
    assert_eq!(times_of(&seen, "").0, [1, 2, 3, 1]);
}
