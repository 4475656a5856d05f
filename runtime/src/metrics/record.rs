//! Recording.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ::metrics::{Counter, Gauge, Histogram, Key, Level, Metadata, Recorder};

/// What the recorder may filter by.
static METADATA: Metadata<'static> = Metadata::new("pubsink", Level::INFO, Some(module_path!()));

/// How long a series is kept that a recorder gave. Asking each time costs an allocation in some
/// recorders; never asking again would miss one that is installed late, and lose what is counted
/// after a recorder forgot a series that was idle. Recorders forget after minutes.
const KEPT: Duration = Duration::from_secs(5);

/// A series: its key, and what the recorder gave for it last.
pub(super) struct Series<T> {
    key: Key,
    given: Mutex<Option<(Instant, T)>>,
}

impl<T> From<Key> for Series<T> {
    fn from(key: Key) -> Self {
        Self {
            key,
            given: Mutex::new(None),
        }
    }
}

impl<T> fmt::Debug for Series<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.key)
    }
}

impl<T: Clone> Series<T> {
    /// What the recorder gave, or gives now. The recorder is not called under the lock.
    fn at(&self, now: Instant, ask: impl FnOnce(&Key) -> T) -> T {
        if let Some((when, given)) = &*self.given()
            && now.saturating_duration_since(*when) < KEPT
        {
            return given.clone();
        }
        let given = ask(&self.key);
        let before = self.given().replace((now, given.clone()));
        drop(before);
        given
    }

    fn given(&self) -> MutexGuard<'_, Option<(Instant, T)>> {
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Records something.
pub(super) fn record(work: impl FnOnce(&Writer<'_>)) {
    let now = Instant::now();
    let work = || ::metrics::with_recorder(|recorder| work(&Writer { recorder, now }));
    // The recorder is the user's: a message must not fail because it was counted.
    if catch_unwind(AssertUnwindSafe(work)).is_err() {
        tracing::error!("a metrics recorder panicked");
    }
}

/// The recorder.
pub(super) struct Writer<'a> {
    recorder: &'a dyn Recorder,
    now: Instant,
}

impl Writer<'_> {
    /// Adds to a counter, unless it is nothing.
    pub(super) fn add(&self, series: &Series<Counter>, count: u64) {
        if count > 0 {
            let ask = |key: &Key| self.recorder.register_counter(key, &METADATA);
            series.at(self.now, ask).increment(count);
        }
    }

    pub(super) fn set(&self, series: &Series<Gauge>, value: f64) {
        let ask = |key: &Key| self.recorder.register_gauge(key, &METADATA);
        series.at(self.now, ask).set(value);
    }

    pub(super) fn set_count(&self, series: &Series<Gauge>, value: usize) {
        self.set(series, float(value));
    }

    pub(super) fn observe(&self, series: &Series<Histogram>, value: f64) {
        let ask = |key: &Key| self.recorder.register_histogram(key, &METADATA);
        series.at(self.now, ask).record(value);
    }
}

/// A count as recorders take it: exact up to 2^53.
#[expect(clippy::cast_precision_loss, reason = "no count here is that large")]
pub(super) fn float(count: usize) -> f64 {
    count as f64
}
