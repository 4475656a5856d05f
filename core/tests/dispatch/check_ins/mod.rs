//! Large bodies are checked in once, before any sink is handed their hooks.

mod failing;
mod waiting;

use std::sync::Arc;
use std::time::Duration;

use pubsink_core::claim::ClaimRef;
use pubsink_core::dispatch::{DispatchOptions, DispatchWait, Hook, SinkSpec};
use pubsink_core::envelope::Envelope;
use pubsink_core::failure::Class;
use pubsink_core::journal::Destination;

use crate::sim::{BEGIN, Script, Sim, envelope, fails, ms, ok, sink};

/// What `a` sends itself; `b` sends everything.
const MAX: usize = 10;

fn sinks() -> Vec<SinkSpec> {
    let a = SinkSpec {
        inline_max_bytes: Some(MAX),
        ..sink("a")
    };
    vec![a, sink("b")]
}

fn taking() -> Script {
    Box::new(|_, _: &str, _: &str, _| (ms(1), ok()))
}

fn sim() -> Sim {
    Sim::new(DispatchOptions::default(), sinks(), taking())
}

fn large(id: &str) -> Arc<Envelope> {
    envelope(id, "src", &[b'x'; MAX + 1])
}

fn claim(id: &str) -> ClaimRef {
    ClaimRef::derive(None, BEGIN, id).unwrap()
}

/// The next process finds the journal and the store.
fn restarted(sim: Sim, sinks: Vec<SinkSpec>, script: Script) -> Sim {
    let mut table = sim.table;
    table.forget_claims();
    let mut next = Sim::over(table, DispatchOptions::default(), sinks, script, 1);
    next.store.bodies = sim.store.bodies;
    next
}

/// What every sink of a hook was handed, attempt by attempt.
fn handed(sim: &Sim, id: &str) -> Vec<(String, Option<ClaimRef>)> {
    let claims = sim.seen.claims.iter().filter(|(_, hook, _)| hook == id);
    let mut claims: Vec<_> = claims
        .map(|(sink, _, claim)| (sink.clone(), claim.clone()))
        .collect();
    claims.sort();
    claims
}

fn both(id: &str) -> Vec<(String, Option<ClaimRef>)> {
    ["a", "b"].map(|to| (to.into(), Some(claim(id)))).to_vec()
}

#[test]
fn one_check_in_is_for_every_sink_and_a_small_body_needs_none() {
    let mut sim = sim();
    sim.enqueue_envelope(large("large"), None);
    sim.enqueue_envelope(envelope("fits", "src", &[b'x'; MAX]), None);
    assert_eq!(sim.run(), DispatchWait::Input);
    assert_eq!(sim.store.asked.len(), 1);
    assert_eq!(handed(&sim, "large"), both("large"));
    let inline = [("a".to_owned(), None), ("b".to_owned(), None)];
    assert_eq!(handed(&sim, "fits"), inline);
    let settled = &sim.seen.settled;
    assert_eq!(settled.len(), 4);
    assert!(settled.iter().all(|it| it.outcome.is_ok()));
    for settled in settled.iter().filter(|it| it.row.envelope.id == "large") {
        assert_eq!(settled.row.claim, Some(claim("large")));
    }
    assert_eq!(sim.machine.gauges(), Default::default());
}

#[test]
fn a_hook_that_goes_only_where_every_body_is_sent_is_not_checked_in() {
    let mut sim = sim();
    let hook = |to: &str, claim| Hook {
        envelope: large(to),
        to: vec![Destination {
            sink: to.into(),
            key: None,
        }],
        claim,
        once: None,
    };
    sim.enqueue_hook(hook("b", None));
    sim.run();
    assert_eq!(sim.store.asked.len(), 0);
    // Nor is one that comes with its claim.
    let own = claim("its own");
    sim.store
        .bodies
        .insert(own.clone(), large("a").body.clone());
    sim.enqueue_hook(hook("a", Some(own.clone())));
    sim.run();
    assert_eq!(sim.store.asked.len(), 0);
    assert_eq!(handed(&sim, "a"), [("a".to_owned(), Some(own))]);
}

#[test]
fn every_retry_has_the_same_ref_also_after_a_restart() {
    let failing = |until: u32| -> Script {
        Box::new(move |_, _: &str, _: &str, attempt| {
            let failed = attempt < until;
            (
                ms(1),
                if failed {
                    fails(Class::Transient)
                } else {
                    ok()
                },
            )
        })
    };
    let mut sim = Sim::new(DispatchOptions::default(), sinks(), failing(100));
    sim.enqueue_envelope(large("h"), None);
    sim.run_until(ms(300));
    assert_eq!(sim.store.asked.len(), 1);
    assert!(sim.seen.claims.len() > 2);
    let same = |sim: &Sim| {
        let mut claims = sim.seen.claims.iter();
        claims.all(|(_, _, given)| *given == Some(claim("h")))
    };
    assert!(same(&sim));
    let mut sim = restarted(sim, sinks(), failing(8));
    sim.run();
    assert_eq!(sim.store.asked.len(), 0, "the journal knew it");
    assert!(same(&sim));
    assert_eq!(sim.seen.delivered.len(), 2);
}

#[test]
fn a_row_that_needs_no_claim_itself_waits_for_its_hooks_also_after_a_restart() {
    let mut sim = sim();
    sim.store.script = Box::new(|_, _| (Duration::MAX, Ok(())));
    sim.enqueue_envelope(large("h"), None);
    sim.run_until(ms(1_000));
    assert_eq!(sim.machine.gauges().attempts, 2);
    assert!(sim.seen.attempts.is_empty());
    let mut sim = restarted(sim, sinks(), taking());
    sim.store.script = Box::new(|_, _| (ms(5_000), Ok(())));
    sim.run_until(ms(4_000));
    assert!(sim.seen.attempts.is_empty());
    sim.run();
    assert_eq!(sim.store.asked.len(), 1);
    assert_eq!(handed(&sim, "h"), both("h"));
}

#[test]
fn what_one_row_learnt_the_other_knows_after_a_restart() {
    // The first is delivered, the other is tried at the next start.
    let script = |_, sink: &str, _: &str, _| match sink {
        "a" => (ms(1), ok()),
        _ => (Duration::MAX, ok()),
    };
    let mut sim = Sim::new(DispatchOptions::default(), sinks(), Box::new(script));
    sim.enqueue_envelope(large("h"), None);
    sim.run_until(ms(1_000));
    assert_eq!(sim.seen.delivered.len(), 1);
    let mut sim = restarted(sim, sinks(), taking());
    sim.run();
    assert_eq!((sim.store.asked.len(), sim.seen.delivered.len()), (0, 1));
    assert_eq!(handed(&sim, "h"), both("h")[1..]);
}

#[test]
fn without_a_store_nothing_waits() {
    let mut sim = sim();
    sim.store.script = Box::new(|_, _| (Duration::MAX, Ok(())));
    sim.enqueue_envelope(large("h"), None);
    sim.run_until(ms(1_000));
    let mut sim = restarted(sim, vec![sink("a"), sink("b")], taking());
    sim.run();
    assert_eq!((sim.store.asked.len(), sim.seen.delivered.len()), (0, 2));
    assert!(sim.seen.claims.iter().all(|(_, _, claim)| claim.is_none()));
}
