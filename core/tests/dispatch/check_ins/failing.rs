//! A store that fails, or takes its time.

use std::sync::Arc;
use std::time::Duration;

use pubsink_core::claim::{ClaimError, InvalidClaimRef};
use pubsink_core::dispatch::{DispatchOptions, DispatchWait};
use pubsink_core::failure::ErrorClass;
use pubsink_core::journal::{DeadId, Filter, ReplayJob};

use super::{MAX, both, handed, large, sim, sinks, taking};
use crate::sim::{Sim, envelope, ms, ok};

fn down() -> Result<(), ClaimError> {
    Err(ClaimError::unavailable("503"))
}

#[test]
fn a_store_that_is_down_costs_attempts_and_time_and_nothing_else() {
    let mut sim = sim();
    sim.store.script = Box::new(|at, _| {
        let up = at >= ms(30_000);
        (ms(5), if up { Ok(()) } else { down() })
    });
    for id in 0..20 {
        sim.enqueue_envelope(large(&format!("large {id}")), None);
        sim.enqueue_envelope(envelope(&format!("small {id}"), "src", b"{}"), None);
    }
    sim.run_until(ms(1_000));
    assert_eq!(sim.seen.delivered.len(), 40, "the small ones");
    assert_eq!(sim.run(), DispatchWait::Input);
    assert_eq!(sim.seen.delivered.len(), 80);
    for settled in &sim.seen.settled {
        assert!(settled.outcome.is_ok());
        let tried_again = settled.attempts > 5;
        assert_eq!(tried_again, settled.row.envelope.id.starts_with("large"));
        assert!(!settled.row.maybe_stored);
    }
    assert!(
        sim.seen.breakers.is_empty(),
        "the sinks have nothing to do with it"
    );
    // Nobody was handed a hook in vain.
    assert_eq!(sim.seen.attempts.len(), 80);
}

#[test]
fn a_store_that_stays_down_ends_with_the_policy() {
    let mut options = DispatchOptions::default();
    options.retry.max_attempts = 4;
    let mut sim = Sim::new(options, sinks(), taking());
    sim.store.script = Box::new(|_, _| (ms(5), down()));
    sim.enqueue_envelope(large("h"), None);
    sim.run();
    let letters = sim.table.dead_letters(&Filter::default(), DeadId(0), 9);
    assert_eq!(letters.len(), 2);
    for letter in &letters {
        assert_eq!(letter.attempts, 4);
        assert_eq!(letter.cause.error_class, ErrorClass::Transient);
        assert_eq!(letter.cause.kind.as_str(), "claim_check");
        assert_eq!((&letter.claim, letter.check_in), (&None, true));
    }
    // Sent again after the repair, the body is checked in first.
    sim.store.script = Box::new(|_, _| (ms(5), Ok(())));
    sim.store.asked.clear();
    sim.replay(ReplayJob::new("again", Filter::default()));
    sim.run();
    assert_eq!(sim.store.asked.len(), 1);
    assert_eq!(handed(&sim, "h"), both("h"));
}

#[test]
fn what_the_store_never_takes_is_a_dead_letter_at_once() {
    let integrity = ClaimError::Integrity {
        what: "size",
        found: "1".into(),
        expected: "2".into(),
    };
    for error in [
        ClaimError::TooLarge { size: 11, max: 10 },
        ClaimError::NotFound,
        ClaimError::InvalidRef(InvalidClaimRef::Expiry),
        integrity,
    ] {
        let mut sim = sim();
        let said = error.clone();
        sim.store.script = Box::new(move |_, _| (ms(5), Err(said.clone())));
        sim.enqueue_envelope(large("h"), None);
        sim.run();
        assert_eq!(sim.store.asked.len(), 1, "{error}");
        assert!(sim.seen.attempts.is_empty());
        let letters = sim.table.dead_letters(&Filter::default(), DeadId(0), 9);
        assert_eq!(letters.len(), 2);
        for letter in letters {
            assert_eq!(letter.attempts, 1);
            assert_eq!(letter.cause.error_class, ErrorClass::Permanent);
            assert_eq!(letter.cause.kind.as_str(), "claim_check");
            assert!(!letter.cause.config && !letter.cause.maybe_stored);
        }
    }
}

#[test]
fn a_hook_that_can_have_no_ref_is_a_dead_letter_and_the_store_is_not_asked() {
    let mut sim = sim();
    let mut hook = large("h");
    Arc::make_mut(&mut hook).tenant_id = Some("not a tenant".into());
    sim.enqueue_envelope(hook, None);
    sim.run();
    assert_eq!((sim.store.asked.len(), sim.table.dead_len()), (0, 2));
    let letters = sim.table.dead_letters(&Filter::default(), DeadId(0), 9);
    assert_eq!(letters[0].cause.kind.as_str(), "claim_check");
    assert_eq!(sim.machine.gauges(), Default::default());
}

#[test]
fn a_check_in_that_takes_too_long_has_failed_and_is_made_again() {
    let mut sim = sim();
    sim.store.script = Box::new(|at, _| match at < ms(30_000) {
        true => (Duration::MAX, Ok(())),
        false => (ms(5), Ok(())),
    });
    for id in 0..20 {
        sim.enqueue_envelope(large(&id.to_string()), None);
    }
    sim.run_until(ms(29_990));
    assert!(sim.seen.attempts.is_empty());
    sim.run();
    assert_eq!(sim.seen.delivered.len(), 40);
    assert!(sim.store.aborted >= 8);
    assert_eq!(sim.seen.aborted, 0, "no sink was asked");
    assert!(sim.seen.breakers.is_empty());
    for settled in &sim.seen.settled {
        assert!(!settled.row.maybe_stored, "nothing was sent");
        let first = sim.store.asked_for(&settled.row.envelope.id) > 1;
        assert!(!first || settled.attempts == 2);
    }
}

#[test]
fn an_attempt_has_its_time_with_its_check_in() {
    let script = Box::new(|_, _: &str, _: &str, attempt| {
        let takes = if attempt == 1 { Duration::MAX } else { ms(1) };
        (takes, ok())
    });
    let mut sim = Sim::new(DispatchOptions::default(), sinks(), script);
    sim.store.script = Box::new(|_, _| (ms(20_000), Ok(())));
    sim.enqueue_envelope(large("h"), None);
    sim.run_until(ms(29_000));
    assert_eq!(sim.machine.gauges().attempts, 2);
    sim.run();
    // 30 s after their begin, not after the check-in.
    let times: Vec<_> = sim.seen.attempts.iter().map(|attempt| attempt.0).collect();
    assert!(times[2] >= ms(30_000) && times[2] < ms(31_000), "{times:?}");
    assert_eq!((sim.seen.aborted, sim.store.asked.len()), (2, 1));
    assert!(sim.seen.settled.iter().all(|it| it.row.maybe_stored));
}

#[test]
fn two_bodies_under_one_ref_are_never_taken_for_each_other() {
    // At once, and one after the other.
    for pause in [ms(0), ms(1_000)] {
        let mut sim = sim();
        let other = envelope("h", "src", &[b'y'; MAX + 1]);
        sim.enqueue_envelope(large("h"), None);
        let at = sim.at();
        sim.run_until(at + pause);
        sim.enqueue_envelope(other.clone(), None);
        sim.run();
        assert_eq!(sim.store.asked.len(), 2);
        assert_eq!(sim.seen.delivered.len(), 2);
        let letters = sim.table.dead_letters(&Filter::default(), DeadId(0), 9);
        assert_eq!(letters.len(), 2);
        for letter in letters {
            assert_eq!(letter.envelope, other);
            assert_eq!(letter.cause.kind.as_str(), "claim_check");
        }
    }
}
