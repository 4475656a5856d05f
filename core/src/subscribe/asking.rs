//! When messages are asked for again after a stream or a pull failed.

use std::time::{Duration, Instant};

use super::failure::{CallClass, CallFailure};
use super::pauses::Pauses;
use crate::retry::Rng;
use crate::token::Token;
use crate::wire::RETRY_AFTER_MAX;

/// The pauses between attempts that bring nothing.
const PAUSES: Pauses = Pauses {
    first: Duration::from_millis(100),
    max: Duration::from_secs(60),
};
/// The longest pause after an attempt that had brought something.
const AT_ONCE: Duration = Duration::from_millis(100);
/// A refusal takes less than this: an attempt that lasted longer had been accepted.
const ACCEPTED_AFTER: Duration = Duration::from_secs(10);

/// An attempt that failed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attempt {
    pub(super) began: Instant,
    /// It had brought something.
    pub(super) brought: bool,
    /// It had a fresh token.
    pub(super) renewed: bool,
}

/// What follows a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Another attempt, after this pause.
    After(Duration),
    /// None: it is the operator's to mend.
    GiveUp,
}

/// Follows the attempts to get messages.
#[derive(Debug)]
pub(super) struct Asking {
    patience: Duration,
    failures: u32,
    not_before: Option<Instant>,
    refused: Option<Token>,
    /// Since when there were nothing but configuration failures.
    config_since: Option<Instant>,
}

impl Asking {
    pub(super) fn new(patience: Duration) -> Self {
        Self {
            patience,
            failures: 0,
            not_before: None,
            refused: None,
            config_since: None,
        }
    }

    /// An attempt brought something.
    pub(super) fn well(&mut self) {
        self.failures = 0;
        self.accepted();
    }

    /// An attempt was not refused.
    pub(super) fn accepted(&mut self) {
        self.config_since = None;
    }

    /// Whether the last attempt failed.
    pub(super) fn is_failing(&self) -> bool {
        self.failures > 0
    }

    /// Until when nothing is asked for.
    pub(super) fn not_before(&self) -> Option<Instant> {
        self.not_before
    }

    pub(super) fn may(&self, now: Instant) -> bool {
        self.not_before.is_none_or(|at| at <= now)
    }

    /// An attempt begins; gives the token that was refused, if a fresh one is wanted.
    pub(super) fn begin(&mut self) -> Option<Token> {
        self.refused.take()
    }

    /// An attempt failed.
    pub(super) fn failed(
        &mut self,
        now: Instant,
        failure: &CallFailure,
        attempt: Attempt,
        rng: &mut Rng,
    ) -> Next {
        if attempt.brought {
            self.failures = 0;
        }
        let pause = match failure.class {
            CallClass::Unauthenticated if !attempt.renewed && failure.refused.is_some() => {
                self.refused = failure.refused.clone();
                Duration::ZERO
            }
            CallClass::Config | CallClass::Unauthenticated | CallClass::Invalid => {
                match self.misconfigured(now, attempt, rng) {
                    Some(pause) => pause,
                    None => return Next::GiveUp,
                }
            }
            CallClass::Throttled(asked) => {
                self.config_since = None;
                let asked = asked.unwrap_or_default().min(RETRY_AFTER_MAX);
                self.next_pause(rng).max(asked)
            }
            CallClass::Transient | CallClass::PerId => {
                self.config_since = None;
                if attempt.brought {
                    AT_ONCE.mul_f64(rng.f64())
                } else {
                    self.next_pause(rng)
                }
            }
        };
        self.not_before = Some(now + pause);
        Next::After(pause)
    }

    fn misconfigured(&mut self, now: Instant, attempt: Attempt, rng: &mut Rng) -> Option<Duration> {
        let accepted = now.saturating_duration_since(attempt.began) >= ACCEPTED_AFTER;
        let since = match self.config_since {
            Some(since) if !accepted => since,
            _ => *self.config_since.insert(now),
        };
        let left = self.patience.saturating_sub(now - since);
        // The last attempt is made when the patience ends, and not long after.
        (!left.is_zero()).then(|| self.next_pause(rng).min(left))
    }

    fn next_pause(&mut self, rng: &mut Rng) -> Duration {
        self.failures = self.failures.saturating_add(1);
        PAUSES.draw(self.failures, rng)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reason::{Reason, TransportKind};

    const S: fn(u64) -> Duration = Duration::from_secs;

    #[expect(clippy::disallowed_methods, reason = "time has to begin somewhere")]
    fn start() -> (Asking, Instant, Rng) {
        (Asking::new(S(60)), Instant::now(), Rng::with_seed(1))
    }

    fn failure(class: CallClass) -> CallFailure {
        let (transport, detail) = (TransportKind::Other, "no".into());
        CallFailure::new(class, Reason::Transport { transport, detail })
    }

    fn attempt(began: Instant) -> Attempt {
        Attempt {
            began,
            brought: false,
            renewed: false,
        }
    }

    #[test]
    fn an_attempt_that_had_brought_something_is_followed_at_once() {
        let (mut asking, now, mut rng) = start();
        let brought = Attempt {
            brought: true,
            ..attempt(now)
        };
        let transient = failure(CallClass::Transient);
        for _ in 0..100 {
            asking.failed(now, &transient, attempt(now), &mut rng);
            let next = asking.failed(now, &transient, brought, &mut rng);
            assert!(matches!(next, Next::After(pause) if pause <= AT_ONCE));
        }
        // The next one without a success has the first pause.
        let next = asking.failed(now, &transient, attempt(now), &mut rng);
        assert!(matches!(next, Next::After(pause) if pause <= PAUSES.first));
        assert!(asking.is_failing() && !asking.may(now));
        assert!(asking.may(now + PAUSES.first));
    }

    #[test]
    fn a_pause_that_is_asked_for_is_granted_for_an_hour_at_most() {
        let (mut asking, now, mut rng) = start();
        for (asked, granted) in [(90, 90), (100_000, 3_600)] {
            let throttled = failure(CallClass::Throttled(Some(S(asked))));
            let next = asking.failed(now, &throttled, attempt(now), &mut rng);
            assert_eq!(next, Next::After(S(granted)));
        }
    }

    #[test]
    fn it_gives_up_after_nothing_but_configuration_failures() {
        let (mut asking, start, mut rng) = start();
        let config = failure(CallClass::Config);
        let (mut now, mut tries) = (start, 0);
        while let Next::After(pause) = asking.failed(now, &config, attempt(now), &mut rng) {
            now += pause;
            tries += 1;
        }
        assert_eq!(now, start + S(60));
        assert!((8..=14).contains(&tries), "{tries}");
    }

    #[test]
    fn anything_else_between_them_begins_its_patience_anew() {
        let (mut asking, now, mut rng) = start();
        let config = failure(CallClass::Config);
        let failed = |asking: &mut Asking, at, began, rng: &mut Rng| {
            asking.failed(at, &config, attempt(began), rng) != Next::GiveUp
        };
        assert!(failed(&mut asking, now, now, &mut rng));
        let at = now + S(50);
        asking.failed(at, &failure(CallClass::Transient), attempt(at), &mut rng);
        let at = now + S(70);
        assert!(failed(&mut asking, at, at, &mut rng));
        // An attempt that lasted was accepted, if without a word.
        let at = now + S(200);
        assert!(failed(&mut asking, at, at - ACCEPTED_AFTER, &mut rng));
        asking.accepted();
        let at = now + S(400);
        assert!(failed(&mut asking, at, at, &mut rng));
        assert!(!failed(&mut asking, at + S(60), at + S(60), &mut rng));
    }

    #[test]
    fn a_refused_token_is_replaced_once() {
        let (mut asking, now, mut rng) = start();
        let mut refused = failure(CallClass::Unauthenticated);
        // Without a token there is nothing to replace.
        let next = asking.failed(now, &refused, attempt(now), &mut rng);
        assert_ne!(next, Next::After(Duration::ZERO));
        refused.refused = Some(Token::new("stale-token").unwrap());
        let next = asking.failed(now, &refused, attempt(now), &mut rng);
        assert_eq!(next, Next::After(Duration::ZERO));
        assert_eq!(asking.begin(), refused.refused);
        let renewed = Attempt {
            renewed: true,
            ..attempt(now)
        };
        let next = asking.failed(now, &refused, renewed, &mut rng);
        assert_ne!(next, Next::After(Duration::ZERO));
        assert_eq!(asking.begin(), None);
    }
}
