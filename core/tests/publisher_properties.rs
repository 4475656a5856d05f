//! Whatever happens, in whatever order: what always holds for a publisher machine.
//!
//! Every plan runs on simulated time against a server that fails in every way there is. What
//! holds at each step (limits, waits, flushes, each mark settled once) is checked by the
//! simulation itself, in `publisher/sim/watch.rs`.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail like tests"
)]

#[path = "publisher/plan/mod.rs"]
mod plan;
#[path = "publisher/sim/mod.rs"]
mod sim;

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use pubsink_core::testing::{SentRequest, trace};

use plan::{Plan, Run, plans};
use sim::look::Tagged as _;

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_nothing_is_lost_and_nothing_is_made_up(plan in plans()) {
        let run = plan.run();
        run.sim.assert_quiescent();
        assert_every_mark_is_settled(&plan, &run);
        assert_outcomes_are_true(&run);
        assert_keys_keep_their_order(&plan, &run);
        assert_no_more_requests_than_needed(&run);
    }

    #[test]
    fn equal_inputs_give_equal_outputs_and_a_replay_gives_them_again(plan in plans()) {
        let (mut run, mut second) = (plan.run(), plan.run());
        let trace = run.sim.trace();
        prop_assert_eq!(&trace, &second.sim.trace());
        let replay = trace::replay(&trace, sim::origin());
        let replay = replay.unwrap_or_else(|error| panic!("{error}"));
        let bodies = |requests: &[SentRequest]| -> Vec<_> {
            requests.iter().map(|request| (request.at, request.body().clone())).collect()
        };
        prop_assert_eq!(bodies(&replay.requests), bodies(run.sim.requests()));
        let settled = run.sim.outcomes().iter();
        let settled: Vec<_> = settled
            .map(|settled| (settled.tag.to_string(), settled.at, settled.outcome.clone()))
            .collect();
        let replayed: Vec<_> = replay
            .outcomes
            .into_iter()
            .map(|settled| (settled.tag, settled.at, settled.outcome))
            .collect();
        prop_assert_eq!(replayed, settled);
    }
}

fn assert_every_mark_is_settled(plan: &Plan, run: &Run) {
    let settled: BTreeSet<_> = run.sim.settled().keys().copied().collect();
    assert_eq!(settled, plan.tags());
    let flushed: Vec<_> = run.sim.flushed().iter().map(|(tag, _)| *tag).collect();
    assert_eq!(flushed, plan.flushes());
}

/// Delivered means stored, once, under that id; certainly not stored means not stored.
fn assert_outcomes_are_true(run: &Run) {
    let mut stored = BTreeMap::new();
    for kept in run.sim.stored() {
        let tag = kept.message.tag();
        let before = stored.insert(tag, &kept.id);
        assert_eq!(before, None, "{tag} was stored twice");
    }
    for (tag, settled) in &run.sim.settled() {
        match &settled.outcome {
            Ok(delivered) => {
                assert_eq!(
                    stored.get(tag).map(|id| id.as_str()),
                    Some(delivered.message_id.as_str())
                );
            }
            Err(failure) if !failure.may_have_been_stored => {
                assert_eq!(stored.get(tag), None, "{tag}: {failure}");
            }
            Err(_) => {}
        }
    }
}

fn assert_keys_keep_their_order(plan: &Plan, run: &Run) {
    let mut last = BTreeMap::new();
    let settled = run.sim.settled();
    for kept in run.sim.stored() {
        let (tag, message) = (kept.message.tag(), &kept.message);
        assert_eq!(message.ordering_key, plan.key_of(tag));
        if !message.ordering_key.is_empty() && settled[&tag].outcome.is_ok() {
            let before = last.insert(message.ordering_key.clone(), tag);
            assert!(
                before.is_none_or(|before| before < tag),
                "{before:?} before {tag}"
            );
        }
    }
}

/// A message is sent again only as part of a refused request, or once with a fresh token.
fn assert_no_more_requests_than_needed(run: &Run) {
    let mut seen = BTreeSet::new();
    let mut again = 0;
    for request in run.sim.requests() {
        let new = request
            .messages
            .iter()
            .filter(|message| seen.insert(message.tag()))
            .count();
        assert!(
            new == 0 || new == request.messages.len(),
            "new and old messages in one request"
        );
        again += usize::from(new == 0);
    }
    let log = run.log.borrow();
    assert!(
        again <= 2 * log.halved + log.unauthenticated,
        "{again} sent again: {log:?}"
    );
    let fresh = run
        .sim
        .asked()
        .iter()
        .filter(|(_, refused)| *refused)
        .count();
    assert!(fresh <= log.unauthenticated);
    if run.authorized {
        let first = run.sim.asked().len() - fresh;
        // Given up before the token came, at its time's end or at the close's deadline.
        let given_up = run.sim.cancelled().len();
        let most = run.sim.requests().len() + log.no_token + given_up;
        assert!(first <= most, "{first} tokens asked for");
    } else {
        assert_eq!(run.sim.asked(), []);
    }
}
