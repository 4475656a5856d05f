//! What an operator sets about dispatch.

use std::collections::BTreeMap;
use std::time::Duration;

use super::breaker::BreakerPolicy;
use crate::options::OptionError;
use crate::retry::RetryPolicy;

/// How dispatch goes about its work. Checked when a dispatcher is made of it.
#[derive(Debug, Clone, PartialEq)]
pub struct DispatchOptions {
    /// The most rows that are claimed at once. Default 4,096: what a topic's batcher takes.
    pub window_rows: usize,
    /// The most bytes of them. Default 128 MiB.
    pub window_bytes: usize,
    /// The most rows that one source's queue for one sink may have claimed. Default 1,024: what
    /// a topic's batcher takes of one tenant.
    pub lane_rows: usize,
    /// The most attempts at once. Default 32. Those of batching sinks are not counted: they wait
    /// for company, and the windows bound them. But hooks with an ordering key of a batching sink
    /// that keeps order are counted, since they are sent one to a request. At most so many bodies
    /// are checked in at once, too.
    pub concurrency: usize,
    /// The same for each sink. Default 8.
    pub sink_concurrency: usize,
    /// How long an attempt may take before it has failed, the check-in of a large body included.
    /// Default 30 s.
    pub attempt_timeout: Duration,
    /// When a failed delivery is tried again.
    pub retry: RetryPolicy,
    /// The same for single sources.
    pub source_retry: BTreeMap<String, RetryPolicy>,
    /// When a sink that keeps failing is left alone.
    pub breaker: BreakerPolicy,
    /// What becomes of an ordering key when one of its messages became a dead letter.
    pub on_dead: OnDead,
    /// The most hooks that may be on their way to the journal. Default 4,096.
    pub intake_hooks: usize,
    /// The most bytes of them. Default 128 MiB.
    pub intake_bytes: usize,
}

/// What becomes of an ordering key when one of its messages became a dead letter. Only for sinks
/// that [keep order](super::SinkSpec::ordered).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnDead {
    /// The next message goes: the dead one is skipped.
    #[default]
    Skip,
    /// The key stops until an operator resumes it.
    Stop,
}

impl Default for DispatchOptions {
    fn default() -> Self {
        Self {
            window_rows: 4_096,
            window_bytes: 128 * 1024 * 1024,
            lane_rows: 1_024,
            concurrency: 32,
            sink_concurrency: 8,
            attempt_timeout: Duration::from_secs(30),
            retry: RetryPolicy::default(),
            source_retry: BTreeMap::new(),
            breaker: BreakerPolicy::default(),
            on_dead: OnDead::Skip,
            intake_hooks: 4_096,
            intake_bytes: 128 * 1024 * 1024,
        }
    }
}

impl DispatchOptions {
    /// The retry policy of `source`.
    #[must_use]
    pub fn retry_of(&self, source: &str) -> &RetryPolicy {
        self.source_retry.get(source).unwrap_or(&self.retry)
    }

    pub(super) fn check(&self) -> Result<(), OptionError> {
        for (option, value) in [
            ("window_rows", self.window_rows),
            ("window_bytes", self.window_bytes),
            ("lane_rows", self.lane_rows),
            ("concurrency", self.concurrency),
            ("sink_concurrency", self.sink_concurrency),
            ("breaker.failures", self.breaker.failures as usize),
            ("intake_hooks", self.intake_hooks),
            ("intake_bytes", self.intake_bytes),
        ] {
            if value == 0 {
                return Err(OptionError::new(option, "0", "at least 1"));
            }
        }
        for (option, value) in [
            ("attempt_timeout", self.attempt_timeout),
            ("breaker.open", self.breaker.open),
            ("breaker.max_open", self.breaker.max_open),
        ] {
            if value < Duration::from_millis(1) {
                let value = format!("{} ms", value.as_secs_f64() * 1_000.0);
                return Err(OptionError::new(option, &value, "at least 1 ms"));
            }
        }
        Ok(())
    }
}
