//! Attempts, retries, and their ends.

use pubsink_core::dispatch::{DispatchOptions, DispatchWait};
use pubsink_core::failure::{Class, ErrorClass, Failure};
use pubsink_core::journal::{DeadId, Filter};
use pubsink_core::reason::{Ceiling, Reason};
use std::time::Duration;

use crate::sim::{Sim, fails, ms, ok, sink};

#[test]
fn a_hook_is_accepted_once_it_is_kept_and_goes_to_every_sink() {
    let script = Box::new(|_, _: &str, _: &str, _| (ms(5), ok()));
    let mut sim = Sim::new(
        DispatchOptions::default(),
        vec![sink("a"), sink("b")],
        script,
    );
    sim.journal_takes = ms(30);
    sim.enqueue("h", "src");
    sim.run_until(ms(29));
    assert!(sim.seen.accepted.is_empty() && sim.seen.attempts.is_empty());
    assert_eq!(sim.run(), DispatchWait::Input);
    assert!(matches!(sim.seen.accepted[..], [(1, Ok(_))]));
    assert_eq!(sim.seen.settled.len(), 2);
    assert!(sim.table.is_empty());
    assert_eq!(sim.machine.gauges(), Default::default());
}

#[test]
fn a_failure_is_tried_again_by_the_policy_until_it_passes() {
    let script = Box::new(|_, _: &str, _: &str, attempt| {
        let outcome = if attempt < 4 {
            fails(Class::Transient)
        } else {
            ok()
        };
        (ms(0), outcome)
    });
    let mut sim = Sim::new(DispatchOptions::default(), vec![sink("a")], script);
    sim.enqueue("h", "src");
    sim.run();
    let times: Vec<_> = sim.seen.attempts.iter().map(|attempt| attempt.0).collect();
    assert_eq!(times.len(), 4);
    // 100, 200, 400 ms, each times 0.5 to 1.0, and a few ms of journal.
    for (pair, whole) in times.windows(2).zip([100, 200, 400]) {
        let pause = pair[1] - pair[0];
        assert!(
            pause >= ms(whole / 2) && pause <= ms(whole + 10),
            "{pause:?}"
        );
    }
    assert_eq!(sim.seen.settled[0].attempts, 4);
}

/// R14.2.
#[test]
fn no_attempt_begins_after_the_time_for_all_of_them_and_the_last_failure_is_told() {
    let script = Box::new(|_, _: &str, _: &str, attempt| {
        let body = format!("down, {attempt}").as_str().into();
        let reason = Reason::Status { http: 503, body };
        (ms(20), Err(Failure::new(Class::Transient, reason)))
    });
    let mut options = DispatchOptions::default();
    options.retry.max_elapsed = ms(1_000);
    options.breaker.failures = 100;
    let mut sim = Sim::new(options, vec![sink("a")], script);
    sim.enqueue("h", "src");
    sim.run_until(ms(1_600));
    let began: Vec<_> = sim.seen.attempts.iter().map(|attempt| attempt.0).collect();
    let last = *began.last().unwrap() - began[0];
    // Due then, it is claimed from the journal first, which takes a millisecond.
    assert!((ms(1_000)..=ms(1_003)).contains(&last), "{began:?}");
    let settled = &sim.seen.settled[0];
    let (failure, _) = settled.outcome.as_ref().unwrap_err();
    let said = format!("down, {}", began.len());
    assert!(failure.to_string().contains(&said), "{failure}");
    assert!(matches!(*failure.reason, Reason::Status { http: 503, .. }));
}

#[test]
fn a_pause_that_was_asked_for_is_kept() {
    let script = Box::new(|_, _: &str, _: &str, attempt| {
        let outcome = match attempt {
            1 => fails(Class::RetryAfter(ms(90_000))),
            // More than an hour is not granted.
            2 => fails(Class::RetryAfter(Duration::from_secs(100_000))),
            // A pause of nothing is none: the policy's own counts.
            3 => fails(Class::RetryAfter(Duration::ZERO)),
            _ => ok(),
        };
        (ms(0), outcome)
    });
    let mut sim = Sim::new(DispatchOptions::default(), vec![sink("a")], script);
    sim.enqueue("h", "src");
    sim.run();
    let times: Vec<_> = sim.seen.attempts.iter().map(|attempt| attempt.0).collect();
    let pauses: Vec<_> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!((ms(90_000)..ms(90_020)).contains(&pauses[0]), "{pauses:?}");
    assert!(
        (ms(3_600_000)..ms(3_600_020)).contains(&pauses[1]),
        "{pauses:?}"
    );
    assert!((ms(200)..ms(420)).contains(&pauses[2]), "{pauses:?}");
}

#[test]
fn what_cannot_pass_is_a_dead_letter_at_once() {
    for (class, error_class, config) in [
        (Class::Permanent, ErrorClass::Permanent, false),
        (Class::Config, ErrorClass::Permanent, true),
    ] {
        let script = Box::new(move |_, _: &str, _: &str, _| (ms(0), fails(class)));
        let mut sim = Sim::new(DispatchOptions::default(), vec![sink("a")], script);
        for id in 0..20 {
            sim.enqueue(&id.to_string(), "src");
        }
        sim.run();
        assert_eq!(sim.seen.attempts.len(), 20);
        assert!(
            sim.seen.breakers.is_empty(),
            "it answers: it is not failing"
        );
        let letters = sim.table.dead_letters(&Filter::default(), DeadId(0), 100);
        assert_eq!(letters.len(), 20);
        let letter = &letters[0];
        assert_eq!(letter.cause.error_class, error_class);
        assert_eq!(letter.cause.config, config);
        assert_eq!(
            (letter.attempts, letter.cause.kind.as_str()),
            (1, "transport")
        );
        assert!(sim.table.is_empty());
    }
}

#[test]
fn a_delivery_that_keeps_failing_ends_with_its_horizon_whatever_its_class() {
    for (class, error_class) in [
        (Class::Transient, ErrorClass::Transient),
        (Class::RetryAfter(ms(1_000)), ErrorClass::Throttled),
    ] {
        let script = Box::new(move |_, _: &str, _: &str, _| (ms(10), fails(class)));
        let mut options = DispatchOptions::default();
        options.retry.max_attempts = u32::MAX;
        options.breaker.failures = u32::MAX;
        let mut sim = Sim::new(options, vec![sink("a")], script);
        sim.enqueue("h", "src");
        assert_eq!(sim.run(), DispatchWait::Input);
        let day = Duration::from_secs(86_400);
        let last = sim.seen.attempts.last().unwrap();
        assert!(
            last.0 >= day - ms(300_000) && last.0 <= day + ms(301_000),
            "{last:?}"
        );
        let letters = sim.table.dead_letters(&Filter::default(), DeadId(0), 10);
        assert_eq!(letters[0].cause.error_class, error_class);
        assert_eq!(letters[0].attempts, last.3);
        assert!(letters[0].died_at - letters[0].first_attempt_at.unwrap() >= 86_400_000);
    }
}

#[test]
fn the_policy_of_a_source_is_its_own() {
    let script = Box::new(|_, _: &str, _: &str, _| (ms(0), fails(Class::Transient)));
    let mut options = DispatchOptions::default();
    options.retry.max_attempts = 3;
    options.breaker.failures = 100;
    let mut patient = options.retry;
    patient.max_attempts = 5;
    options.source_retry.insert("patient".into(), patient);
    let mut sim = Sim::new(options, vec![sink("a")], script);
    sim.enqueue("1", "hasty");
    sim.enqueue("2", "patient");
    sim.run();
    let count = |id: &str| sim.seen.attempts.iter().filter(|a| a.2 == id).count();
    assert_eq!((count("1"), count("2")), (3, 5));
}

#[test]
fn an_attempt_that_takes_too_long_has_failed_and_frees_its_slot() {
    let script = Box::new(|_, _: &str, _: &str, attempt| {
        let takes = if attempt == 1 { Duration::MAX } else { ms(1) };
        (takes, ok())
    });
    let mut options = DispatchOptions {
        sink_concurrency: 1,
        ..DispatchOptions::default()
    };
    options.breaker.failures = 100;
    let mut sim = Sim::new(options, vec![sink("a")], script);
    sim.enqueue("1", "src");
    sim.enqueue("2", "src");
    sim.run();
    assert_eq!(sim.seen.aborted, 2);
    let second = &sim.seen.attempts[1];
    assert!(
        second.0 >= ms(30_000) && second.0 < ms(30_100),
        "{second:?}"
    );
    assert_eq!(sim.seen.settled.len(), 2);
    // It may have been stored by the attempt that was given up.
    assert!(
        sim.seen
            .settled
            .iter()
            .all(|settled| settled.row.maybe_stored)
    );
}

#[test]
fn a_refusal_for_want_of_room_is_no_attempt_and_no_failure_of_the_sink() {
    let full = || {
        let reason = Reason::BatchQueueFull {
            ceiling: Ceiling::Entries,
            max: 4_096,
        };
        Err(Failure::new(Class::RetryAfter(ms(100)), reason))
    };
    let script = Box::new(move |at: Duration, _: &str, _: &str, _| {
        (ms(0), if at < ms(60_000) { full() } else { ok() })
    });
    let mut options = DispatchOptions::default();
    options.retry.max_attempts = 3;
    let mut sim = Sim::new(options, vec![sink("a")], script);
    for id in 0..50 {
        sim.enqueue(&id.to_string(), "src");
    }
    sim.run();
    assert!(sim.seen.breakers.is_empty());
    assert_eq!(sim.seen.settled.len(), 50);
    assert!(
        sim.seen
            .settled
            .iter()
            .all(|s| s.outcome.is_ok() && s.attempts == 1)
    );
    // A minute without room is no minute of asking: 100 ms, doubling to 10 s, for eight at once.
    let asked = sim.seen.attempts.len() - 50;
    assert!((50..=150).contains(&asked), "{asked}");
}

#[test]
fn a_refused_hook_is_tried_again_as_it_was_and_its_time_has_not_begun() {
    let day = Duration::from_secs(86_400);
    let script = Box::new(move |at: Duration, _: &str, _: &str, _| {
        let reason = Reason::BatchQueueFull {
            ceiling: Ceiling::Tenant,
            max: 1,
        };
        let full = Err(Failure::new(Class::RetryAfter(ms(5)), reason));
        (ms(0), if at < 2 * day { full } else { ok() })
    });
    let mut sim = Sim::new(DispatchOptions::default(), vec![sink("a")], script);
    sim.enqueue("h", "src");
    sim.run();
    // Two days of refusals are more than the horizon, and none of it.
    assert!(sim.seen.settled[0].outcome.is_ok());
    assert_eq!(sim.seen.settled[0].row.first_attempt_at, None);
    assert!(sim.seen.attempts.len() < 20_000);
}
