//! A rate at which lines are taken.

use std::pin::pin;
use std::time::{Duration, Instant};

use pubsink_tokio::seam::{Runtime, Timer as _};

/// How much time in which no line came is made up for: more than a timer is late.
const MADE_UP: Duration = Duration::from_millis(100);

/// At most so many a second.
#[derive(Debug)]
pub(super) struct Pace {
    step: Duration,
    next: Option<Instant>,
}

impl Pace {
    pub(super) fn new(per_second: u32) -> Self {
        Self {
            step: Duration::from_secs(1) / per_second.max(1),
            next: None,
        }
    }

    /// Resolves when the next line may be taken.
    pub(super) async fn due<R: Runtime>(&self, runtime: &R) {
        let Some(next) = self.next else {
            return;
        };
        let mut timer = pin!(runtime.timer());
        while runtime.now() < next {
            timer.as_mut().reset(next);
            timer.as_mut().await;
        }
    }

    /// One was taken.
    pub(super) fn took(&mut self, now: Instant) {
        let earliest = now.checked_sub(MADE_UP).unwrap_or(now);
        let due = self.next.map_or(now, |next| next.max(earliest));
        self.next = due.checked_add(self.step);
    }
}
