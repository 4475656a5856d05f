//! Pauses that double.

use std::time::Duration;

use crate::retry::{Rng, doubled};

/// `min(max, first * 2^(n-1))` times a factor drawn from 0.5..=1, so that many clients do not come
/// back in the same instant.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pauses {
    pub(super) first: Duration,
    pub(super) max: Duration,
}

impl Pauses {
    /// The pause after the `times`-th failure in a row, from 1.
    pub(super) fn draw(self, times: u32, rng: &mut Rng) -> Duration {
        let whole = self.whole(times).as_micros();
        let whole = u64::try_from(whole).unwrap_or(u64::MAX);
        Duration::from_micros(rng.u64(whole.div_ceil(2)..=whole))
    }

    /// The same, whole.
    pub(super) fn whole(self, times: u32) -> Duration {
        let micros = |pause: Duration| u64::try_from(pause.as_micros()).unwrap_or(u64::MAX);
        Duration::from_micros(doubled(micros(self.first), times, micros(self.max)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_double_to_their_limit_and_are_drawn_from_the_upper_half() {
        let pauses = Pauses {
            first: Duration::from_millis(100),
            max: Duration::from_secs(60),
        };
        let mut rng = Rng::with_seed(1);
        for (times, whole) in [
            (1, 100),
            (2, 200),
            (10, 51_200),
            (11, 60_000),
            (u32::MAX, 60_000),
        ] {
            assert_eq!(pauses.whole(times), Duration::from_millis(whole));
            for _ in 0..100 {
                let drawn = pauses.draw(times, &mut rng);
                assert!(drawn * 2 >= pauses.whole(times) && drawn <= pauses.whole(times));
            }
        }
    }
}
