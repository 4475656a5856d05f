//! What a subscription records, and the handlings of its messages.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ::metrics::{Counter, Gauge, Histogram};
use pubsink_core::reason::Reason;
use pubsink_core::subscribe::{
    CallClass, CallFailure, LeaseLost, SettleError, Settlement, SubscribeEvent, SubscribeGauges,
    SubscribeOutput,
};

use super::class::{CLASSES, NONE, index};
use super::names;
use super::record::{Series, record};
use crate::service::{HandlingClass, ReplyError};

/// The series of one subscription.
#[derive(Debug, Clone)]
pub(crate) struct SubscribeMetrics(Arc<Keys>);

#[derive(Debug)]
struct Keys {
    messages: [Series<Counter>; MESSAGES.len()],
    /// What the machine had counted of each of them when they were recorded last.
    counted: [AtomicU64; MESSAGES.len()],
    settled: [[Series<Counter>; SETTLED.len()]; SETTLEMENTS.len()],
    lost: [Series<Counter>; CAUSES.len()],
    requests: [[Series<Counter>; RESULTS.len()]; CALLS.len()],
    messages_out: Series<Gauge>,
    bytes_out: Series<Gauge>,
    handling: Series<Gauge>,
    held: Series<Gauge>,
    unconfirmed: Series<Gauge>,
    oldest: Series<Gauge>,
    full: Series<Gauge>,
}

/// What a message is that comes.
const MESSAGES: [&str; 3] = ["new", "redelivered", "unreadable"];

/// What is said of a message, in the order of [`settlement_index`].
const SETTLEMENTS: [&str; 4] = ["ack", "drop", "retry", "retry_after"];

/// What becomes of that, in the order of [`settled_index`].
const SETTLED: [&str; 5] = [
    "ok",
    "lease_lost",
    "unconfirmed",
    "retry_too_late",
    "closed",
];

/// How a lease is lost, in the order of [`cause_index`].
const CAUSES: [&str; 4] = ["max_lease", "refused", "expired", "closed"];

/// What Pub/Sub is asked for, in the order of [`Asked`].
const CALLS: [&str; 5] = ["stream", "pull", "acknowledge", "nack", "extend"];

/// What can come of that, in the order of [`result_index`]. The last is what no answer says.
const RESULTS: [&str; 10] = [
    "ok",
    "no_token",
    "transport",
    "transient",
    "throttled",
    "unauthenticated",
    "config",
    "per_id",
    "invalid",
    "lost",
];

/// How a handling fails.
const FAILURES: [HandlingClass; 5] = [
    HandlingClass::Retry,
    HandlingClass::Decode,
    HandlingClass::Reply,
    HandlingClass::Panic,
    HandlingClass::LeaseLost,
];

/// What Pub/Sub is asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Asked {
    Stream,
    Pull,
    Acknowledge,
    Nack,
    Extend,
}

impl SubscribeMetrics {
    pub(crate) fn new(name: &str) -> Self {
        let settled = |settlement| {
            SETTLED.map(|result| names::SUBSCRIBE_SETTLED.series([name, settlement, result]))
        };
        let requests =
            |call| RESULTS.map(|result| names::SUBSCRIBE_REQUESTS.series([name, call, result]));
        Self(Arc::new(Keys {
            messages: MESSAGES.map(|result| names::SUBSCRIBE_MESSAGES.series([name, result])),
            counted: Default::default(),
            settled: SETTLEMENTS.map(settled),
            lost: CAUSES.map(|cause| names::SUBSCRIBE_LEASES_LOST.series([name, cause])),
            requests: CALLS.map(requests),
            messages_out: names::SUBSCRIBE_OUTSTANDING_MESSAGES.series([name]),
            bytes_out: names::SUBSCRIBE_OUTSTANDING_BYTES.series([name]),
            handling: names::SUBSCRIBE_HANDLING_MESSAGES.series([name]),
            held: names::SUBSCRIBE_HELD_MESSAGES.series([name]),
            unconfirmed: names::SUBSCRIBE_UNCONFIRMED_MESSAGES.series([name]),
            oldest: names::SUBSCRIBE_OLDEST_MESSAGE_AGE.series([name]),
            full: names::SUBSCRIBE_FULL.series([name]),
        }))
    }

    /// The machine had its turn, and wants these done or told.
    pub(crate) fn turn<'a>(
        &self,
        tally: &SubscribeTally,
        outputs: impl Iterator<Item = &'a SubscribeOutput>,
    ) {
        let keys = &*self.0;
        let mut settled = [[0; SETTLED.len()]; SETTLEMENTS.len()];
        let mut lost = [0; CAUSES.len()];
        for output in outputs {
            match output {
                SubscribeOutput::Settled {
                    settlement, result, ..
                } => settled[settlement_index(*settlement)][settled_index(result)] += 1,
                SubscribeOutput::LeaseLost { cause, .. }
                | SubscribeOutput::Event(SubscribeEvent::LostWaiting { cause, .. }) => {
                    lost[cause_index(cause)] += 1;
                }
                _ => {}
            }
        }
        let gauges = &tally.gauges;
        let new = gauges.received.saturating_sub(gauges.redelivered);
        let came = [new, gauges.redelivered, gauges.unreadable];
        record(|to| {
            for ((key, counted), count) in keys.messages.iter().zip(&keys.counted).zip(came) {
                let before = counted.swap(count, Ordering::Relaxed);
                to.add(key, count.saturating_sub(before));
            }
            let settled = keys.settled.iter().zip(settled);
            for (key, count) in settled.flat_map(|(keys, counts)| keys.iter().zip(counts)) {
                to.add(key, count);
            }
            for (key, count) in keys.lost.iter().zip(lost) {
                to.add(key, count);
            }
            to.set_count(&keys.messages_out, gauges.outstanding);
            to.set_count(&keys.bytes_out, gauges.outstanding_bytes);
            to.set_count(&keys.handling, gauges.handling);
            to.set_count(&keys.held, gauges.held);
            to.set_count(&keys.unconfirmed, gauges.unconfirmed);
            to.set(&keys.oldest, tally.oldest.as_secs_f64());
            to.set(&keys.full, gauges.full.into());
        });
    }

    /// The subscription has ended, and holds nothing.
    pub(crate) fn ended(&self) {
        self.turn(&SubscribeTally::default(), std::iter::empty());
    }

    /// Pub/Sub is asked for something.
    pub(crate) fn asking(&self, asked: Asked) -> Asking {
        Asking {
            keys: Arc::clone(&self.0),
            asked,
            result: RESULTS.len() - 1,
        }
    }
}

/// A request under way. Dropped before it was answered it counts as lost.
#[derive(Debug)]
pub(crate) struct Asking {
    keys: Arc<Keys>,
    asked: Asked,
    result: usize,
}

impl Asking {
    /// What came of it; no failure is a success.
    pub(crate) fn answered(mut self, failure: Option<&CallFailure>) {
        self.result = failure.map_or(0, result_index);
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        let call = match self.asked {
            Asked::Stream => 0,
            Asked::Pull => 1,
            Asked::Acknowledge => 2,
            Asked::Nack => 3,
            Asked::Extend => 4,
        };
        record(|to| to.add(&self.keys.requests[call][self.result], 1));
    }
}

/// What a subscription holds after a turn of its machine.
#[derive(Debug, Default)]
pub(crate) struct SubscribeTally {
    gauges: SubscribeGauges,
    oldest: Duration,
}

impl SubscribeTally {
    /// What it holds, and how long the oldest of it has been there.
    pub(crate) fn holds(&mut self, holds: impl FnOnce() -> (SubscribeGauges, Duration)) {
        (self.gauges, self.oldest) = holds();
    }
}

/// The series of the handlings of a subscription's messages.
#[derive(Debug)]
pub(crate) struct HandlingMetrics {
    /// Of each settlement, that without a failure and then each failure.
    attempts: [[Series<Counter>; FAILURES.len() + 1]; SETTLEMENTS.len()],
    abandoned: Series<Counter>,
    duration: Series<Histogram>,
    replied: Series<Counter>,
    unreplied: [Series<Counter>; CLASSES.len()],
}

impl HandlingMetrics {
    pub(crate) fn new(name: &str) -> Self {
        let attempts = |outcome, class| names::SUBSCRIBE_ATTEMPTS.series([name, outcome, class]);
        let replies = |outcome, class| names::SUBSCRIBE_REPLIES.series([name, outcome, class]);
        let class = |slot: usize| match slot {
            0 => NONE,
            _ => FAILURES[slot - 1].as_str(),
        };
        Self {
            attempts: SETTLEMENTS
                .map(|settlement| std::array::from_fn(|slot| attempts(settlement, class(slot)))),
            abandoned: attempts("abandoned", NONE),
            duration: names::SUBSCRIBE_ATTEMPT_DURATION.series([name]),
            replied: replies("delivered", NONE),
            unreplied: CLASSES.map(|class| replies("failed", class)),
        }
    }

    /// A handling came to its end.
    pub(crate) fn handled(
        &self,
        settlement: Settlement,
        failed: Option<HandlingClass>,
        took: Duration,
    ) {
        let all = FAILURES.iter();
        let slot = failed.map_or(0, |failed| {
            let index = all.take_while(|class| **class != failed).count();
            index + 1
        });
        let keys = &self.attempts[settlement_index(settlement)];
        record(|to| {
            if let Some(key) = keys.get(slot) {
                to.add(key, 1);
            }
            to.observe(&self.duration, took.as_secs_f64());
        });
    }

    /// A handling was stopped before its end.
    pub(crate) fn abandoned(&self) {
        record(|to| to.add(&self.abandoned, 1));
    }

    /// It is known what became of a reply.
    pub(crate) fn replied(&self, result: &Result<(), ReplyError>) {
        let key = match result {
            Ok(()) => &self.replied,
            Err(ReplyError::Publish(failure)) => &self.unreplied[index(failure.class)],
            Err(ReplyError::NotText { .. }) => &self.unreplied[0],
            Err(ReplyError::NoPublisher) => &self.unreplied[1],
        };
        record(|to| to.add(key, 1));
    }
}

fn settlement_index(settlement: Settlement) -> usize {
    match settlement {
        Settlement::Ack => 0,
        Settlement::Drop => 1,
        Settlement::Retry => 2,
        Settlement::RetryAfter(_) => 3,
    }
}

fn settled_index(result: &Result<(), SettleError>) -> usize {
    match result {
        Ok(()) => 0,
        Err(SettleError::LeaseLost(_)) => 1,
        Err(SettleError::Unconfirmed(_)) => 2,
        Err(SettleError::RetryTooLate { .. }) => 3,
        // Closed, and whatever else keeps it from being known.
        Err(_) => 4,
    }
}

fn cause_index(cause: &LeaseLost) -> usize {
    match cause {
        LeaseLost::MaxLease => 0,
        LeaseLost::Refused(_) => 1,
        LeaseLost::Expired => 2,
        // Closed, and whatever else there may be.
        _ => 3,
    }
}

fn result_index(failure: &CallFailure) -> usize {
    match (&*failure.reason, failure.class) {
        (Reason::NoCredentials { .. }, _) => 1,
        (Reason::Transport { .. }, CallClass::Transient) => 2,
        (_, CallClass::Throttled(_)) => 4,
        (_, CallClass::Unauthenticated) => 5,
        (_, CallClass::Config) => 6,
        (_, CallClass::PerId) => 7,
        (_, CallClass::Invalid) => 8,
        // Transient, and whatever else may pass by itself.
        _ => 3,
    }
}
