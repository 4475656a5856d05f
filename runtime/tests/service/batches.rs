//! Handling many messages at once.

use std::future::pending;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use proptest::prelude::*;
use pubsink_runtime::core::subscribe::Settlement;
use pubsink_runtime::seam::Runtime as _;
use pubsink_runtime::service::{
    Batch, BuildError, HandlerBuilder, Json, Many, Outcome, Reply, Service, ServiceEvent,
    batch_handler,
};
use tower::timeout::TimeoutLayer;

use crate::broker::{Broker, SUBSCRIPTION, Script};
use crate::support::{Heard, Paused, message, messages, run, serving, sleep, whole};

fn script(handlers: usize) -> Script {
    Script {
        handlers,
        redelivers: false,
        ..Script::default()
    }
}

type Sizes = Arc<Mutex<Vec<usize>>>;

/// Acks all, and keeps how many there were.
fn sizing(sizes: &Sizes) -> HandlerBuilder<Many> {
    let sizes = Arc::clone(sizes);
    batch_handler(move |batch: Batch<Json<u32>>| {
        sizes.lock().unwrap().push(batch.len());
        async {}
    })
}

#[tokio::test(start_paused = true)]
async fn a_batch_leaves_when_it_is_full_or_has_waited() {
    let (broker, sizes) = (Broker::new(script(100), messages(25)), Sizes::default());
    let batches = sizing(&sizes).max(10).linger(Duration::from_secs(3));
    run(serving(&broker, batches)).await;
    assert_eq!(*sizes.lock().unwrap(), [10, 10, 5]);
    let times: Vec<_> = broker.log().into_iter().map(|(at, ..)| whole(at)).collect();
    assert_eq!(
        (times[..20].iter().max(), times[20..].iter().min()),
        (Some(&0), Some(&3))
    );
}

#[tokio::test(start_paused = true)]
async fn a_batch_of_one_does_not_wait() {
    let (broker, sizes) = (Broker::new(script(2), messages(4)), Sizes::default());
    run(serving(
        &broker,
        sizing(&sizes).max(1).linger(Duration::MAX),
    ))
    .await;
    assert_eq!(*sizes.lock().unwrap(), [1; 4]);
    assert_eq!(whole(broker.log().last().unwrap().0), 0);
}

#[tokio::test(start_paused = true)]
async fn each_message_may_be_settled_by_itself_and_the_rest_gets_what_the_handler_returns() {
    let (broker, heard) = (Broker::new(script(10), messages(7)), Heard::default());
    let held = Duration::from_secs(9);
    let mixed = move |batch: Batch<Json<u32>>| async move {
        let mut kept = Vec::new();
        for item in batch {
            assert_eq!(item.context().message_id().as_str(), item.value.to_string());
            match *item.value {
                1 => item.ack(),
                2 => item.discard(),
                3 => item.retry(),
                4 => item.retry_after(held),
                5 => item.fail("no stock"),
                // Let go of.
                6 => {}
                _ => kept.push(item),
            }
        }
        sleep(1.0).await;
        Settlement::Drop
    };
    run(serving(&broker, batch_handler(mixed)).on_event(heard.observer())).await;
    let expected = [
        ("1", Settlement::Ack),
        ("2", Settlement::Drop),
        ("3", Settlement::Retry),
        ("4", Settlement::RetryAfter(held)),
        ("5", Settlement::Retry),
        ("6", Settlement::Drop),
        ("7", Settlement::Drop),
    ];
    for (id, settlement) in expected {
        assert_eq!(broker.settlements(id), [settlement], "{id}");
    }
    // Those that were settled did not wait for the others.
    let at = |id: &str| {
        broker
            .log()
            .into_iter()
            .find(|line| line.1 == id)
            .unwrap()
            .0
    };
    assert!(at("1") < 0.5 && at("5") < 0.5 && at("7") >= 1.0);
    let errors = heard.all(|event| match event {
        ServiceEvent::HandlerFailed { context, error } => {
            Some((context.message_id().to_string(), error.to_string()))
        }
        _ => None,
    });
    assert_eq!(errors, [("5".to_owned(), "no stock".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_never_sinks_its_batch() {
    let poisoned = ["1", "x", "2"].map(|data| message(data, data));
    let (broker, heard, sizes) = (
        Broker::new(script(10), poisoned),
        Heard::default(),
        Sizes::default(),
    );
    run(serving(&broker, sizing(&sizes)).on_event(heard.observer())).await;
    assert_eq!(*sizes.lock().unwrap(), [2]);
    assert_eq!(broker.settlements("x"), [Settlement::Retry]);
    assert_eq!(broker.settlements("1"), [Settlement::Ack]);
    assert_eq!(broker.settlements("2"), [Settlement::Ack]);
    let unread = heard.all(|event| match event {
        ServiceEvent::DecodeFailed { context, .. } => Some(context.message_id().to_string()),
        _ => None,
    });
    assert_eq!(unread, ["x"]);
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_fails_or_panics_is_a_retry_of_what_it_had_not_settled() {
    for panics in [false, true] {
        let (broker, heard) = (Broker::new(script(10), messages(3)), Heard::default());
        let fails = move |batch: Batch<Json<u32>>| async move {
            batch
                .into_iter()
                .find(|item| *item.value == 1)
                .unwrap()
                .ack();
            assert!(!panics, "out of ink");
            Err::<(), _>("no store")
        };
        run(serving(&broker, batch_handler(fails)).on_event(heard.observer())).await;
        assert_eq!(broker.settlements("1"), [Settlement::Ack]);
        assert_eq!(broker.settlements("2"), [Settlement::Retry]);
        assert_eq!(broker.settlements("3"), [Settlement::Retry]);
        let told = heard.all(|event| match event {
            ServiceEvent::HandlerFailed { error, .. } => Some((false, error.to_string())),
            ServiceEvent::Panicked { error, .. } => Some((true, error.to_string())),
            _ => None,
        });
        let said = if panics { "out of ink" } else { "no store" };
        assert_eq!(told, vec![(panics, said.to_owned()); 2]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_that_a_layer_gave_up_while_it_waited_is_not_handled() {
    let script = Script {
        ends: false,
        ..script(10)
    };
    let (broker, sizes) = (Broker::new(script, messages(1)), Sizes::default());
    let late = broker.clone();
    tokio::spawn(async move {
        sleep(4.0).await;
        late.publish(message("2", "2"));
    });
    let batches = sizing(&sizes)
        .linger(Duration::from_secs(5))
        .layer(TimeoutLayer::new(Duration::from_secs(3)));
    let service = serving(&broker, batches).build().unwrap();
    service.run_until(Paused, 1, sleep(8.0)).await;
    assert_eq!(*sizes.lock().unwrap(), [1]);
    assert_eq!(broker.settlements("1"), [Settlement::Retry]);
    assert_eq!(broker.settlements("2"), [Settlement::Ack]);
}

#[tokio::test(start_paused = true)]
async fn a_batch_for_which_nobody_waits_any_more_is_stopped() {
    let broker = Broker::new(script(10), messages(3));
    let (begun, ended) = (
        Arc::new(AtomicUsize::new(0)),
        Arc::new(AtomicBool::new(false)),
    );
    struct Told(Arc<AtomicBool>);
    impl Drop for Told {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let (count, told) = (Arc::clone(&begun), Arc::clone(&ended));
    let hangs = move |batch: Batch<Json<u32>>| {
        count.fetch_add(batch.len(), Ordering::Relaxed);
        let told = Told(Arc::clone(&told));
        async move {
            let _told = told;
            pending::<()>().await;
        }
    };
    let service = serving(&broker, batch_handler(hangs)).build().unwrap();
    let (handle, driver) = service.connect(Paused, 1);
    Paused.spawn(async { drop(driver.await) });
    sleep(1.0).await;
    assert_eq!(
        (begun.load(Ordering::Relaxed), ended.load(Ordering::Relaxed)),
        (3, false)
    );
    let stopped = handle.shutdown(Duration::from_secs(5)).await;
    assert_eq!((stopped.subscriptions[0].abandoned, broker.nacks()), (3, 3));
    sleep(0.1).await;
    assert!(ended.load(Ordering::Relaxed));
}

#[tokio::test(start_paused = true)]
async fn what_is_gathered_goes_when_the_service_stops() {
    let (broker, sizes) = (Broker::new(script(10), messages(3)), Sizes::default());
    let patient = sizing(&sizes).linger(Duration::from_secs(3_600));
    let service = serving(&broker, patient).build().unwrap();
    let stopped = service.run_until(Paused, 1, sleep(1.0)).await;
    assert!(stopped.is_clean(), "{stopped:?}");
    assert_eq!(*sizes.lock().unwrap(), [3]);
    assert_eq!(whole(broker.log().last().unwrap().0), 1);
}

#[tokio::test(start_paused = true)]
async fn batches_are_built_with_sense() {
    let refused = |handler: HandlerBuilder<Many>| {
        let source = Broker::new(Script::default(), []);
        Service::builder()
            .subscription(source, handler)
            .build()
            .unwrap_err()
    };
    let empty = sizing(&Sizes::default()).max(0);
    assert_eq!(refused(empty), BuildError::EmptyBatch(SUBSCRIPTION.into()));
    let replies = batch_handler(|_: Batch<String>| async { Reply::new("x") });
    assert_eq!(
        refused(replies),
        BuildError::BatchReply(SUBSCRIPTION.into())
    );
}

#[tokio::test(start_paused = true)]
async fn one_reply_for_many_messages_is_an_error_of_them() {
    let (broker, heard) = (Broker::new(script(10), messages(2)), Heard::default());
    let sly =
        |_: Batch<String>| async { Outcome::new(Settlement::Ack).with_reply(Reply::new("x")) };
    run(serving(&broker, batch_handler(sly)).on_event(heard.observer())).await;
    assert_eq!(broker.settlements("1"), [Settlement::Retry]);
    let failed =
        heard.all(|event| matches!(event, ServiceEvent::HandlerFailed { .. }).then_some(()));
    assert_eq!(failed.len(), 2);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Whatever each message and the batch come to, every message is settled once, and by its own
    /// word where it had one.
    #[test]
    fn every_message_of_a_batch_is_settled_once(
        words in proptest::collection::vec(0u8..6, 1..40),
        handlers in 1usize..20,
        max in 1usize..12,
        batch_word in 0u8..4,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let messages = words.iter().enumerate().map(|(id, word)| {
                let data = if *word == 5 { "x".to_owned() } else { word.to_string() };
                message(&id.to_string(), data)
            });
            let broker = Broker::new(script(handlers), messages.collect::<Vec<_>>());
            let (heard, sizes) = (Heard::default(), Sizes::default());
            let keep = Arc::clone(&sizes);
            let mixed = move |batch: Batch<Json<u8>>| {
                keep.lock().unwrap().push(batch.len());
                async move {
                    for item in batch {
                        match *item.value {
                            0 => item.ack(),
                            1 => item.retry(),
                            2 => item.discard(),
                            3 => item.fail("no"),
                            _ => drop(item),
                        }
                        sleep(0.01).await;
                    }
                    match batch_word {
                        0 => Ok(Settlement::Ack),
                        1 => Ok(Settlement::Drop),
                        2 => Err("all of them"),
                        _ => panic!("all of them"),
                    }
                }
            };
            let batches = batch_handler(mixed).max(max);
            let stopped = run(serving(&broker, batches).on_event(heard.observer())).await;
            assert!(stopped.is_clean(), "{stopped:?}");
            let left = match batch_word {
                0 => Settlement::Ack,
                1 => Settlement::Drop,
                _ => Settlement::Retry,
            };
            for (id, word) in words.iter().enumerate() {
                let expected = match word {
                    0 => Settlement::Ack,
                    2 => Settlement::Drop,
                    4 => left,
                    _ => Settlement::Retry,
                };
                assert_eq!(broker.settlements(&id.to_string()), [expected], "{id}");
            }
            assert_eq!(heard.handled(), words.len());
            let sizes = sizes.lock().unwrap();
            assert!(sizes.iter().all(|size| (1..=max.min(handlers)).contains(size)));
        });
    }
}
