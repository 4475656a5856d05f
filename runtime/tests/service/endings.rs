//! How services end: by themselves, when they are asked to, and when something is dropped.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use pubsink_runtime::core::reason::Reason;
use pubsink_runtime::core::subscribe::{LeaseLost, SettleError, Settlement};
use pubsink_runtime::seam::Runtime as _;
use pubsink_runtime::service::{Context, Service, ServiceEvent, ServiceHandle, handler};
use pubsink_runtime::subscribe::{Delivery, Source, SourceEnd};

use crate::broker::{Broker, SUBSCRIPTION, Script};
use crate::support::{Heard, Paused, messages, now, run, serving, sleep};

const SECOND: Duration = Duration::from_secs(1);

fn two_at_a_time() -> Script {
    Script {
        handlers: 2,
        ends: false,
        ..Script::default()
    }
}

/// Starts a service whose handlers take so long.
fn start(broker: &Broker, seconds: f64, heard: &Heard) -> ServiceHandle {
    let slow = handler(move || sleep(seconds));
    let service = serving(broker, slow).on_event(heard.observer()).build();
    let (handle, driver) = service.unwrap().connect(Paused, 1);
    Paused.spawn(async { drop(driver.await) });
    handle
}

#[tokio::test(start_paused = true)]
async fn running_handlers_end_and_what_was_not_begun_goes_back_at_once() {
    let (broker, heard) = (Broker::new(two_at_a_time(), messages(10)), Heard::default());
    let handle = start(&broker, 2.0, &heard);
    sleep(0.5).await;
    let stopped = handle.shutdown(30 * SECOND).await;
    assert!(stopped.is_clean(), "{stopped:?}");
    assert_eq!(broker.close_calls(), [(0.5, Some(30.5))]);
    assert_eq!(broker.given_back().len(), 8);
    let log = broker.log();
    assert_eq!(log.len(), 2);
    assert!(
        log.iter()
            .all(|(_, _, settlement)| *settlement == Settlement::Ack)
    );
    assert_eq!(heard.handled(), 2);
    assert!(!handle.is_alive());
    // Whoever asks later hears the same.
    assert_eq!(handle.shutdown(SECOND).await, stopped);
}

#[tokio::test(start_paused = true)]
async fn it_has_not_stopped_before_what_handlers_said_is_confirmed() {
    let script = Script {
        confirms: |_, _| None,
        ..two_at_a_time()
    };
    let (broker, heard) = (Broker::new(script, messages(2)), Heard::default());
    let handle = start(&broker, 1.0, &heard);
    sleep(0.5).await;
    let confirming = broker.clone();
    tokio::spawn(async move {
        sleep(10.0).await;
        confirming.confirm();
    });
    let began = now();
    let stopped = handle.shutdown(30 * SECOND).await;
    assert!((now() - began).as_secs_f64() >= 10.0);
    assert!(stopped.is_clean(), "{stopped:?}");
}

#[tokio::test(start_paused = true)]
async fn handlers_that_take_too_long_are_stopped_and_their_messages_given_back() {
    let (broker, heard) = (Broker::new(two_at_a_time(), messages(2)), Heard::default());
    let handle = start(&broker, 60.0, &heard);
    sleep(0.5).await;
    let began = now();
    let stopped = handle.shutdown(SECOND).await;
    assert!((now() - began).as_secs_f64() <= 2.0);
    let [end] = &stopped.subscriptions[..] else {
        panic!("{stopped:?}");
    };
    assert_eq!((end.abandoned, end.unconfirmed), (2, 0));
    assert_eq!(
        (&end.end, end.subscription.as_str()),
        (&SourceEnd::Closed, SUBSCRIPTION)
    );
    assert!(!stopped.is_clean());
    assert_eq!(broker.nacks(), 2);
    let abandoned =
        heard.all(|event| matches!(event, ServiceEvent::Abandoned { .. }).then_some(()));
    assert_eq!((abandoned.len(), heard.handled()), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn what_is_never_confirmed_is_counted_and_keeps_nobody() {
    let script = Script {
        confirms: |_, _| None,
        ..two_at_a_time()
    };
    let (broker, heard) = (Broker::new(script, messages(2)), Heard::default());
    let handle = start(&broker, 0.1, &heard);
    sleep(0.5).await;
    let began = now();
    let stopped = handle.shutdown(SECOND).await;
    assert!((now() - began).as_secs_f64() <= 2.0);
    let end = &stopped.subscriptions[0];
    assert_eq!((end.abandoned, end.unconfirmed), (0, 2));
    let lost = matches!(&end.end, SourceEnd::Lost(what) if what.contains("in time"));
    assert!(lost, "{stopped:?}");
}

#[tokio::test(start_paused = true)]
async fn a_settlement_that_the_closing_source_gave_up_is_told_and_counted() {
    let script = Script {
        confirms: |_, _| Some(Err(SettleError::Closed)),
        ..Script::default()
    };
    let (broker, heard) = (Broker::new(script, messages(1)), Heard::default());
    let stopped = run(serving(&broker, || async {}).on_event(heard.observer())).await;
    assert_eq!(stopped.subscriptions[0].unconfirmed, 1);
    let failed = heard.all(|event| match event {
        ServiceEvent::SettleFailed {
            settlement, error, ..
        } => Some((settlement, error)),
        _ => None,
    });
    assert_eq!(failed, [(Settlement::Ack, SettleError::Closed)]);
}

#[tokio::test(start_paused = true)]
async fn what_is_stopped_at_the_limit_is_told_before_the_service_has_ended() {
    const MANY: usize = 500;
    let script = || Script {
        handlers: MANY,
        ends: false,
        confirms: |_, _| None,
        ..Script::default()
    };
    for (seconds, abandoned, unconfirmed) in [(0.1, 0, MANY), (60.0, MANY, 0)] {
        let (broker, heard) = (Broker::new(script(), messages(MANY)), Heard::default());
        let service = serving(&broker, handler(move || sleep(seconds)))
            .on_event(heard.observer())
            .shutdown_grace(SECOND)
            .build();
        let stopped = service.unwrap().run_until(Paused, 1, sleep(0.5)).await;
        let told = heard.all(|event| match event {
            ServiceEvent::Abandoned { .. } => Some((1, 0)),
            ServiceEvent::SettleFailed { error, .. } => {
                assert_eq!(error, SettleError::Closed);
                Some((0, 1))
            }
            _ => None,
        });
        let told = told
            .iter()
            .fold((0, 0), |sum, told| (sum.0 + told.0, sum.1 + told.1));
        assert_eq!(told, (abandoned, unconfirmed));
        let end = &stopped.subscriptions[0];
        assert_eq!((end.abandoned, end.unconfirmed), told);
    }
}

#[tokio::test(start_paused = true)]
async fn messages_that_are_held_do_not_hold_up_the_end() {
    let (broker, heard) = (Broker::new(two_at_a_time(), messages(2)), Heard::default());
    let hold = || async { Settlement::RetryAfter(600 * SECOND) };
    let service = serving(&broker, hold).on_event(heard.observer()).build();
    let (handle, driver) = service.unwrap().connect(Paused, 1);
    Paused.spawn(async { drop(driver.await) });
    sleep(0.5).await;
    assert_eq!((broker.out(), broker.nacks()), (0, 0));
    let began = now();
    let stopped = handle.shutdown(30 * SECOND).await;
    assert!((now() - began).as_secs_f64() <= 1.0);
    assert!(stopped.is_clean(), "{stopped:?}");
    assert_eq!(broker.nacks(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_sooner_of_two_limits_counts() {
    let (broker, heard) = (Broker::new(two_at_a_time(), messages(1)), Heard::default());
    let handle = start(&broker, 600.0, &heard);
    sleep(1.0).await;
    let patient = handle.shutdown(100 * SECOND);
    sleep(1.0).await;
    drop(handle.shutdown(200 * SECOND));
    sleep(1.0).await;
    drop(handle.shutdown(2 * SECOND));
    assert_eq!(patient.await.subscriptions[0].abandoned, 1);
    assert_eq!(broker.close_calls(), [(1.0, Some(101.0)), (3.0, Some(5.0))]);
}

#[tokio::test(start_paused = true)]
async fn the_last_handle_stops_it_with_its_grace() {
    let broker = Broker::new(two_at_a_time(), messages(1));
    let service = serving(&broker, || sleep(60.0))
        .shutdown_grace(7 * SECOND)
        .build();
    let (handle, driver) = service.unwrap().connect(Paused, 1);
    drop(handle.clone());
    let running = tokio::spawn(driver);
    sleep(1.0).await;
    drop(handle);
    let stopped = running.await.unwrap();
    assert_eq!(broker.close_calls(), [(1.0, Some(8.0))]);
    assert_eq!(stopped.subscriptions[0].abandoned, 1);
}

#[tokio::test(start_paused = true)]
async fn it_runs_until_it_is_told_to_stop() {
    let broker = Broker::new(two_at_a_time(), messages(1));
    let service = serving(&broker, || sleep(2.0)).build().unwrap();
    let stopped = service.run_until(Paused, 1, sleep(1.0)).await;
    assert!(stopped.is_clean(), "{stopped:?}");
    assert_eq!(broker.settlements("1"), [Settlement::Ack]);
    assert_eq!(broker.close_calls(), [(1.0, Some(31.0))]);
}

#[tokio::test(start_paused = true)]
async fn a_driver_that_is_dropped_gives_back_what_was_in_hand_and_tells_who_waits() {
    let (broker, heard) = (Broker::new(two_at_a_time(), messages(2)), Heard::default());
    let service = serving(&broker, pending::<()>)
        .on_event(heard.observer())
        .build();
    let (handle, driver) = service.unwrap().connect(Paused, 1);
    let running = tokio::spawn(driver);
    sleep(1.0).await;
    let stopping = handle.shutdown(100 * SECOND);
    running.abort();
    let stopped = stopping.await;
    let lost = matches!(&stopped.subscriptions[0].end, SourceEnd::Lost(_));
    assert!(
        lost && stopped.subscriptions[0].abandoned == 2,
        "{stopped:?}"
    );
    sleep(1.0).await;
    assert_eq!((broker.nacks(), broker.out()), (2, 0));
    assert!(!handle.is_alive());
}

#[test]
fn a_runtime_that_shuts_down_settles_everything() {
    let broker = {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let broker = Broker::new(two_at_a_time(), messages(2));
            let service = serving(&broker, pending::<()>).build().unwrap();
            let (handle, driver) = service.connect(Paused, 1);
            tokio::spawn(driver);
            sleep(1.0).await;
            assert_eq!(broker.out(), 2);
            drop(handle);
            broker
        })
    };
    assert_eq!(broker.out(), 0);
    assert_eq!(broker.nacks(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_source_that_gives_up_ends_its_subscription_alone() {
    let reason = Arc::new(Reason::NoCredentials {
        detail: "no".into(),
    });
    let script = Script {
        end: SourceEnd::GaveUp(Arc::clone(&reason)),
        ..Script::default()
    };
    let given_up = Broker::new(script, messages(1));
    let good = Broker::new(two_at_a_time(), messages(3));
    let heard = Heard::default();
    let service = Service::builder()
        .subscription(given_up.clone(), || async {})
        .subscription(good.clone(), || sleep(1.0))
        .on_event(heard.observer())
        .build();
    let stopped = service.unwrap().run_until(Paused, 1, sleep(5.0)).await;
    let ends: Vec<_> = stopped
        .subscriptions
        .iter()
        .map(|end| end.end.clone())
        .collect();
    assert_eq!(ends, [SourceEnd::GaveUp(reason), SourceEnd::Closed]);
    assert_eq!(good.log().len(), 3);
    let told = heard.all(|event| match event {
        ServiceEvent::SourceEnded { end, .. } => Some(end),
        _ => None,
    });
    assert_eq!(told, ends);
}

/// A source that panics when it is asked for the second message.
struct Broken(Broker, bool);

impl Source for Broken {
    fn subscription(&self) -> &str {
        "projects/p/subscriptions/broken"
    }

    async fn next(&mut self) -> Option<Delivery> {
        assert!(!std::mem::replace(&mut self.1, true), "out of messages");
        self.0.next().await
    }

    fn close(&mut self, _deadline: Option<std::time::Instant>) {
        panic!("it is broken");
    }

    async fn closed(&mut self) -> SourceEnd {
        panic!("it is broken")
    }
}

#[tokio::test(start_paused = true)]
async fn a_source_that_panics_is_lost_and_its_handlers_end() {
    let broker = Broker::new(two_at_a_time(), messages(2));
    let broken = Broken(broker.clone(), false);
    let service = Service::builder()
        .subscription(broken, || sleep(1.0))
        .build();
    let stopped = service.unwrap().run(Paused, 1).await;
    let lost =
        matches!(&stopped.subscriptions[0].end, SourceEnd::Lost(what) if what.contains("panicked"));
    assert!(lost, "{stopped:?}");
    assert_eq!(broker.settlements("1"), [Settlement::Ack]);
}

#[tokio::test(start_paused = true)]
async fn a_source_may_break_when_it_is_closed() {
    let broker = Broker::new(two_at_a_time(), []);
    let broken = Broken(broker, false);
    let service = Service::builder().subscription(broken, || async {}).build();
    let stopped = service.unwrap().run_until(Paused, 1, sleep(1.0)).await;
    assert!(
        matches!(&stopped.subscriptions[0].end, SourceEnd::Lost(_)),
        "{stopped:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_handler_hears_that_its_lease_is_lost_and_so_does_the_observer() {
    let script = Script {
        redelivers: false,
        confirms: |_, _| Some(Err(SettleError::LeaseLost("too late".into()))),
        ..Script::default()
    };
    let (broker, heard) = (Broker::new(script, messages(1)), Heard::default());
    let losing = broker.clone();
    tokio::spawn(async move {
        sleep(1.0).await;
        losing.lose(&LeaseLost::MaxLease);
    });
    let count = Arc::new(AtomicUsize::new(0));
    let lost = Arc::clone(&count);
    let watching = move |context: Context| {
        let lost = Arc::clone(&lost);
        async move {
            assert!(!context.lease().is_lost());
            assert_eq!(context.lease().lost().await, LeaseLost::MaxLease);
            lost.fetch_add(1, Ordering::Relaxed);
            sleep(1.0).await;
        }
    };
    run(serving(&broker, watching).on_event(heard.observer())).await;
    assert_eq!(count.load(Ordering::Relaxed), 1);
    let told = heard.all(|event| match event {
        ServiceEvent::LeaseLost { cause, .. } => Some(format!("{cause:?}")),
        ServiceEvent::SettleFailed { error, .. } => Some(error.to_string()),
        _ => None,
    });
    assert_eq!(told, ["MaxLease", "the lease had ended: too late"]);
}
