//! Connections that could not be accepted, told of now and then.

use std::time::{Duration, Instant};

/// How often they are told of at most: out of file descriptors, they are as many as there are tries.
const TOLD_EVERY: Duration = Duration::from_secs(1);

/// Those that nobody was told of yet.
#[derive(Debug, Default)]
pub(super) struct Failures {
    untold: u64,
    told: Option<Instant>,
}

impl Failures {
    /// One more; how many there were since the last word of them, when it is time for another.
    pub(super) fn failed(&mut self, now: Instant) -> Option<u64> {
        self.untold += 1;
        let early = (self.told).is_some_and(|told| now.duration_since(told) < TOLD_EVERY);
        if early {
            return None;
        }
        self.told = Some(now);
        Some(std::mem::take(&mut self.untold))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_counted_and_told_of_once_a_second() {
        let (mut failures, start) = (Failures::default(), Instant::now());
        let mut told = (0..=150).map(|n| failures.failed(start + Duration::from_millis(20 * n)));
        assert_eq!(told.next(), Some(Some(1)));
        let told: Vec<_> = told.flatten().collect();
        assert_eq!(told, [50, 50, 50]);
    }
}
