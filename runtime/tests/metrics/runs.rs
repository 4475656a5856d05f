//! Runs that meet everything, and what they recorded.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join;
use http::{Request, Response};
use metrics::{
    Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit,
    set_global_recorder, with_local_recorder,
};
use pubsink_runtime::connect;
use pubsink_runtime::core::options::PublisherOptions;
use pubsink_runtime::core::publish::Message;
use pubsink_runtime::core::token::Token;
use pubsink_runtime::metrics::{describe, names};
use pubsink_runtime::seam::{SendLimits, Transport, TransportError};

use crate::ledger::Ledger;
use crate::support::{Threads, block_on};
use crate::{dispatching, publishing, streaming, subscribing};

#[test]
fn everything_is_counted_under_the_names_there_are() {
    let ledger = Ledger::default();
    set_global_recorder(ledger.clone()).ok().unwrap();
    describe();
    publishing::every_reply(&ledger);
    publishing::every_ceiling(&ledger);
    publishing::together(&ledger);
    dispatching::every_outcome(&ledger);
    dispatching::every_refusal(&ledger);
    dispatching::every_check_in(&ledger);
    subscribing::every_message(&ledger);
    streaming::every_stream(&ledger);

    let metrics: BTreeMap<_, _> = names::ALL.iter().map(|it| (it.name, it)).collect();
    assert_eq!(metrics.len(), names::ALL.len(), "a name is there twice");
    let mut recorded = BTreeSet::new();
    for series in ledger.series() {
        let metric = metrics[series.name.as_str()];
        recorded.insert(metric.name);
        assert_eq!(series.kind, metric.kind.as_str(), "{}", series.name);
        let labels: Vec<_> = series.labels.iter().map(|(label, _)| label).collect();
        assert_eq!(labels, metric.labels, "{}", series.name);
        for (label, value) in &series.labels {
            assert!(known(label, value), "{}: {label}={value}", series.name);
        }
        // Token, body, key, tenant, source, id, words of a failure: none of it is a label.
        assert!(!format!("{series:?}").contains("planted"), "{series:?}");
    }
    let all: BTreeSet<_> = metrics.keys().copied().collect();
    assert_eq!(recorded, all, "a metric is never recorded");
    for (name, metric) in metrics {
        let described = (metric.unit, metric.help.to_owned());
        assert_eq!(ledger.described(name), Some(described));
        let histogram = metric.kind == pubsink_runtime::metrics::Kind::Histogram;
        assert_eq!(histogram, !metric.buckets.is_empty(), "{name}");
        assert!(metric.buckets.is_sorted(), "{name}");
    }
}

/// The values a label may have.
fn known(label: &str, value: &str) -> bool {
    // What the tasks of the other tests record comes here, too: they have threads of their own.
    let topics = [
        "hooks", "full", "held", "together", "panics", "replies", "ends",
    ];
    let topics = topics.map(|it| format!("projects/p/topics/{it}"));
    let known: &[&str] = match label {
        "topic" => return topics.iter().any(|topic| topic == value),
        "sink" => &["obedient", "flaky", "claiming", "fails"],
        "subscription" => &[
            "projects/p/subscriptions/pulled",
            "projects/p/subscriptions/streamed",
            "projects/p/subscriptions/ends",
        ],
        "settlement" => &["ack", "drop", "retry", "retry_after"],
        "cause" => &["max_lease", "refused", "expired", "closed"],
        "outcome" => &[
            "delivered",
            "failed",
            "dead",
            "stopped",
            "ack",
            "drop",
            "retry",
            "retry_after",
            "abandoned",
        ],
        "class" => &["none", "permanent", "config", "throttled", "transient"],
        "error_class" => &[
            "none",
            "permanent",
            "throttled",
            "transient",
            "retry",
            "decode",
            "reply",
            "panic",
            "lease_lost",
        ],
        "state" => &["closed", "probing", "open"],
        "ceiling" => &["entries", "bytes", "tenant"],
        "call" => &[
            "lanes",
            "replays",
            "enqueue",
            "claim",
            "record",
            "replay",
            "stream",
            "pull",
            "acknowledge",
            "nack",
            "extend",
        ],
        // Each of these is asserted where it is made.
        "result" => {
            return value
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        }
        _ => &[],
    };
    known.contains(&value)
}

/// A recorder that panics whatever it is asked.
struct Panics;

impl Recorder for Panics {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, _: &Key, _: &Metadata<'_>) -> Counter {
        panic!("a recorder that panics")
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        panic!("a recorder that panics")
    }

    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        panic!("a recorder that panics")
    }
}

/// Confirms the one message of a request.
struct Confirms;

impl Transport for Confirms {
    async fn send(
        &self,
        _request: Request<Bytes>,
        _limits: SendLimits,
    ) -> Result<Response<Bytes>, TransportError> {
        // A task of its own thread, which has no recorder unless it is given one.
        with_local_recorder(&Panics, || {
            Ok(Response::new(Bytes::from_static(
                br#"{"messageIds":["1"]}"#,
            )))
        })
    }
}

#[test]
fn a_recorder_that_panics_costs_no_message() {
    let options = PublisherOptions::builder("p", "panics").build().unwrap();
    let (publisher, driver) = connect(options, Threads, Confirms, None::<Token>, 1);
    with_local_recorder(&Panics, || {
        let work = async move {
            publisher.publish(Message::new("")).await.unwrap_err();
            publisher.publish(Message::new("one")).await.unwrap();
            publisher.shutdown(Duration::from_secs(5)).await;
        };
        block_on(join(driver, work));
    });
}
