//! What a publisher records.

use std::sync::Arc;
use std::time::Instant;

use ::metrics::{Counter, Gauge, Histogram};
use pubsink_core::failure::{Failure, Outcome};
use pubsink_core::publish::{Gauges, Response};
use pubsink_core::reason::{Ceiling, Reason};
use pubsink_core::wire::Verdict;

use super::class::{ByClass, CLASSES, NONE, index};
use super::names;
use super::record::{Series, float, record};

/// The series of one topic.
#[derive(Debug, Clone)]
pub(crate) struct PublishMetrics(Arc<Keys>);

#[derive(Debug)]
struct Keys {
    delivered: Series<Counter>,
    failed: [Series<Counter>; CLASSES.len()],
    refused: [Series<Counter>; CEILINGS.len()],
    results: [Series<Counter>; RESULTS.len()],
    duration: Series<Histogram>,
    batch_messages: Series<Histogram>,
    batch_bytes: Series<Histogram>,
    queue_messages: Series<Gauge>,
    queue_bytes: Series<Gauge>,
    requests: Series<Gauge>,
    ordering_keys: Series<Gauge>,
    stopped_keys: Series<Gauge>,
}

const CEILINGS: [&str; 3] = ["entries", "bytes", "tenant"];

/// What can come of a request, in the order of [`result`]. The last is what no reply says.
const RESULTS: [&str; 10] = [
    "delivered",
    "refused",
    "too_large",
    "unauthenticated",
    "config",
    "throttled",
    "transport",
    "transient",
    "other",
    "lost",
];

impl PublishMetrics {
    pub(crate) fn new(topic: &str) -> Self {
        Self(Arc::new(Keys {
            delivered: names::PUBLISH_MESSAGES.series([topic, "delivered", NONE]),
            failed: CLASSES.map(|class| names::PUBLISH_MESSAGES.series([topic, "failed", class])),
            refused: CEILINGS.map(|ceiling| names::PUBLISH_REFUSED.series([topic, ceiling])),
            results: RESULTS.map(|result| names::PUBLISH_REQUESTS.series([topic, result])),
            duration: names::PUBLISH_REQUEST_DURATION.series([topic]),
            batch_messages: names::PUBLISH_BATCH_MESSAGES.series([topic]),
            batch_bytes: names::PUBLISH_BATCH_BYTES.series([topic]),
            queue_messages: names::PUBLISH_QUEUE_MESSAGES.series([topic]),
            queue_bytes: names::PUBLISH_QUEUE_BYTES.series([topic]),
            requests: names::PUBLISH_REQUESTS_IN_FLIGHT.series([topic]),
            ordering_keys: names::PUBLISH_ORDERING_KEYS.series([topic]),
            stopped_keys: names::PUBLISH_STOPPED_KEYS.series([topic]),
        }))
    }

    /// A message was not admitted.
    pub(crate) fn refused(&self, failure: &Failure) {
        let key = match &*failure.reason {
            Reason::BatchQueueFull { ceiling, .. } => &self.0.refused[ceiling_index(*ceiling)],
            _ => &self.0.failed[index(failure.class)],
        };
        record(|to| to.add(key, 1));
    }

    /// The machine had its turn.
    pub(crate) fn turn(&self, tally: &PublishTally) {
        let keys = &*self.0;
        record(|to| {
            to.add(&keys.delivered, tally.delivered);
            for (key, count) in keys.failed.iter().zip(tally.failed) {
                to.add(key, count);
            }
            let gauges = &tally.gauges;
            to.set_count(&keys.queue_messages, gauges.messages);
            to.set_count(&keys.queue_bytes, gauges.bytes);
            to.set_count(&keys.requests, gauges.requests);
            to.set_count(&keys.ordering_keys, gauges.ordering_keys);
            to.set_count(&keys.stopped_keys, gauges.stopped_keys);
        });
    }

    /// The publisher has ended, and holds nothing.
    pub(crate) fn ended(&self, tally: &PublishTally) {
        self.turn(&PublishTally {
            gauges: Gauges::default(),
            ..*tally
        });
    }

    /// A request is sent.
    pub(crate) fn sending(
        &self,
        messages: usize,
        bytes: usize,
        now: impl FnOnce() -> Instant,
    ) -> Sending {
        let keys = &self.0;
        record(|to| {
            to.observe(&keys.batch_messages, float(messages));
            to.observe(&keys.batch_bytes, float(bytes));
        });
        Sending {
            keys: Arc::clone(keys),
            started: now(),
            result: RESULTS.len() - 1,
        }
    }
}

/// A request that is being sent. Dropped before it was answered it counts as lost.
#[derive(Debug)]
pub(crate) struct Sending {
    keys: Arc<Keys>,
    started: Instant,
    result: usize,
}

impl Sending {
    pub(crate) fn answered(mut self, now: impl FnOnce() -> Instant, response: &Response) {
        let took = now().saturating_duration_since(self.started);
        record(|to| to.observe(&self.keys.duration, took.as_secs_f64()));
        self.result = result(response.verdict());
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        record(|to| to.add(&self.keys.results[self.result], 1));
    }
}

/// What one turn of the machine came to.
#[derive(Debug, Default)]
pub(crate) struct PublishTally {
    delivered: u64,
    failed: ByClass,
    gauges: Gauges,
}

impl PublishTally {
    /// A message is stored.
    pub(crate) fn stored(&mut self) {
        self.delivered += 1;
    }

    /// A message is settled.
    pub(crate) fn settled(&mut self, outcome: &Outcome) {
        match outcome {
            Ok(_) => self.stored(),
            Err(failure) => self.failed[index(failure.class)] += 1,
        }
    }

    /// What it holds after that.
    pub(crate) fn holds(&mut self, gauges: impl FnOnce() -> Gauges) {
        self.gauges = gauges();
    }
}

fn ceiling_index(ceiling: Ceiling) -> usize {
    match ceiling {
        Ceiling::Entries => 0,
        Ceiling::Bytes => 1,
        Ceiling::Tenant => 2,
    }
}

fn result(verdict: &Verdict) -> usize {
    match verdict {
        Verdict::Delivered(_) => 0,
        Verdict::Refused(_) => 1,
        Verdict::TooLarge(_) => 2,
        Verdict::Unauthenticated(_) => 3,
        Verdict::Config(_) => 4,
        Verdict::Throttled { .. } => 5,
        Verdict::Transient { reason, .. } => match reason {
            Reason::Transport { .. } => 6,
            _ => 7,
        },
        _ => 8,
    }
}
