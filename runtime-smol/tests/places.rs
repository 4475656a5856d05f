//! A publisher works wherever it is run, and every wait ends with where it ran.

#![allow(clippy::unwrap_used, clippy::panic, reason = "they fail the test")]

mod support;

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use futures_util::future::{join, join_all};
use pubsink_fixtures::faults::{Action, Match, Rule};
use pubsink_fixtures::server::Server;
use pubsink_smol::core::publish::Message;
use pubsink_smol::core::reason::TransportKind;
use pubsink_smol::{Publisher, publisher};
use smol::Executor;
use support::{TOPIC, options, publish, run, server, transport, wait_until, within};

#[test]
fn on_the_global_executor() {
    let server = server();
    let publisher = publisher(options(&server)).spawn().unwrap();
    run(round_trip(&server, &publisher));
}

#[test]
fn on_an_executor_of_ones_own() {
    let server = server();
    let executor = Arc::new(Executor::new());
    let publisher = publisher(options(&server)).spawn_on(&executor).unwrap();
    run(executor.run(round_trip(&server, &publisher)));
}

#[test]
fn on_a_static_executor_run_by_another_thread() {
    static EXECUTOR: Executor<'static> = Executor::new();
    thread::spawn(|| smol::block_on(EXECUTOR.run(std::future::pending::<()>())));
    let server = server();
    let publisher = publisher(options(&server)).spawn_on(&EXECUTOR).unwrap();
    run(round_trip(&server, &publisher));
}

#[test]
fn in_a_local_executor() {
    let server = server();
    let (publisher, driver) = publisher(options(&server)).build().unwrap();
    let executor = smol::LocalExecutor::new();
    executor.spawn(driver).detach();
    run(executor.run(round_trip(&server, &publisher)));
}

#[test]
fn in_a_plain_block_on() {
    let server = server();
    let (publisher, driver) = publisher(options(&server)).build().unwrap();
    let work = async {
        round_trip(&server, &publisher).await;
        publisher.shutdown(Duration::from_secs(5)).await;
    };
    futures_executor::block_on(within(join(driver, work)));
    assert!(!publisher.is_alive());
}

/// More than one request, and more than one wait of the timer.
async fn round_trip(server: &Server, publisher: &Publisher) {
    for burst in 0..3 {
        let texts = (0..1_000).map(|n| format!("{burst}:{n}"));
        let deliveries = texts.map(|text| publisher.publish(Message::new(text)));
        for outcome in join_all(deliveries).await {
            outcome.unwrap();
        }
    }
    assert_eq!(server.stored(TOPIC).len(), 3_000);
    assert_eq!(publisher.gauges().messages, 0);
}

#[test]
fn flush_covers_what_is_in_flight() {
    let server = server();
    server.script([Rule::on(Match::publish())
        .nth(1)
        .then(Action::proceed().delay(Duration::from_millis(200)))]);
    let executor = Arc::new(Executor::new());
    let publisher = publisher(options(&server)).spawn_on(&executor).unwrap();
    run(executor.run(async {
        publisher.flush().await;
        let _first = publisher.publish(Message::new("first"));
        wait_until("in flight", || server.gauges().in_flight > 0).await;
        let _second = publisher.publish(Message::new("second"));
        join(publisher.flush(), publisher.flush()).await;
        assert_eq!(server.stored(TOPIC).len(), 2);
    }));
}

#[test]
fn the_last_handle_dropped_inside_a_task_flushes() {
    let server = server();
    let executor = Arc::new(Executor::new());
    run(executor.run(async {
        let publisher = publisher(options(&server)).spawn_on(&executor).unwrap();
        executor
            .spawn(async move {
                let _unread = publisher.publish(Message::new("left behind"));
            })
            .await;
        wait_until("stored", || server.stored(TOPIC).len() == 1).await;
        wait_until("the tasks are gone", || executor.is_empty()).await;
    }));
}

#[test]
fn shutdown_is_bounded() {
    let server = server();
    server.script([Rule::on(Match::publish()).then(Action::never_answer())]);
    let (publisher, driver) = publisher(options(&server)).build().unwrap();
    let work = async {
        let delivery = publisher.publish(Message::new("stuck"));
        wait_until("in flight", || server.gauges().in_flight > 0).await;
        publisher.shutdown(Duration::from_millis(50)).await;
        delivery.await.unwrap_err()
    };
    let ((), failure) = run(join(driver, work));
    assert_eq!(transport(&failure).0, TransportKind::Closed);
    assert!(failure.may_have_been_stored);
}

#[test]
fn an_executor_dropped_settles_everything() {
    let server = server();
    server.script([Rule::on(Match::publish()).then(Action::never_answer())]);
    let executor = Arc::new(Executor::new());
    let publisher = publisher(options(&server)).spawn_on(&executor).unwrap();
    let (flying, waiting) = run(executor.run(async {
        let flying = publisher.publish(Message::new("flying"));
        wait_until("in flight", || server.gauges().in_flight > 0).await;
        (flying, publisher.publish(Message::new("waiting")))
    }));
    drop(executor);
    run(async {
        let flying = flying.await.unwrap_err();
        assert!(flying.may_have_been_stored);
        let waiting = waiting.await.unwrap_err();
        assert!(!waiting.may_have_been_stored);
        publisher.flush().await;
        assert!(!publisher.is_alive());
        let refused = publish(&publisher, "too late").await.unwrap_err();
        assert_eq!(transport(&refused).0, TransportKind::Closed);
    });
}

#[test]
fn a_driver_dropped_settles_everything_and_frees_its_requests() {
    let server = server();
    server.script([Rule::on(Match::publish()).then(Action::never_answer())]);
    let (publisher, mut driver) = publisher(options(&server)).build().unwrap();
    let delivery = publisher.publish(Message::new("flying"));
    run(async {
        let sent = wait_until("in flight", || server.gauges().in_flight > 0);
        futures_util::future::select(&mut driver, Box::pin(sent)).await;
    });
    drop(driver);
    assert!(run(delivery).unwrap_err().may_have_been_stored);
    // The client went with the driver, and its connections with it.
    run(wait_until("hung up", || {
        server.gauges().open_connections == 0
    }));
}

#[test]
fn an_executor_that_is_gone_refuses() {
    let server = server();
    let executor = Arc::new(Executor::new());
    let gone = pubsink_smol::Smol::from(&executor);
    drop(executor);
    let publisher = publisher(options(&server)).spawn_on(gone).unwrap();
    let refused = run(publish(&publisher, "nowhere")).unwrap_err();
    assert_eq!(transport(&refused).0, TransportKind::Closed);
}
