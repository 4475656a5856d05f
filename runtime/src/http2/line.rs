//! What is known of one connection beside its protocol: who uses it, and when it was last heard.

use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::origin::Origin;

/// One connection's use. Times are microseconds since it was made, so that they fit an atomic.
pub(super) struct Line {
    pub(super) origin: Origin,
    clock: Box<dyn Fn() -> Instant + Send + Sync>,
    made: Instant,
    streams: AtomicUsize,
    heard: AtomicU64,
    used: AtomicU64,
}

impl Line {
    pub(super) fn new(origin: Origin, clock: impl Fn() -> Instant + Send + Sync + 'static) -> Self {
        Self {
            origin,
            made: clock(),
            clock: Box::new(clock),
            streams: AtomicUsize::new(0),
            heard: AtomicU64::new(0),
            used: AtomicU64::new(0),
        }
    }

    /// Something came from the server.
    pub(super) fn hear(&self) {
        self.heard.store(self.now(), Ordering::Release);
    }

    /// When something last came.
    pub(super) fn heard(&self) -> u64 {
        self.heard.load(Ordering::Acquire)
    }

    pub(super) fn now(&self) -> u64 {
        let since = (self.clock)().saturating_duration_since(self.made);
        u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
    }

    /// How many requests and streams are on it.
    pub(super) fn streams(&self) -> usize {
        self.streams.load(Ordering::Acquire)
    }

    /// One more is on it.
    pub(super) fn take(&self) {
        self.streams.fetch_add(1, Ordering::AcqRel);
    }

    /// One less is.
    pub(super) fn release(&self) {
        self.used.store(self.now(), Ordering::Release);
        self.streams.fetch_sub(1, Ordering::AcqRel);
    }

    /// When it will have been idle for `timeout`, as far as can be told now; none if that is past
    /// or never comes.
    pub(super) fn idle_at(&self, timeout: Duration) -> Idle {
        let since = match self.streams() {
            0 => self.used.load(Ordering::Acquire),
            _ => self.now(),
        };
        match self.made.checked_add(Duration::from_micros(since)) {
            None => Idle::Never,
            Some(since) => match since.checked_add(timeout) {
                None => Idle::Never,
                Some(at) if at <= (self.clock)() => Idle::Now,
                Some(at) => Idle::At(at),
            },
        }
    }
}

/// When a connection will have been idle for too long.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Idle {
    Now,
    At(Instant),
    Never,
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line")
            .field("origin", &self.origin)
            .field("streams", &self.streams())
            .finish_non_exhaustive()
    }
}
