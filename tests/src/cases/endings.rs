//! A driver or a whole runtime that goes away: every outcome is known at once.

use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use pubsink_core::failure::{Class, Outcome};
use pubsink_core::publish::Message;
use pubsink_core::reason::{Reason, TransportKind};
use pubsink_fixtures::faults::{Action, Match, Rule};

use super::{all_delivered, failed, numbered};
use crate::harness::case::{BOTH, cases};
use crate::harness::env::Env;
use crate::harness::host::Flavor;
use crate::harness::logs::seen_in_logs;

cases! {
    Faults, "R30.5 a driver that is dropped resolves what is pending, refuses what comes, and says so" => driver_dropped, .publishes(BOTH);
    Faults, "a runtime shut down with messages waiting and in flight resolves every one (workers)" => workers_shut_down, .publishes(BOTH);
    Faults, "a runtime shut down with messages waiting and in flight resolves every one (current thread)" => current_thread_shut_down;
    Faults, "a publisher outlives the runtime it was made on without a panic" => outlives, .publishes(BOTH);
    Faults, "a driver that was never polled settles what it holds when it is dropped" => never_polled;
}

#[track_caller]
fn check_ended(outcome: &Outcome) {
    let failure = failed(outcome);
    assert_eq!(failure.class, Class::Transient, "{failure}");
    assert_eq!(failure.reason.kind(), "transport", "{failure}");
}

async fn driver_dropped(env: Env) {
    let (publisher, driver) = env.host().connect(env.spec(env.options()));
    env.server()
        .script([Rule::on(Match::publish()).then(Action::never_answer())]);
    let flushed = publisher.flush();
    let mut driver = Box::pin(driver);
    let mut pending: Vec<_> = numbered("m", 10)
        .into_iter()
        .map(|one| publisher.publish(one))
        .collect();
    // Runs until the batch is in flight.
    let in_flight = Box::pin(env.until("the batch is in flight", || env.publishes() == 1));
    let driver_left = match futures_util::future::select(in_flight, &mut driver).await {
        futures_util::future::Either::Left(_) => true,
        futures_util::future::Either::Right(_) => false,
    };
    assert!(driver_left, "the driver runs on");
    flushed.await;
    pending.extend(
        numbered("waiting", 5)
            .into_iter()
            .map(|one| publisher.publish(one)),
    );
    let flush = publisher.flush();
    assert!(publisher.is_alive());
    drop(driver);
    assert!(!publisher.is_alive());
    for (number, delivery) in pending.into_iter().enumerate() {
        let outcome = delivery.now_or_never().expect("it is settled already");
        check_ended(&outcome);
        assert_eq!(failed(&outcome).may_have_been_stored, number < 10);
    }
    assert_eq!(flush.now_or_never(), Some(()));
    let late = publisher
        .publish(Message::new("late"))
        .now_or_never()
        .expect("it is refused at once");
    check_ended(&late);
    assert!(matches!(
        *failed(&late).reason,
        Reason::Transport {
            transport: TransportKind::Closed,
            ..
        }
    ));
    assert_eq!(publisher.gauges().messages, 0);
    let (_, warned) = seen_in_logs("before all messages were settled");
    assert!(!warned.is_empty(), "a loss is logged");
}

async fn workers_shut_down(env: Env) {
    shut_down(env, Flavor::Workers(2)).await;
}

async fn current_thread_shut_down(env: Env) {
    shut_down(env, Flavor::CurrentThread).await;
}

async fn shut_down(env: Env, flavor: Flavor) {
    env.server()
        .script([Rule::on(Match::publish()).then(Action::never_answer())]);
    let options = env
        .options()
        .batch_max_entries(10)
        .batch_max_inflight(2)
        .timeout(Duration::from_secs(60));
    let spec = env.spec(options);
    let inside = env.clone();
    // A thread of its own, since a runtime is not run inside another.
    let thread = std::thread::Builder::new()
        .name(std::thread::current().name().unwrap_or_default().to_owned());
    let made = thread.spawn(move || {
        let runtime = inside.other_runtime(flavor);
        let publisher = runtime.host().publisher(spec);
        let deliveries: Vec<_> = numbered("m", 50)
            .into_iter()
            .map(|one| publisher.publish(one))
            .collect();
        let flush = publisher.flush();
        let host = runtime.host();
        runtime.block_on(Box::pin(async {
            while inside.publishes() < 2 {
                host.sleep(Duration::from_millis(5)).await;
            }
        }));
        drop(runtime);
        (publisher, deliveries, flush)
    });
    let (publisher, deliveries, flush) = made.unwrap().join().expect("no panic");
    let outcomes = env
        .within(Duration::from_secs(5), join_all(deliveries))
        .await;
    for outcome in outcomes.expect("no delivery hangs") {
        check_ended(&outcome);
    }
    assert!(env.within(Duration::from_secs(5), flush).await.is_some());
    check_ended(&publisher.publish(Message::new("late")).await);
    publisher.flush().await;
    publisher.shutdown(Duration::from_secs(60)).await;
    assert!(!publisher.is_alive());
}

async fn outlives(env: Env) {
    let spec = env.spec(env.options());
    let inside = env.clone();
    let made = std::thread::spawn(move || {
        let runtime = inside.other_runtime(Flavor::CurrentThread);
        let publisher = runtime.host().publisher(spec);
        // Never run at all: the driver is dropped before its first step.
        let delivery = publisher.publish(Message::new("m"));
        drop(runtime);
        (publisher, delivery)
    });
    let (publisher, delivery) = made.join().expect("no panic");
    check_ended(&delivery.await);
    let clone = publisher.clone();
    drop(publisher);
    check_ended(&clone.publish(Message::new("late")).await);
    drop(clone);
    assert_eq!(env.publishes(), 0);
}

async fn never_polled(env: Env) {
    let (publisher, driver) = env.host().connect(env.spec(env.options()));
    let deliveries: Vec<_> = numbered("m", 10)
        .into_iter()
        .map(|one| publisher.publish(one))
        .collect();
    drop(driver);
    for outcome in join_all(deliveries).await {
        check_ended(&outcome);
        assert!(!failed(&outcome).may_have_been_stored);
    }
    // A driver that is spawned late sends what waited for it.
    let (publisher, driver) = env.host().connect(env.spec(env.options()));
    let deliveries: Vec<_> = numbered("m", 10)
        .into_iter()
        .map(|one| publisher.publish(one))
        .collect();
    env.spawn(driver);
    all_delivered(&join_all(deliveries).await);
    assert_eq!(env.stored().len(), 10);
}
