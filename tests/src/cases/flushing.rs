//! R13: flush, shutdown and drop on every kind of runtime; each in a process of its own.

use std::time::{Duration, Instant};

use futures_channel::oneshot;
use futures_util::future::join_all;
use pubsink_core::publish::Message;
use pubsink_fixtures::faults::{Action, Match, Rule};
use pubsink_runtime::Publisher;

use super::{all_delivered, failed, numbered};
use crate::harness::case::cases;
use crate::harness::env::Env;
use crate::harness::host::Flavor::{CurrentThread, Workers};

cases! {
    Faults, "R13.1 a flush on a runtime of the current thread returns with all stored" => flush_here, .on(CurrentThread), .limit(5), .own_process();
    Faults, "R13.2 a flush in a task of a runtime of one worker returns with all stored" => flush_in_task, .on(Workers(1)), .limit(5), .own_process();
    Faults, "R13.4 a drop inside async code returns at once and sends what was unsent (current thread)" => drop_inside, .on(CurrentThread), .limit(5), .own_process();
    Faults, "R13.4 a drop inside async code returns at once and sends what was unsent (workers)" => drop_inside, .limit(5), .own_process();
    Faults, "R13.4 a drop on a thread without a runtime returns at once and sends what was unsent" => drop_elsewhere, .limit(5), .own_process();
    Faults, "R13.5 a flush covers what was in flight before it" => covers_in_flight, .on(CurrentThread), .limit(5), .own_process();
    Faults, "R13.6 a flush with nothing to do and two flushes at once return" => idle_and_twice, .on(CurrentThread), .limit(5), .own_process();
    Faults, "a flush is dropped without harm, and the next returns" => dropped_flush, .on(CurrentThread), .limit(5), .own_process();
    Faults, "a shutdown's limit holds though the last handle is dropped after it" => limit_survives_drop, .on(CurrentThread), .limit(5), .own_process();
    Faults, "a flush returns when everything failed" => flush_of_failures, .on(CurrentThread), .limit(5), .own_process();
    Faults, "a shutdown returns by its limit though the server never answers" => bounded_shutdown, .on(CurrentThread), .limit(5), .own_process();
}

const LONG: Duration = Duration::from_secs(60);

/// A publisher whose messages leave by a flush alone, and a server that takes 50 ms.
fn lingering(env: &Env) -> Publisher {
    env.server().script([
        Rule::on(Match::publish()).then(Action::proceed().delay(Duration::from_millis(50)))
    ]);
    env.publisher(env.options().batch_linger(LONG))
}

async fn flush_here(env: Env) {
    let publisher = lingering(&env);
    let deliveries: Vec<_> = numbered("m", 10)
        .into_iter()
        .map(|one| publisher.publish(one))
        .collect();
    publisher.flush().await;
    assert_eq!(env.stored().len(), 10);
    all_delivered(&join_all(deliveries).await);
}

async fn flush_in_task(env: Env) {
    let (done, ended) = oneshot::channel();
    let inside = env.clone();
    env.spawn(async move {
        flush_here(inside).await;
        let _ = done.send(());
    });
    ended.await.expect("the task ends well");
}

async fn drop_inside(env: Env) {
    let publisher = lingering(&env);
    let deliveries: Vec<_> = numbered("m", 10)
        .into_iter()
        .map(|one| publisher.publish(one))
        .collect();
    let start = Instant::now();
    drop(publisher);
    assert!(
        start.elapsed() < Duration::from_millis(200),
        "{:?}",
        start.elapsed()
    );
    all_delivered(&join_all(deliveries).await);
    assert_eq!(env.stored().len(), 10);
}

async fn drop_elsewhere(env: Env) {
    let publisher = lingering(&env);
    let thread = std::thread::spawn(move || {
        let deliveries: Vec<_> = numbered("m", 10)
            .into_iter()
            .map(|one| publisher.publish(one))
            .collect();
        let start = Instant::now();
        drop(publisher);
        (deliveries, start.elapsed())
    });
    let (deliveries, took) = thread.join().expect("no panic");
    assert!(took < Duration::from_millis(200), "{took:?}");
    all_delivered(&join_all(deliveries).await);
    assert_eq!(env.stored().len(), 10);
}

async fn covers_in_flight(env: Env) {
    env.server().script([Rule::on(Match::publish())
        .times(1)
        .then(Action::proceed().delay(Duration::from_millis(500)))]);
    let publisher = env.publisher(env.options().batch_linger(Duration::from_millis(1)));
    let first = publisher.publish(Message::new("first"));
    env.until("the first is in flight", || {
        env.server().gauges().max_publishes_in_flight == 1
    })
    .await;
    let second = publisher.publish(Message::new("second"));
    publisher.flush().await;
    assert_eq!(env.stored_text(), ["first", "second"]);
    all_delivered(&[first.await, second.await]);
}

async fn idle_and_twice(env: Env) {
    let publisher = lingering(&env);
    let start = Instant::now();
    publisher.flush().await;
    assert!(
        start.elapsed() < Duration::from_millis(200),
        "{:?}",
        start.elapsed()
    );
    let deliveries: Vec<_> = numbered("m", 10)
        .into_iter()
        .map(|one| publisher.publish(one))
        .collect();
    futures_util::join!(publisher.flush(), publisher.flush());
    assert_eq!(env.stored().len(), 10);
    all_delivered(&join_all(deliveries).await);
}

async fn dropped_flush(env: Env) {
    let publisher = lingering(&env);
    drop(
        numbered("m", 10)
            .into_iter()
            .map(|one| publisher.publish(one))
            .collect::<Vec<_>>(),
    );
    drop(publisher.flush());
    publisher.flush().await;
    assert_eq!(env.stored().len(), 10);
}

async fn bounded_shutdown(env: Env) {
    env.server()
        .script([Rule::on(Match::publish()).then(Action::never_answer())]);
    let publisher = env.publisher(env.options().batch_max_entries(2).batch_max_inflight(2));
    let deliveries: Vec<_> = numbered("m", 10)
        .into_iter()
        .map(|one| publisher.publish(one))
        .collect();
    env.until("requests are in flight", || env.publishes() == 2)
        .await;
    let start = Instant::now();
    publisher.shutdown(Duration::from_millis(500)).await;
    let took = start.elapsed();
    assert!((450..=1_500).contains(&took.as_millis()), "{took:?}");
    let outcomes = join_all(deliveries).await;
    let maybe: Vec<_> = outcomes
        .iter()
        .map(|outcome| failed(outcome).may_have_been_stored)
        .collect();
    // Four were sent, six were not.
    assert_eq!(
        maybe,
        [
            true, true, true, true, false, false, false, false, false, false
        ]
    );
}

async fn limit_survives_drop(env: Env) {
    env.server()
        .script([Rule::on(Match::publish()).then(Action::never_answer())]);
    let publisher = env.publisher(env.options().timeout(LONG));
    let delivery = publisher.publish(Message::new("m"));
    env.until("the request is in flight", || env.publishes() == 1)
        .await;
    let shutdown = publisher.shutdown(Duration::from_millis(300));
    drop(publisher);
    shutdown.await;
    assert!(failed(&delivery.await).may_have_been_stored);
}

async fn flush_of_failures(env: Env) {
    env.server()
        .script([Rule::on(Match::publish()).then(Action::status(500, "no"))]);
    let publisher = env.publisher(env.options().batch_linger(LONG));
    let deliveries: Vec<_> = numbered("m", 10)
        .into_iter()
        .map(|one| publisher.publish(one))
        .collect();
    publisher.flush().await;
    for outcome in join_all(deliveries).await {
        failed(&outcome);
    }
}
