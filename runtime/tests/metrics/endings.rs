//! What has ended holds nothing, however it ended: no gauge stays where it was, and no alert with it.

use std::collections::BTreeSet;
use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::{Either, select};
use http::{Request, Response, StatusCode};
use metrics::with_local_recorder;
use pubsink_runtime::core::dispatch::{BreakerPolicy, DispatchOptions};
use pubsink_runtime::core::failure::{Class, Failure};
use pubsink_runtime::core::options::{OrderingOnFailure, PublisherOptions};
use pubsink_runtime::core::publish::Message;
use pubsink_runtime::core::reason::Reason;
use pubsink_runtime::core::subscribe::{SubscriberOptions, Wire};
use pubsink_runtime::core::token::Token;
use pubsink_runtime::dispatch::DispatchBuilder;
use pubsink_runtime::journal::MemoryJournal;
use pubsink_runtime::metrics::{Kind, names};
use pubsink_runtime::seam::{SendLimits, Transport, TransportError};
use pubsink_runtime::subscribe::{self, Client};
use pubsink_runtime::{Driver, connect};
use serde_json::json;

use crate::ledger::Ledger;
use crate::pubsub::Pubsub;
use crate::support::{Scripted, Threads, What, block_on, hook};

#[test]
fn what_has_ended_holds_nothing() {
    let ledger = Ledger::default();
    with_local_recorder(&ledger, || {
        publisher(&ledger);
        dispatcher(&ledger);
        subscription(&ledger);
    });
    let gauges = names::ALL
        .iter()
        .filter(|metric| metric.kind == Kind::Gauge);
    let gauges: BTreeSet<_> = gauges.map(|metric| metric.name).collect();
    let mut seen = BTreeSet::new();
    for series in ledger.series() {
        if let Some(gauge) = gauges.get(series.name.as_str()) {
            let labels: Vec<_> = series.labels.iter().map(|(_, it)| it.as_str()).collect();
            let values = ledger.values(gauge, &labels);
            assert_eq!(values.last(), Some(&0.0), "{gauge}: {values:?}");
            seen.insert(*gauge);
        }
    }
    assert_eq!(seen, gauges);
}

/// Runs `work` beside the driver, which is dropped then.
fn beside(driver: Driver, work: impl Future<Output = ()>) {
    match block_on(select(driver, pin!(work))) {
        Either::Left(_) => panic!("the driver ended by itself"),
        Either::Right(((), driver)) => drop(driver),
    }
}

/// Until all of these gauges stand above zero.
async fn above_zero(ledger: &Ledger, gauges: &[(&str, &[&str])]) {
    let started = Instant::now();
    poll_fn(|cx| {
        let above = |(name, labels): &(&str, &[&str])| {
            ledger
                .values(name, labels)
                .last()
                .is_some_and(|last| *last > 0.0)
        };
        if gauges.iter().all(above) {
            return Poll::Ready(());
        }
        assert!(started.elapsed() < Duration::from_secs(30), "{gauges:?}");
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Refuses what has an ordering key, and never answers to anything else.
struct Refuses;

impl Transport for Refuses {
    async fn send(
        &self,
        request: Request<Bytes>,
        _limits: SendLimits,
    ) -> Result<Response<Bytes>, TransportError> {
        let key = b"orderingKey";
        if !request.body().windows(key.len()).any(|at| at == key) {
            pending::<()>().await;
        }
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = StatusCode::BAD_REQUEST;
        Ok(response)
    }
}

fn publisher(ledger: &Ledger) {
    let options = PublisherOptions::builder("p", "ends")
        .batch_linger(Duration::from_millis(1))
        .ordering_on_failure(OrderingOnFailure::Hold);
    let options = options.build().unwrap();
    let (publisher, driver) = connect(options, Threads, Refuses, None::<Token>, 1);
    beside(driver, async {
        let mut keyed = Message::new("keyed");
        keyed.ordering_key = "k".to_owned();
        publisher.publish(keyed).await.unwrap_err();
        drop(publisher.publish(Message::new("hangs")));
        let topic: &[&str] = &["projects/p/topics/ends"];
        let gauges = [
            ("pubsink_publish_stopped_keys", topic),
            ("pubsink_publish_queue_messages", topic),
            ("pubsink_publish_requests_in_flight", topic),
        ];
        above_zero(ledger, &gauges).await;
    });
    assert_eq!(publisher.gauges().stopped_keys, 1, "it is still known");
}

fn dispatcher(ledger: &Ledger) {
    let sink = Scripted::new(|_, _| {
        let detail = "no".into();
        What::Answer(Err(Failure::new(Class::Transient, Reason::Sink { detail })))
    });
    let options = DispatchOptions {
        breaker: BreakerPolicy {
            failures: 1,
            ..BreakerPolicy::default()
        },
        ..DispatchOptions::default()
    };
    let builder = DispatchBuilder::new(MemoryJournal::default())
        .sink("fails", sink)
        .options(options);
    let (dispatch, driver) = builder.connect(Threads, 1).unwrap();
    beside(driver, async {
        dispatch.enqueue(hook("1")).await.unwrap();
        let gauges: [(_, &[&str]); 3] = [
            ("pubsink_dispatch_breaker_state", &["fails"]),
            ("pubsink_dispatch_open_breakers", &[]),
            ("pubsink_dispatch_lanes", &[]),
        ];
        above_zero(ledger, &gauges).await;
    });
}

fn subscription(ledger: &Ledger) {
    let pubsub = Pubsub::default();
    let message = json!({"ackId": "a", "message": {"messageId": "1", "data": "eA=="}});
    pubsub.bring(vec![message]);
    let options = SubscriberOptions::builder("p", "ends").wire(Wire::Rest);
    let options = options.max_outstanding(1).build().unwrap();
    let connected = subscribe::connect(options, Client::rest(pubsub), None::<Token>, Threads, 1);
    let (subscription, driver) = connected.unwrap();
    beside(driver, async {
        let name: &[&str] = &["projects/p/subscriptions/ends"];
        let gauges = [
            ("pubsink_subscribe_outstanding_messages", name),
            ("pubsink_subscribe_outstanding_bytes", name),
            ("pubsink_subscribe_full", name),
        ];
        above_zero(ledger, &gauges).await;
    });
    drop(subscription);
}
