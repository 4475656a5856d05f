//! What is recorded of each sink.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use ::metrics::{Counter, Gauge, Histogram};
use pubsink_core::dispatch::{BreakerState, Event};
use pubsink_core::failure::{Class, ErrorClass};
use pubsink_core::text::Text;

use super::class::{CLASSES, NONE, error_index, index};
use super::names;
use super::record::{Series, Writer};

/// The series of every sink. They are those of the configuration: a name that only stands in a
/// journal is not one.
#[derive(Debug)]
pub(super) struct Sinks {
    sinks: Vec<Sink>,
    by_name: BTreeMap<Text, usize>,
}

#[derive(Debug)]
struct Sink {
    /// What is counted of events, in the order of [`Slot`].
    events: [Series<Counter>; EVENTS],
    delivered: Series<Counter>,
    failed: [Series<Counter>; CLASSES.len()],
    stopped: Series<Counter>,
    duration: Series<Histogram>,
    state: Series<Gauge>,
    /// Where its breaker stands.
    stands: AtomicU8,
}

/// States of a breaker, by the number that a gauge shows.
const STATES: [&str; 3] = ["closed", "probing", "open"];

/// Where the counts of each kind of event begin.
struct Slot;

impl Slot {
    const DELIVERED: usize = 0;
    const DEAD: usize = 1;
    const RETRIES: usize = Self::DEAD + ErrorClass::ALL.len();
    const TRANSITIONS: usize = Self::RETRIES + CLASSES.len();
    const CONFIG: usize = Self::TRANSITIONS + STATES.len();
}

const EVENTS: usize = Slot::CONFIG + 1;

/// What was told of each sink in a turn. Empty while nothing was.
pub(super) struct Told(Vec<[u64; EVENTS]>);

/// How an attempt ended, and how long it took.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ended {
    Delivered(Duration),
    Failed(Class, Duration),
    /// Its time was over, or the dispatcher's.
    Stopped,
}

impl Sinks {
    pub(super) fn new<'a>(names: impl IntoIterator<Item = &'a Text>) -> Self {
        let names: Vec<_> = names.into_iter().cloned().collect();
        Self {
            sinks: names.iter().map(|name| Sink::new(name)).collect(),
            by_name: names.into_iter().zip(0..).collect(),
        }
    }

    pub(super) fn index(&self, name: &Text) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    pub(super) fn tally(&self) -> Told {
        Told(Vec::new())
    }

    /// Something is told.
    pub(super) fn told(&self, told: &mut Told, event: &Event) {
        let (name, slot) = match event {
            Event::Settled(settled) => {
                let slot = match &settled.outcome {
                    Ok(_) => Slot::DELIVERED,
                    Err((failure, _)) => Slot::DEAD + error_index(failure.class.error_class()),
                };
                (&settled.row.lane.sink, slot)
            }
            Event::Retry { row, failure, .. } => {
                (&row.lane.sink, Slot::RETRIES + index(failure.class))
            }
            Event::Breaker { sink, state } => (sink, Slot::TRANSITIONS + number(*state)),
            _ => return,
        };
        let Some(sink) = self.index(name) else {
            return;
        };
        if told.0.is_empty() {
            told.0.resize(self.sinks.len(), [0; EVENTS]);
        }
        let counts = &mut told.0[sink];
        counts[slot] += 1;
        match event {
            Event::Settled(settled) => {
                let config = settled.outcome.as_ref().err();
                let config = config.is_some_and(|(failure, _)| failure.class.is_config());
                counts[Slot::CONFIG] += u64::from(config);
            }
            Event::Breaker { state, .. } => {
                let stands = u8::try_from(number(*state)).unwrap_or_default();
                self.sinks[sink].stands.store(stands, Ordering::Relaxed);
            }
            _ => {}
        }
    }

    /// None is left alone any more.
    pub(super) fn ended(&self) {
        for sink in &self.sinks {
            sink.stands.store(0, Ordering::Relaxed);
        }
    }

    /// Records a turn.
    pub(super) fn write(&self, told: &Told, to: &Writer<'_>) {
        for (sink, counts) in self.sinks.iter().zip(&told.0) {
            for (key, count) in sink.events.iter().zip(counts) {
                to.add(key, *count);
            }
        }
        for sink in &self.sinks {
            to.set(&sink.state, sink.stands.load(Ordering::Relaxed).into());
        }
    }

    /// Records an attempt.
    pub(super) fn attempted(&self, sink: usize, ended: Ended, to: &Writer<'_>) {
        let sink = &self.sinks[sink];
        let (key, took) = match ended {
            Ended::Delivered(took) => (&sink.delivered, Some(took)),
            Ended::Failed(class, took) => (&sink.failed[index(class)], Some(took)),
            Ended::Stopped => (&sink.stopped, None),
        };
        to.add(key, 1);
        if let Some(took) = took {
            to.observe(&sink.duration, took.as_secs_f64());
        }
    }
}

impl Sink {
    fn new(name: &str) -> Self {
        let settled = |outcome, class| names::DISPATCH_SETTLED.series([name, outcome, class]);
        let attempts = |outcome, class| names::DISPATCH_ATTEMPTS.series([name, outcome, class]);
        let event = |slot: usize| match slot {
            Slot::DELIVERED => settled("delivered", NONE),
            Slot::DEAD..Slot::RETRIES => {
                settled("dead", ErrorClass::ALL[slot - Slot::DEAD].as_str())
            }
            Slot::RETRIES..Slot::TRANSITIONS => {
                names::DISPATCH_RETRIES.series([name, CLASSES[slot - Slot::RETRIES]])
            }
            Slot::TRANSITIONS..Slot::CONFIG => {
                let state = STATES[slot - Slot::TRANSITIONS];
                names::DISPATCH_BREAKER_TRANSITIONS.series([name, state])
            }
            _ => names::CONFIG_ERRORS.series([name]),
        };
        Self {
            events: std::array::from_fn(event),
            delivered: attempts("delivered", NONE),
            failed: CLASSES.map(|class| attempts("failed", class)),
            stopped: attempts("stopped", "transient"),
            duration: names::DISPATCH_ATTEMPT_DURATION.series([name]),
            state: names::DISPATCH_BREAKER_STATE.series([name]),
            stands: AtomicU8::new(0),
        }
    }
}

/// Where a state stands in [`STATES`].
fn number(state: BreakerState) -> usize {
    match state {
        BreakerState::Closed => 0,
        BreakerState::Probing => 1,
        BreakerState::Open => 2,
    }
}
