//! CPU time of this thread, so that nobody else on its core is in it.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use pubsink_bench::Error;

/// Reads it, and knows what a reading costs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    reading: Duration,
}

/// When something began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark(Duration);

impl Clock {
    pub(crate) fn new() -> Result<Self, Error> {
        const TIMES: u32 = 10_000;
        let start = now()?;
        for _ in 0..TIMES {
            now()?;
        }
        Ok(Self {
            reading: (now()? - start) / TIMES,
        })
    }

    pub(crate) fn mark(self) -> Result<Mark, Error> {
        Ok(Mark(now()?))
    }

    /// The time since, without what it takes to read it.
    pub(crate) fn since(self, mark: Mark) -> Result<Duration, Error> {
        Ok(now()?.saturating_sub(mark.0 + self.reading))
    }
}

fn now() -> Result<Duration, Error> {
    Ok(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)?.into())
}
