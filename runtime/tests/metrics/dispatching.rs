//! Dispatchers that meet everything there is.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pubsink_runtime::core::claim::{ClaimError, InvalidClaimRef};
use pubsink_runtime::core::delivery::DeliveryContext;
use pubsink_runtime::core::dispatch::{BreakerPolicy, DispatchOptions};
use pubsink_runtime::core::envelope::Envelope;
use pubsink_runtime::core::failure::{Class, Failure};
use pubsink_runtime::core::journal::{Filter, ReplayJob};
use pubsink_runtime::core::reason::Reason;
use pubsink_runtime::core::retry::RetryPolicy;
use pubsink_runtime::core::sink::Receipt;
use pubsink_runtime::dispatch::{Dispatch, DispatchBuilder};
use pubsink_runtime::journal::MemoryJournal;
use pubsink_runtime::sink::Sink;

use crate::ledger::Ledger;
use crate::store::{Says, Store};
use crate::support::{Heard, Scripted, What, hook, start, taken, wait_until, within};
use crate::tricky::{Does, Tricky};

fn planted(what: &str) -> Envelope {
    let mut hook = hook(&format!("planted-id:{what}"));
    hook.source_id = "planted-source".to_owned();
    hook.tenant_id = Some("planted-tenant".to_owned());
    hook.body = "planted-body".into();
    hook
}

fn options() -> DispatchOptions {
    DispatchOptions {
        attempt_timeout: Duration::from_millis(300),
        retry: RetryPolicy {
            base: Duration::from_millis(1),
            max_attempts: 3,
            ..RetryPolicy::default()
        },
        breaker: BreakerPolicy {
            failures: 4,
            open: Duration::from_millis(50),
            max_open: Duration::from_millis(60),
        },
        ..DispatchOptions::default()
    }
}

fn failed(class: Class) -> What {
    let detail = "planted-detail".into();
    What::Answer(Err(Failure::new(class, Reason::Sink { detail })))
}

/// Does what a hook's id says, with its first attempt and with the others.
fn obedient() -> Scripted {
    Scripted::new(|hook, attempt| {
        let what = hook.id.strip_prefix("planted-id:").unwrap();
        match (what, attempt) {
            ("permanent", _) => failed(Class::Permanent),
            ("config", _) => failed(Class::Config),
            ("hopeless", _) | ("throttled", 1) => {
                failed(Class::RetryAfter(Duration::from_millis(1)))
            }
            ("transient", 1) => failed(Class::Transient),
            ("never", 1) => What::Never,
            _ => taken(),
        }
    })
}

/// Fails five times, then takes everything.
fn flaky() -> Scripted {
    let attempts = AtomicU32::new(0);
    Scripted::new(move |_, _| match attempts.fetch_add(1, Ordering::SeqCst) {
        0..5 => failed(Class::Transient),
        _ => taken(),
    })
}

/// Every outcome of an attempt, and a sink that is left alone and comes back.
pub(crate) fn every_outcome(ledger: &Ledger) {
    let heard = Heard::default();
    let builder = DispatchBuilder::new(MemoryJournal::default())
        .sink("obedient", obedient())
        .sink("flaky", flaky())
        .options(options())
        .on_event(heard.observer());
    let dispatch = start(builder).unwrap();
    let mut settled = 0;
    let mut settle = |sink: &str, what: &str| {
        within(dispatch.enqueue_to(planted(what), [sink])).unwrap();
        settled += 1;
        heard.wait_settled(settled);
    };
    for what in [
        "throttled",
        "transient",
        "hopeless",
        "permanent",
        "config",
        "never",
        "delivered",
    ] {
        settle("obedient", what);
    }
    settle("flaky", "one");
    settle("flaky", "two");
    within(dispatch.shutdown(Duration::from_secs(5)));
    counted_as_told(ledger);
    let seconds = "pubsink_dispatch_attempt_duration_seconds";
    let durations = ledger.values(seconds, &["obedient"]);
    assert_eq!(durations.len(), 11);
    assert!(durations.iter().all(|took| (0.0..30.0).contains(took)));
    let states = ledger.values("pubsink_dispatch_breaker_state", &["flaky"]);
    assert!(states.contains(&2.0) && states.last() == Some(&0.0));
    let states = ledger.values("pubsink_dispatch_breaker_state", &["obedient"]);
    assert!(states.iter().all(|state| *state == 0.0));
    for (gauge, most) in [
        ("pubsink_dispatch_intake_hooks", 1.0),
        ("pubsink_dispatch_claimed_rows", 1.0),
        ("pubsink_dispatch_claimed_bytes", 10_000.0),
        ("pubsink_dispatch_attempts_in_flight", 1.0),
        ("pubsink_dispatch_unrecorded_rows", 1.0),
        ("pubsink_dispatch_lanes", 1.0),
        ("pubsink_dispatch_open_breakers", 1.0),
        ("pubsink_dispatch_oldest_due_age_seconds", 10.0),
    ] {
        let values = ledger.values(gauge, &[]);
        assert_eq!(values.last(), Some(&0.0), "{gauge}");
        let high = values.iter().copied().fold(0.0, f64::max);
        assert!(high > 0.0 && high <= most, "{gauge}: {high}");
    }
}

fn counted_as_told(ledger: &Ledger) {
    let attempts = "pubsink_dispatch_attempts_total";
    let settled = "pubsink_dispatch_settled_total";
    let retries = "pubsink_dispatch_retries_total";
    let transitions = "pubsink_dispatch_breaker_transitions_total";
    for (name, labels, count) in [
        (attempts, &["obedient", "delivered", "none"][..], 4.0),
        (attempts, &["obedient", "failed", "permanent"], 1.0),
        (attempts, &["obedient", "failed", "config"], 1.0),
        (attempts, &["obedient", "failed", "throttled"], 4.0),
        (attempts, &["obedient", "failed", "transient"], 1.0),
        (attempts, &["obedient", "stopped", "transient"], 1.0),
        (attempts, &["flaky", "failed", "transient"], 5.0),
        (attempts, &["flaky", "delivered", "none"], 1.0),
        (settled, &["obedient", "delivered", "none"], 4.0),
        (settled, &["obedient", "dead", "permanent"], 2.0),
        (settled, &["obedient", "dead", "throttled"], 1.0),
        (settled, &["flaky", "dead", "transient"], 1.0),
        (settled, &["flaky", "delivered", "none"], 1.0),
        (retries, &["obedient", "throttled"], 3.0),
        (retries, &["obedient", "transient"], 2.0),
        (retries, &["flaky", "transient"], 4.0),
        ("ankusa_dispatch_config_errors_total", &["obedient"], 1.0),
        ("ankusa_dispatch_config_errors_total", &["flaky"], 0.0),
        (transitions, &["flaky", "open"], 2.0),
        (transitions, &["flaky", "probing"], 2.0),
        (transitions, &["flaky", "closed"], 1.0),
        ("pubsink_dispatch_enqueued_total", &["stored"], 9.0),
    ] {
        let so = || ledger.count(name, labels) >= count;
        wait_until(&format!("{name} {labels:?}"), so);
        assert_eq!(ledger.count(name, labels), count, "{name} {labels:?}");
    }
}

/// Each way in which a hook is not taken, and each call to the journal that fails.
pub(crate) fn every_refusal(ledger: &Ledger) {
    let enqueued = |result: &str| ledger.count("pubsink_dispatch_enqueued_total", &[result]);
    let heard = Heard::default();
    // The first call of each kind fails.
    let asked = Mutex::new(BTreeSet::new());
    let journal = Tricky::new(&Arc::new(MemoryJournal::default()), move |call| {
        match asked.lock().unwrap().insert(call) && call != "begin_replay" {
            true => Does::Fail,
            false => Does::AsAsked,
        }
    });
    let builder = DispatchBuilder::new(journal)
        .sink("obedient", obedient())
        .options(options())
        .on_event(heard.observer());
    let dispatch = start(builder).unwrap();
    within(dispatch.enqueue(planted("delivered"))).unwrap_err();
    for _ in 0..2 {
        within(dispatch.enqueue_once("planted-name", planted("permanent"))).unwrap();
    }
    heard.wait_settled(1);
    within(dispatch.begin_replay(ReplayJob::new("planted-replay", Filter::default()))).unwrap();
    heard.wait_settled(2);
    refuse(&dispatch);
    within(dispatch.shutdown(Duration::from_secs(5)));
    within(dispatch.enqueue(planted("delivered"))).unwrap_err();
    for (result, count) in [
        ("known", 1.0),
        ("no_sink", 1.0),
        ("unknown_sink", 1.0),
        ("sink_twice", 1.0),
        ("closed", 1.0),
        ("journal", 1.0),
    ] {
        assert_eq!(enqueued(result), count, "{result}");
    }
    for call in ["lanes", "replays", "enqueue", "claim", "record", "replay"] {
        let failed = ledger.count("pubsink_dispatch_journal_errors_total", &[call]);
        assert_eq!(failed, 1.0, "{call}");
    }

    let journal = Tricky::new(&Arc::new(MemoryJournal::default()), |call| match call {
        "enqueue" => Does::NeverAnswer,
        _ => Does::AsAsked,
    });
    let builder = DispatchBuilder::new(journal)
        .sink("obedient", obedient())
        .options(DispatchOptions {
            intake_hooks: 1,
            ..options()
        });
    let dispatch = start(builder).unwrap();
    let held = dispatch.enqueue(planted("delivered"));
    within(dispatch.enqueue(planted("delivered"))).unwrap_err();
    assert_eq!(enqueued("busy"), 1.0);
    drop(held);
}

fn refuse(dispatch: &Dispatch) {
    for sinks in [&[][..], &["planted-sink"], &["obedient", "obedient"]] {
        within(dispatch.enqueue_to(planted("delivered"), sinks)).unwrap_err();
    }
}

/// Sends no body itself.
struct Claiming(Scripted);

impl Sink for Claiming {
    async fn deliver(
        &self,
        envelope: &Envelope,
        context: &DeliveryContext,
    ) -> Result<Receipt, Failure> {
        self.0.deliver(envelope, context).await
    }

    fn inline_max_bytes(&self) -> Option<usize> {
        Some(1)
    }
}

/// Each answer of a claim store, one that panics and one that is stopped.
pub(crate) fn every_check_in(ledger: &Ledger) {
    let integrity = ClaimError::Integrity {
        what: "size",
        found: "planted-found".into(),
        expected: "planted-expected".into(),
    };
    let says = [
        ("ok", Says::Answer(Ok(()))),
        ("not_found", Says::Answer(Err(ClaimError::NotFound))),
        ("integrity", Says::Answer(Err(integrity))),
        (
            "invalid_ref",
            Says::Answer(Err(InvalidClaimRef::Expiry.into())),
        ),
        (
            "too_large",
            Says::Answer(Err(ClaimError::TooLarge { size: 2, max: 1 })),
        ),
        (
            "unavailable",
            Says::Answer(Err(ClaimError::unavailable("planted-detail"))),
        ),
        ("unavailable", Says::Panic),
        ("unavailable", Says::Never),
    ];
    let heard = Heard::default();
    let script = says.clone();
    let store = Store::new(move |_, before| script[before].1.clone());
    let builder = DispatchBuilder::new(MemoryJournal::default())
        .claims(store)
        .sink("claiming", Claiming(Scripted::taking()))
        .options(DispatchOptions {
            attempt_timeout: Duration::from_secs(1),
            retry: RetryPolicy {
                max_attempts: 1,
                ..RetryPolicy::default()
            },
            ..options()
        })
        .on_event(heard.observer());
    let dispatch = start(builder).unwrap();
    for count in 1..=says.len() {
        within(dispatch.enqueue(planted(&format!("large {count}")))).unwrap();
        heard.wait_settled(count);
    }
    for (result, _) in &says {
        let count = says.iter().filter(|(other, _)| other == result).count();
        let counted = || ledger.count("ankusa_claim_check_ins_total", &[result]);
        let so = || counted() >= f64::from(u32::try_from(count).unwrap());
        wait_until(&format!("check-ins {result}"), so);
        assert_eq!(
            counted(),
            f64::from(u32::try_from(count).unwrap()),
            "{result}"
        );
    }
}
