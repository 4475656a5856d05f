//! How long a batch waits for company.

use std::time::{Duration, Instant};

/// Decides when a message that came at some instant has to leave.
#[derive(Debug)]
pub(super) struct Linger {
    wait: Duration,
    /// Messages that came up to here were flushed.
    flushed: Option<Instant>,
    /// The publisher is closing: nothing waits any more.
    closing: bool,
}

impl Linger {
    pub(super) fn new(wait: Duration) -> Self {
        Self {
            wait,
            flushed: None,
            closing: false,
        }
    }

    /// What has come by `now` leaves at once.
    pub(super) fn flush(&mut self, now: Instant) {
        self.flushed = Some(now);
    }

    /// Everything leaves at once from here on.
    pub(super) fn close(&mut self) {
        self.closing = true;
    }

    /// When a message that came at `arrival` has to leave.
    pub(super) fn due(&self, arrival: Instant) -> Instant {
        if self.closing || self.flushed.is_some_and(|flushed| arrival <= flushed) {
            return arrival;
        }
        arrival + self.wait
    }
}
