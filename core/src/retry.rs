//! When a failed delivery is tried again.

use std::time::Duration;

/// The generator that pauses are drawn from; seed it for the same ones in every run.
pub use fastrand::Rng;

use crate::failure::{Class, Failure};
use crate::wire::RETRY_AFTER_MAX;

/// The first ceiling of a throttle draw.
const THROTTLE_BASE_MS: u64 = 500;
/// The last one.
const THROTTLE_MAX_MS: u64 = 30_000;

/// The pause of a delivery throttled on its `attempt`-th attempt (from 1): full jitter, uniform
/// over `1..=min(30_000, 500 * 2^(attempt-1))` ms, so that throttled messages do not come back in
/// the same instant.
#[doc(alias = "throttle_after")]
pub fn throttle_draw(rng: &mut Rng, attempt: u32) -> Duration {
    let ceiling = doubled(THROTTLE_BASE_MS, attempt, THROTTLE_MAX_MS);
    Duration::from_millis(rng.u64(1..=ceiling))
}

/// How often, and with what pauses, a delivery is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The pause after the first failed attempt. Default 100 ms.
    pub base: Duration,
    /// The longest pause. Default 300 s.
    pub max: Duration,
    /// The most attempts, the first one counted. Default 84.
    pub max_attempts: u32,
    /// The longest pause a service is granted. Default one hour.
    pub max_retry_after: Duration,
    /// How long after its first attempt a delivery may still be tried. The last attempt is at the end
    /// of it, where the pause would be longer. Default 24 h.
    pub max_elapsed: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            base: Duration::from_millis(100),
            max: Duration::from_secs(300),
            max_attempts: 84,
            max_retry_after: RETRY_AFTER_MAX,
            max_elapsed: Duration::from_secs(24 * 3_600),
        }
    }
}

/// What follows a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextStep {
    /// Another attempt, after this pause.
    RetryAfter(Duration),
    /// None: the delivery has failed for good.
    GiveUp,
}

impl RetryPolicy {
    /// What follows when attempt number `attempt` (from 1) failed with `failure`, `elapsed` after
    /// the first one began.
    ///
    /// The pause is `min(max, base * 2^(attempt-1))` times a factor drawn from 0.5..=1.0, or the
    /// pause the service asked for, whichever is longer. Where that goes beyond the end of
    /// [`max_elapsed`](Self::max_elapsed) the last attempt is at the end, unless the service asked for
    /// more than is left: then there is none.
    #[must_use]
    pub fn next_step(
        &self,
        failure: &Failure,
        attempt: u32,
        elapsed: Duration,
        rng: &mut Rng,
    ) -> NextStep {
        let asked = match failure.class {
            Class::Permanent | Class::Config => return NextStep::GiveUp,
            Class::RetryAfter(pause) => pause.min(self.max_retry_after),
            Class::Transient => Duration::ZERO,
        };
        let left = self.max_elapsed.saturating_sub(elapsed);
        if attempt >= self.max_attempts || left.is_zero() || asked > left {
            return NextStep::GiveUp;
        }
        NextStep::RetryAfter(asked.max(self.backoff(attempt, rng)).min(left))
    }

    fn backoff(&self, attempt: u32, rng: &mut Rng) -> Duration {
        let base = u64::try_from(self.base.as_micros()).unwrap_or(u64::MAX);
        let max = u64::try_from(self.max.as_micros()).unwrap_or(u64::MAX);
        let whole = doubled(base, attempt, max);
        Duration::from_micros(rng.u64(whole.div_ceil(2)..=whole))
    }
}

/// `min(max, base * 2^(attempt-1))`, without overflow at any attempt.
pub(crate) fn doubled(base: u64, attempt: u32, max: u64) -> u64 {
    let factor = 1u64
        .checked_shl(attempt.saturating_sub(1))
        .unwrap_or(u64::MAX);
    base.saturating_mul(factor).min(max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reason::Reason;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn failure(class: Class) -> Failure {
        let body = "".into();
        Failure::new(class, Reason::Status { http: 500, body })
    }

    #[test]
    fn a_throttle_draw_stays_in_its_window_at_any_attempt() {
        let mut rng = Rng::with_seed(1);
        for (attempt, ceiling) in [
            (0, 500),
            (1, 500),
            (2, 1_000),
            (6, 16_000),
            (7, 30_000),
            (u32::MAX, 30_000),
        ] {
            let draws: Vec<_> = (0..2_000)
                .map(|_| throttle_draw(&mut rng, attempt))
                .collect();
            assert!(
                draws
                    .iter()
                    .all(|draw| (MS(1)..=MS(ceiling)).contains(draw))
            );
            // It is the whole window, not a part of it.
            assert!(draws.iter().any(|draw| *draw < MS(ceiling / 10)));
            assert!(draws.iter().any(|draw| *draw > MS(ceiling / 10 * 9)));
        }
    }

    #[test]
    fn backoff_doubles_up_to_its_limit_with_jitter_down_to_half() {
        let policy = RetryPolicy::default();
        let mut rng = Rng::with_seed(2);
        for (attempt, whole) in [
            (1, 100),
            (2, 200),
            (11, 102_400),
            (12, 204_800),
            (13, 300_000),
            (83, 300_000),
        ] {
            for _ in 0..200 {
                let step = policy.next_step(&failure(Class::Transient), attempt, MS(0), &mut rng);
                let NextStep::RetryAfter(pause) = step else {
                    panic!("gave up at attempt {attempt}");
                };
                assert!(
                    (MS(whole / 2)..=MS(whole)).contains(&pause),
                    "{attempt}: {pause:?}"
                );
            }
        }
    }

    #[test]
    fn it_gives_up_on_what_cannot_pass_and_at_its_ends() {
        let policy = RetryPolicy::default();
        let mut rng = Rng::with_seed(3);
        let mut step =
            |class, attempt, elapsed| policy.next_step(&failure(class), attempt, elapsed, &mut rng);
        assert_eq!(step(Class::Permanent, 1, MS(0)), NextStep::GiveUp);
        assert_eq!(step(Class::Config, 1, MS(0)), NextStep::GiveUp);
        assert_eq!(step(Class::Transient, 84, MS(0)), NextStep::GiveUp);
        assert_eq!(step(Class::Transient, 1, MS(86_400_000)), NextStep::GiveUp);
        let last = NextStep::RetryAfter(MS(1));
        assert_eq!(step(Class::Transient, 83, MS(86_399_999)), last);
    }

    #[test]
    fn no_attempt_begins_after_the_end_and_the_last_one_begins_at_it() {
        let policy = RetryPolicy {
            max_elapsed: MS(1_000),
            ..RetryPolicy::default()
        };
        let mut rng = Rng::with_seed(5);
        let mut began = vec![MS(0)];
        // Each fails at once.
        while let NextStep::RetryAfter(pause) = policy.next_step(
            &failure(Class::Transient),
            u32::try_from(began.len()).unwrap(),
            began[began.len() - 1],
            &mut rng,
        ) {
            began.push(began[began.len() - 1] + pause);
        }
        assert_eq!(began.last(), Some(&MS(1_000)));
        let mut throttled = |asked| {
            let failure = failure(Class::RetryAfter(MS(asked)));
            policy.next_step(&failure, 1, MS(400), &mut rng)
        };
        assert_eq!(throttled(600), NextStep::RetryAfter(MS(600)));
        assert_eq!(
            throttled(601),
            NextStep::GiveUp,
            "not sooner than it was asked to"
        );
    }

    #[test]
    fn a_pause_the_service_asked_for_is_the_least_and_an_hour_the_most() {
        let policy = RetryPolicy::default();
        let mut rng = Rng::with_seed(4);
        let mut pause = |asked, attempt| {
            policy.next_step(&failure(Class::RetryAfter(asked)), attempt, MS(0), &mut rng)
        };
        assert_eq!(pause(MS(60_000), 1), NextStep::RetryAfter(MS(60_000)));
        assert_eq!(pause(MS(9_000_000), 1), NextStep::RetryAfter(MS(3_600_000)));
        let NextStep::RetryAfter(longer) = pause(MS(1), 12) else {
            panic!("gave up");
        };
        assert!(longer >= MS(102_400));
    }
}
