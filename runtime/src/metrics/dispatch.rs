//! What a dispatcher records.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ::metrics::{Counter, Gauge};
use pubsink_core::claim::ClaimError;
use pubsink_core::dispatch::{Accepted, DispatchGauges, DispatchOutput, EnqueueError, Event};
use pubsink_core::failure::Failure;
use pubsink_core::sink::Receipt;
use pubsink_core::text::Text;

use super::names;
use super::record::{Series, record};
use super::sink::{Ended, Sinks};

/// The series of a dispatcher.
#[derive(Debug, Clone)]
pub(crate) struct DispatchMetrics(Arc<Keys>);

#[derive(Debug)]
struct Keys {
    sinks: Sinks,
    enqueued: [Series<Counter>; RESULTS.len()],
    journal: [Series<Counter>; CALLS.len()],
    check_ins: [Series<Counter>; CHECK_INS.len()],
    oldest: Series<Gauge>,
    intake: Series<Gauge>,
    rows: Series<Gauge>,
    bytes: Series<Gauge>,
    attempts: Series<Gauge>,
    unrecorded: Series<Gauge>,
    lanes: Series<Gauge>,
    open_breakers: Series<Gauge>,
}

/// What can become of a hook that is handed over. The refusals are in the order of [`refusal`].
const RESULTS: [&str; 8] = [
    "stored",
    "known",
    "busy",
    "no_sink",
    "unknown_sink",
    "sink_twice",
    "closed",
    "journal",
];

/// The calls of a dispatcher to its journal.
const CALLS: [&str; 6] = ["lanes", "replays", "enqueue", "claim", "record", "replay"];

/// What can become of a check-in. The last is also what was stopped, or lost.
const CHECK_INS: [&str; 6] = [
    "ok",
    "not_found",
    "integrity",
    "invalid_ref",
    "too_large",
    "unavailable",
];

impl DispatchMetrics {
    pub(crate) fn new<'a>(sinks: impl IntoIterator<Item = &'a Text>) -> Self {
        Self(Arc::new(Keys {
            sinks: Sinks::new(sinks),
            enqueued: RESULTS.map(|result| names::DISPATCH_ENQUEUED.series([result])),
            journal: CALLS.map(|call| names::DISPATCH_JOURNAL_ERRORS.series([call])),
            check_ins: CHECK_INS.map(|result| names::CLAIM_CHECK_INS.series([result])),
            oldest: names::DISPATCH_OLDEST_DUE_AGE.series([]),
            intake: names::DISPATCH_INTAKE_HOOKS.series([]),
            rows: names::DISPATCH_CLAIMED_ROWS.series([]),
            bytes: names::DISPATCH_CLAIMED_BYTES.series([]),
            attempts: names::DISPATCH_ATTEMPTS_IN_FLIGHT.series([]),
            unrecorded: names::DISPATCH_UNRECORDED_ROWS.series([]),
            lanes: names::DISPATCH_LANES.series([]),
            open_breakers: names::DISPATCH_OPEN_BREAKERS.series([]),
        }))
    }

    /// A hook was refused at once.
    pub(crate) fn refused(&self, error: &EnqueueError) {
        record(|to| to.add(&self.0.enqueued[refusal(error)], 1));
    }

    /// A call to the journal failed.
    pub(crate) fn journal_failed(&self, what: &str) {
        if let Some(call) = call(what) {
            record(|to| to.add(&self.0.journal[call], 1));
        }
    }

    /// The machine had its turn, and wants these done or told.
    pub(crate) fn turn<T>(&self, tally: &DispatchTally, outputs: &[DispatchOutput<T>]) {
        let keys = &*self.0;
        let mut told = keys.sinks.tally();
        let mut journal = [0; CALLS.len()];
        for output in outputs {
            match output {
                DispatchOutput::Event(Event::Journal { what, .. }) => {
                    if let Some(call) = call(what) {
                        journal[call] += 1;
                    }
                }
                DispatchOutput::Event(event) => keys.sinks.told(&mut told, event),
                _ => {}
            }
        }
        record(|to| {
            let enqueued = keys.enqueued.iter().zip(tally.enqueued);
            for (key, count) in enqueued.chain(keys.journal.iter().zip(journal)) {
                to.add(key, count);
            }
            keys.sinks.write(&told, to);
            let gauges = &tally.gauges;
            to.set(&keys.oldest, tally.oldest.as_secs_f64());
            to.set_count(&keys.intake, gauges.intake);
            to.set_count(&keys.rows, gauges.rows);
            to.set_count(&keys.bytes, gauges.bytes);
            to.set_count(&keys.attempts, gauges.attempts);
            to.set_count(&keys.unrecorded, gauges.unrecorded);
            to.set_count(&keys.lanes, gauges.lanes);
            to.set_count(&keys.open_breakers, gauges.open_breakers);
        });
    }

    /// The dispatcher has ended: it holds nothing, and leaves no sink alone. Its events are told to
    /// nobody, and are not counted either.
    pub(crate) fn ended(&self, tally: &DispatchTally) {
        self.0.sinks.ended();
        let tally = DispatchTally {
            enqueued: tally.enqueued,
            ..DispatchTally::default()
        };
        self.turn::<()>(&tally, &[]);
    }

    /// A body is handed to the claim store.
    pub(crate) fn checking_in(&self) -> CheckingIn {
        CheckingIn {
            keys: Arc::clone(&self.0),
            result: CHECK_INS.len() - 1,
        }
    }

    /// An attempt begins.
    pub(crate) fn attempting(&self, sink: &Text, now: impl FnOnce() -> Instant) -> Attempting {
        Attempting {
            sink: self.0.sinks.index(sink),
            keys: Arc::clone(&self.0),
            started: now(),
            ended: false,
        }
    }
}

/// A check-in under way. Dropped before it was answered it was stopped.
#[derive(Debug)]
pub(crate) struct CheckingIn {
    keys: Arc<Keys>,
    result: usize,
}

impl CheckingIn {
    pub(crate) fn ended(mut self, result: &Result<(), ClaimError>) {
        let result = result
            .as_ref()
            .map_or_else(ClaimError::kind, |()| CHECK_INS[0]);
        if let Some(index) = CHECK_INS.iter().position(|known| *known == result) {
            self.result = index;
        }
    }
}

impl Drop for CheckingIn {
    fn drop(&mut self) {
        record(|to| to.add(&self.keys.check_ins[self.result], 1));
    }
}

/// An attempt under way. Dropped before it was answered it was stopped.
#[derive(Debug)]
pub(crate) struct Attempting {
    keys: Arc<Keys>,
    /// None: the sink is not one of the dispatcher's, and its name may be anybody's.
    sink: Option<usize>,
    started: Instant,
    ended: bool,
}

impl Attempting {
    pub(crate) fn ended(
        mut self,
        now: impl FnOnce() -> Instant,
        outcome: &Result<Receipt, Failure>,
    ) {
        self.ended = true;
        let took = now().saturating_duration_since(self.started);
        self.write(match outcome {
            Ok(_) => Ended::Delivered(took),
            Err(failure) => Ended::Failed(failure.class, took),
        });
    }

    fn write(&self, ended: Ended) {
        if let Some(sink) = self.sink {
            record(|to| self.keys.sinks.attempted(sink, ended, to));
        }
    }
}

impl Drop for Attempting {
    fn drop(&mut self) {
        if !self.ended {
            self.write(Ended::Stopped);
        }
    }
}

/// What one turn of the machine came to, beside what it tells.
#[derive(Debug, Default)]
pub(crate) struct DispatchTally {
    enqueued: [u64; RESULTS.len()],
    gauges: DispatchGauges,
    oldest: Duration,
}

impl DispatchTally {
    /// It is known what became of a hook.
    pub(crate) fn accepted(&mut self, result: &Result<Accepted, EnqueueError>) {
        let index = match result {
            Ok(Accepted::Known(_)) => 1,
            Ok(_) => 0,
            Err(error) => refusal(error),
        };
        self.enqueued[index] += 1;
    }

    /// What it holds after that, and how long the oldest row that is due has waited.
    pub(crate) fn holds(&mut self, holds: impl FnOnce() -> (DispatchGauges, Duration)) {
        (self.gauges, self.oldest) = holds();
    }
}

fn call(what: &str) -> Option<usize> {
    CALLS.iter().position(|call| *call == what)
}

fn refusal(error: &EnqueueError) -> usize {
    match error {
        EnqueueError::Busy { .. } => 2,
        EnqueueError::NoSink => 3,
        EnqueueError::UnknownSink(_) => 4,
        EnqueueError::SinkTwice(_) => 5,
        EnqueueError::Closed => 6,
        // The journal's, and whatever else keeps a hook from being kept.
        _ => 7,
    }
}
