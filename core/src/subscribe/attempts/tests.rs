//! Tests of what follows a failure.

use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

use super::*;
use crate::failure::MessageId;

const SECOND: Duration = Duration::from_secs(1);

fn message(id: &str, delivery_attempt: Option<u32>) -> ReceivedMessage {
    let id = MessageId::from_utf8(id).unwrap();
    let mut message = ReceivedMessage::new("lease".into(), id, "");
    message.delivery_attempt = delivery_attempt;
    message
}

fn steps(retry: impl Into<Retry>, attempts: std::ops::RangeInclusive<u32>) -> Vec<Settlement> {
    let (retry, mut rng) = (retry.into(), Rng::with_seed(1));
    attempts
        .map(|attempt| retry.after_failure(attempt, &mut rng).settlement)
        .collect()
}

fn plain() -> Backoff {
    Backoff {
        jitter_percent: 0,
        max_attempts: Some(4),
        ..Backoff::default()
    }
}

#[test]
fn a_poisoned_message_is_held_for_1_2_and_4_s_and_then_left_to_the_dead_letter_policy() {
    let held = |seconds: u32| Settlement::RetryAfter(seconds * SECOND);
    let expected = [held(1), held(2), held(4), Settlement::Retry];
    assert_eq!(steps(plain(), 1..=4), expected);
    // Nobody took it: it does not go round as fast as it can.
    assert_eq!(steps(plain(), 5..=6), [held(60), held(60)]);
}

#[test]
fn a_message_that_is_given_up_may_be_dropped() {
    let backoff = Backoff {
        give_up: GiveUp::Drop,
        ..plain()
    };
    let after = Retry::from(backoff).after_failure(4, &mut Rng::with_seed(1));
    assert_eq!((after.settlement, after.gave_up), (Settlement::Drop, true));
    assert_eq!(steps(backoff, 3..=3), [Settlement::RetryAfter(4 * SECOND)]);
    assert_eq!(steps(backoff, 9..=9), [Settlement::Drop]);
}

#[test]
fn a_policy_that_drops_can_be_kept_from_it_and_goes_on_with_its_pauses() {
    let dropping = Backoff {
        give_up: GiveUp::Drop,
        ..plain()
    };
    let kept = match Retry::from(dropping).never_drops() {
        Retry::Backoff(kept) => kept,
        Retry::AtOnce => panic!("it has pauses"),
    };
    let held = |seconds: u32| Settlement::RetryAfter(seconds * SECOND);
    assert_eq!(steps(kept, 3..=5), [held(4), held(8), held(16)]);
    assert_eq!(steps(kept, 1_000..=1_000), [held(60)]);
    // One that nacks leaves the message to the dead-letter policy all the same.
    for retry in [plain().into(), Retry::AtOnce] {
        assert_eq!(retry.never_drops(), retry);
    }
}

#[test]
fn at_once_has_no_pause_and_no_end() {
    assert_eq!(
        steps(Retry::AtOnce, 1_000..=1_001),
        [Settlement::Retry, Settlement::Retry]
    );
    let paused = Retry::AtOnce.never_at_once();
    assert_eq!(paused, Retry::Backoff(Backoff::default()));
    assert_eq!(Retry::from(plain()).never_at_once(), plain().into());
}

#[test]
fn a_service_that_asks_for_a_pause_gets_it_but_no_message_is_held_beyond_its_end() {
    let mut rng = Rng::with_seed(1);
    let mut after = |attempt, least: u32| {
        let after = Retry::from(plain()).after_failure(attempt, &mut rng);
        after.no_sooner_than(least * SECOND).settlement
    };
    assert_eq!(after(1, 30), Settlement::RetryAfter(30 * SECOND));
    assert_eq!(after(3, 1), Settlement::RetryAfter(4 * SECOND));
    assert_eq!(after(4, 30), Settlement::Retry);
    let at_once = Retry::AtOnce.after_failure(1, &mut rng);
    assert_eq!(at_once.no_sooner_than(Duration::ZERO), at_once);
    let paused = at_once.no_sooner_than(SECOND).settlement;
    assert_eq!(paused, Settlement::RetryAfter(SECOND));
}

#[test]
fn what_pubsub_counts_is_not_counted_here() {
    let mut attempts = Attempts::default();
    let counted = message("1", Some(7));
    attempts.failed(&counted);
    assert_eq!((attempts.attempt(&counted), attempts.len()), (7, 0));
    assert_eq!(attempts.attempt(&message("1", Some(0))), 1);
}

#[test]
fn attempts_are_counted_by_message_and_forgotten_once_it_is_done() {
    let mut attempts = Attempts::default();
    let (poison, good) = (message("1", None), message("2", None));
    for attempt in 1..=4 {
        assert_eq!(attempts.attempt(&poison), attempt);
        attempts.failed(&poison);
    }
    assert_eq!(attempts.attempt(&good), 1);
    attempts.forget(&poison);
    assert_eq!(attempts.attempt(&poison), 1);
    assert!(attempts.is_empty());
}

#[test]
fn the_message_whose_failure_is_longest_ago_is_forgotten_first() {
    let mut attempts = Attempts::new(2);
    for id in ["1", "2", "1", "3"] {
        attempts.failed(&message(id, None));
    }
    let attempt = |id| attempts.attempt(&message(id, None));
    assert_eq!((attempt("1"), attempt("2"), attempt("3")), (3, 1, 2));
}

#[test]
fn nothing_is_remembered_without_room() {
    let mut attempts = Attempts::new(0);
    attempts.failed(&message("1", None));
    assert!(attempts.is_empty());
}

proptest! {
    #[test]
    fn a_pause_is_within_its_jitter_and_its_limit(
        base in 0u64..=u64::MAX,
        max in 0u64..=u64::MAX,
        jitter_percent: u8,
        attempt: u32,
        seed: u64,
    ) {
        let (base, max) = (Duration::from_micros(base), Duration::from_micros(max));
        let backoff = Backoff { base, max, jitter_percent, ..Backoff::default() };
        let retry = Retry::from(backoff);
        let after = retry.after_failure(attempt, &mut Rng::with_seed(seed));
        let Settlement::RetryAfter(pause) = after.settlement else {
            // Only what was tried as often as can be counted.
            prop_assert_eq!(attempt, u32::MAX);
            return Ok(());
        };
        let whole = Retry::from(Backoff { jitter_percent: 0, ..backoff });
        let whole = whole.after_failure(attempt, &mut Rng::with_seed(seed));
        prop_assert!(pause <= max);
        prop_assert!(Settlement::RetryAfter(pause) == whole.settlement || jitter_percent > 0);
    }

    #[test]
    fn memory_and_order_stay_bounded_and_agree(
        calls in proptest::collection::vec((0u8..3, 0u32..12), 0..200),
        capacity in 0usize..8,
    ) {
        let mut attempts = Attempts::new(capacity);
        for (call, id) in calls {
            let message = message(&id.to_string(), None);
            let before = attempts.attempt(&message);
            match call {
                0 | 1 => {
                    attempts.failed(&message);
                    let after = if capacity == 0 { 1 } else { before + 1 };
                    prop_assert_eq!(attempts.attempt(&message), after);
                }
                _ => {
                    attempts.forget(&message);
                    prop_assert_eq!(attempts.attempt(&message), 1);
                }
            }
            prop_assert!(attempts.len() <= capacity);
            prop_assert_eq!(attempts.failed.len(), attempts.order.len());
        }
    }
}
