//! How long leases are extended by.

use std::time::Duration;

/// The upper ends of the classes that durations are counted in, in seconds: each a fifth longer
/// than the one before, from the shortest extension that Pub/Sub takes to the longest.
const CLASSES: [u16; 24] = [
    10, 12, 15, 18, 22, 26, 31, 37, 44, 53, 64, 77, 92, 110, 132, 158, 190, 228, 274, 329, 395,
    474, 569, 600,
];

/// After so many durations all counts are halved, so that what handlers used to do fades.
const FADE_AFTER: u32 = 1_000;

/// Follows how long handlers take: the 99th of 100 decides how long a lease is extended by.
#[derive(Debug)]
pub(super) struct Extension {
    min: u16,
    max: u16,
    counts: [u32; CLASSES.len()],
    total: u32,
}

impl Extension {
    /// Between `min` and `max`, both rounded up to whole seconds.
    pub(super) fn new(min: Duration, max: Duration) -> Self {
        Self {
            min: seconds(min),
            max: seconds(max),
            counts: [0; CLASSES.len()],
            total: 0,
        }
    }

    /// A handler took so long.
    pub(super) fn record(&mut self, took: Duration) {
        let took = seconds(took);
        let class = CLASSES.partition_point(|end| *end < took);
        self.counts[class.min(CLASSES.len() - 1)] += 1;
        self.total += 1;
        if self.total >= FADE_AFTER {
            for count in &mut self.counts {
                *count /= 2;
            }
            self.total = self.counts.iter().sum();
        }
    }

    /// What a lease is extended by now, in seconds.
    pub(super) fn seconds(&self) -> u16 {
        let most = (self.total * 99).div_ceil(100);
        let mut sum = 0;
        let reached = |count: &u32| {
            sum += count;
            sum >= most
        };
        let class = self.counts.iter().position(reached).unwrap_or_default();
        // Nothing is known at first: then it is the shortest one.
        CLASSES[class].clamp(self.min, self.max)
    }
}

/// Whole seconds, rounded up.
fn seconds(duration: Duration) -> u16 {
    let up = u64::from(duration.subsec_nanos() > 0);
    u16::try_from(duration.as_secs().saturating_add(up)).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: fn(u64) -> Duration = Duration::from_secs;

    fn between(min: u64, max: u64) -> Extension {
        Extension::new(S(min), S(max))
    }

    #[test]
    fn it_begins_with_the_shortest_and_rounds_up() {
        assert_eq!(between(60, 600).seconds(), 60);
        let odd = Extension::new(Duration::from_millis(10_001), S(600));
        assert_eq!(odd.seconds(), 11);
    }

    #[test]
    fn it_follows_the_slowest_but_for_one_in_a_hundred() {
        let mut extension = between(10, 600);
        for _ in 0..99 {
            extension.record(S(1));
        }
        extension.record(S(300));
        assert_eq!(extension.seconds(), 10);
        extension.record(S(300));
        assert_eq!(extension.seconds(), 329);
    }

    #[test]
    fn it_is_at_least_as_long_as_what_it_follows_within_its_limits() {
        for took in 1..=600 {
            let mut extension = between(10, 600);
            extension.record(S(took));
            let seconds = u64::from(extension.seconds());
            assert!(
                seconds >= took && seconds <= (took * 5 / 4).max(10),
                "{took}"
            );
        }
        let mut extension = between(20, 30);
        extension.record(S(9));
        assert_eq!(extension.seconds(), 20);
        extension.record(S(100_000));
        assert_eq!(extension.seconds(), 30);
    }

    #[test]
    fn what_handlers_used_to_do_fades() {
        let mut extension = between(10, 600);
        for _ in 0..10_000 {
            extension.record(S(500));
        }
        assert_eq!(extension.seconds(), 569);
        for _ in 0..10_000 {
            extension.record(S(2));
        }
        assert_eq!(extension.seconds(), 10);
    }

    #[test]
    fn the_classes_ascend() {
        assert!(CLASSES.is_sorted());
        assert_eq!((CLASSES[0], CLASSES[23]), (10, 600));
    }
}
