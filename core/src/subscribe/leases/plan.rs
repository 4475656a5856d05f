//! When one lease is extended, and by how much.

use std::time::{Duration, Instant};

use super::{ID_MAX, LATER, LEAST_PAUSE, LEAST_SECONDS, Lease, Renewal, SOON, Trouble};

/// A lease that ends within this of the last moment it may be kept has all it gets: extensions are
/// whole seconds.
const WHOLE: Duration = Duration::from_secs(1);
/// How much of a lease is left when it is extended although Pub/Sub asked for a pause: a fifth, and
/// at least this.
const MARGIN: Duration = Duration::from_secs(1);

/// What is to be done about a lease that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plan {
    /// Extend it by so many seconds.
    Extend(u16),
    /// Look again then.
    Later(Instant),
    /// It has all it gets.
    Never,
}

impl Lease {
    /// Whether no extension may make it longer.
    pub(super) fn is_final(&self) -> bool {
        self.end + WHOLE >= self.last
    }

    /// When it is extended in the ordinary way: when half of it is left.
    pub(super) fn next(&self) -> Renewal {
        match self.is_final() {
            true => Renewal::Never,
            false => Renewal::Due(before(self.end, self.length / 2)),
        }
    }

    /// What is to be done now that it is due, where leases are extended by `seconds`.
    pub(super) fn plan(&self, now: Instant, seconds: u16, throttled: Option<Instant>) -> Plan {
        if let Some(until) = throttled {
            let at = until.min(before(self.end, self.margin()));
            if at > now {
                return Plan::Later(at);
            }
        }
        let left = self.last.saturating_duration_since(now).as_secs();
        let left = u16::try_from(left).unwrap_or(u16::MAX);
        let seconds = seconds.min(left).max(LEAST_SECONDS);
        if self.receipt {
            return Plan::Extend(seconds);
        }
        if self.is_final() {
            return Plan::Never;
        }
        let length = Duration::from_secs(seconds.into());
        // It was extended by more than is usual now: it has enough.
        if now + length <= self.end {
            return Plan::Later(before(self.end, length / 2));
        }
        Plan::Extend(seconds)
    }

    /// When it is tried again after the extension failed.
    pub(super) fn again(&self, now: Instant, trouble: Trouble) -> Renewal {
        let left = self.end.saturating_duration_since(now);
        let pause = match trouble {
            Trouble::Transient | Trouble::Invalid => SOON.whole(self.tries).min(left / 3),
            Trouble::Id => SOON.whole(self.tries).min(ID_MAX).min(left / 3),
            Trouble::Config => LATER.whole(self.tries).min(left / 3),
            Trouble::Throttled(asked) => {
                let pause = LATER.whole(self.tries).max(asked.unwrap_or_default());
                pause.min(left.saturating_sub(self.margin()).max(left / 3))
            }
        };
        let at = now + pause.max(LEAST_PAUSE);
        match at < self.end {
            true => Renewal::Again(at),
            false => Renewal::Never,
        }
    }

    fn margin(&self) -> Duration {
        (self.length / 5).max(MARGIN)
    }
}

fn before(instant: Instant, by: Duration) -> Instant {
    instant.checked_sub(by).unwrap_or(instant)
}
