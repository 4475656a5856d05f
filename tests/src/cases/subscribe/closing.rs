//! R26: a service that is stopped hands back what no handler has, and confirms what its handlers say.
//!
//! 26.6, the command's own end at a signal, is among the command's tests. On a stream the tail that
//! 26.4 is about is met to the instant on simulated time.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use pubsink_core::subscribe::Wire;
use pubsink_fixtures::broker::Status;
use pubsink_fixtures::faults::{Action, Match, Rule};
use pubsink_runtime::service::{Context, HandlerBuilder, handler};

use crate::cases::{all_delivered, numbered, publish_all};
use crate::harness::case::{BOTH, cases};
use crate::harness::env::Env;
use crate::harness::subscribing::{Handlings, PATIENCE, Serving, acks, nacks, texts};

cases! {
    Anything, "subscribe R26.1 what has not begun goes back at once, and acks are confirmed before it has stopped" => in_order, .wires(BOTH), .waits(), .limit(60);
    Anything, "subscribe R26.2 leases are kept while handlers come to their end" => long_end, .wires(BOTH), .waits(), .limit(90);
    Anything, "subscribe R26.3 at the limit what runs goes back" => given_up, .wires(BOTH), .waits(), .limit(60);
    Faults, "subscribe R26.4 what is on its way while it stops goes back" => late, .wires(BOTH), .waits(), .limit(60);
    Faults, "subscribe R26.5 acks that fail while it stops are sent again" => busy, .wires(BOTH), .waits(), .limit(60);
}

fn takes(env: &Env, handlings: &Handlings, milliseconds: u64) -> HandlerBuilder {
    let (noted, place) = (handlings.clone(), env.clone());
    handler(move |context: Context| {
        let (noted, env) = (noted.clone(), place.clone());
        async move {
            let running = noted.begin(&context);
            env.sleep(milliseconds).await;
            drop(running);
        }
    })
}

/// So many messages for two handlers of that many milliseconds, all of them received.
async fn received(env: &Env, count: usize, milliseconds: u64) -> (Serving, Handlings) {
    env.create_served().await;
    let handlings = Handlings::default();
    let by = takes(env, &handlings, milliseconds);
    let serving = env.serve(env.subscriber().handlers(2), by);
    let publisher = env.publisher(env.options());
    all_delivered(&publish_all(&publisher, numbered("m", count)).await);
    env.until("every message has come", || {
        let gauges = serving.subscription.gauges();
        gauges.outstanding == count && handlings.running() == count.min(2)
    })
    .await;
    (serving, handlings)
}

async fn in_order(env: Env) {
    const ANSWER: Duration = Duration::from_millis(300);
    if let Some(server) = env.embedded() {
        let ack = Action::proceed().answer_delay(ANSWER);
        server.script([Rule::on(Match::verb("acknowledge")).then(ack)]);
    }
    let (serving, handlings) = received(&env, 10, 2_000).await;
    let asked = Instant::now();
    serving.stop().await;
    let stopped = Instant::now();

    assert_eq!(handlings.count(), 2);
    assert!(handlings.all().iter().all(|one| one.ended.is_some()));
    assert_eq!(serving.told.unsettled(), []);
    if env.embedded().is_some() {
        let calls = env.served_calls();
        let back = nacks(&calls);
        let soon = back
            .iter()
            .filter(|(at, _)| *at - asked <= Duration::from_millis(500));
        assert!(soon.count() >= 8, "{back:?}");
        let acked = acks(&calls);
        let mut ids: Vec<_> = acked.iter().map(|(_, id)| (*id).to_owned()).collect();
        let mut handled: Vec<_> = handlings.all().into_iter().map(|one| one.ack_id).collect();
        ids.sort();
        handled.sort();
        assert_eq!(ids, handled);
        for (at, _) in acked {
            assert!(
                stopped >= at + ANSWER,
                "it stopped before its acks were answered"
            );
        }
        let asks = |method: &str| method == "Pull" || method == "StreamingPull";
        let late = calls.iter().filter(|call| {
            let opens = call.opening.is_some() || call.method == "Pull";
            asks(call.method) && opens && call.at > asked + Duration::from_millis(100)
        });
        assert_eq!(late.count(), 0);
    }
    all_back(&env, 8).await;
    env.pull_from(&env.served_id(), 0).await;
}

/// So many messages are there for others, at once. Over REST what went back may have been given to a pull
/// of our own that was just dropped: then it is there once that lease is over.
async fn all_back(env: &Env, count: usize) {
    if env.wire() == Wire::Rest && env.embedded().is_none_or(|_| env.leased() > 0) {
        env.sleep(11_000).await;
    }
    env.pull_from(&env.served_id(), count).await;
}

async fn long_end(env: Env) {
    let (serving, handlings) = received(&env, 2, 15_000).await;
    let stopped = serving.stop_within(30).await;
    assert!(stopped.is_clean(), "{stopped:?}");
    handlings.each_once(texts("m", 2));
    assert!(handlings.all().iter().all(|one| one.ended.is_some()));
    env.nothing_came_again();
    env.pull_from(&env.served_id(), 0).await;
}

async fn given_up(env: Env) {
    let (serving, handlings) = received(&env, 2, 60_000).await;
    let asked = Instant::now();
    let stopped = serving.stop_within(1).await;
    let took = asked.elapsed();
    assert!(
        took >= Duration::from_secs(1) && took <= Duration::from_secs(4),
        "{took:?}"
    );
    assert_eq!(stopped.subscriptions[0].abandoned, 2, "{stopped:?}");
    env.until("the handlers are gone", || handlings.running() == 0)
        .await;
    if env.embedded().is_some() {
        let calls = env.served_calls();
        let back: BTreeSet<_> = nacks(&calls).into_iter().map(|(_, id)| id).collect();
        for one in handlings.all() {
            assert!(back.contains(&*one.ack_id), "{one:?}");
        }
        assert_eq!(acks(&calls), []);
    }
    all_back(&env, 2).await;
}

async fn late(env: Env) {
    env.create_served().await;
    // What a pull leases it tells only after a while.
    let pull = Action::proceed().answer_delay(Duration::from_millis(400));
    env.server()
        .script([Rule::on(Match::verb("pull")).then(pull)]);
    let handlings = Handlings::default();
    let serving = env.serve(env.subscriber(), takes(&env, &handlings, 0));
    env.until("it asks for messages", || !env.served_calls().is_empty())
        .await;
    env.put_texts(texts("m", 5));
    env.until("they are leased", || {
        env.leased() == 5 || handlings.count() > 0
    })
    .await;
    serving.stop().await;
    if env.wire() == Wire::Rest {
        assert_eq!(handlings.count(), 0);
    }
    assert_eq!(env.leased(), 0);
    assert_eq!(env.server().gauges().expired_leases, 0);
    let left = 5 - handlings.count();
    env.pull_from(&env.served_id(), left).await;
}

async fn busy(env: Env) {
    let busy = Action::refuse(&Status::unavailable("busy"));
    env.server()
        .script([Rule::on(Match::verb("acknowledge")).times(2).then(busy)]);
    let (serving, handlings) = received(&env, 2, 1_000).await;
    serving.stop().await;
    handlings.each_once(texts("m", 2));
    let calls = env.served_calls();
    let asked = calls.iter().filter(|call| !call.acknowledged.is_empty());
    assert!(asked.count() >= 3);
    assert_eq!(serving.told.unsettled(), []);
    env.nothing_came_again();
    env.until_within(PATIENCE, "nothing is leased", || env.leased() == 0)
        .await;
    env.pull_from(&env.served_id(), 0).await;
}
