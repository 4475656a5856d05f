//! The reports' failures again, through dispatch: hooks go into a journal and come out at a topic,
//! or as dead letters.

mod bodies;
mod breaker;
mod claim_corruption;
mod claim_outages;
mod claim_refusals;
mod claim_restarts;
mod claims;
mod dead_letters;
mod dying;
mod endings;
mod ordering;
mod outage;
mod replies;
mod restarts;
mod token_refused;
mod token_service;

use pubsink_core::dispatch::Settled;
use pubsink_core::envelope::Envelope;
use pubsink_core::failure::Failure;
use pubsink_fixtures::broker::{PubsubMessage, Status};
use pubsink_fixtures::faults::{Action, Match, Rule};

use crate::harness::case::Case;
use crate::harness::dispatching::hook;

/// Every case through dispatch.
pub(super) const CASES: [&[Case]; 16] = [
    ordering::CASES,
    restarts::CASES,
    token_service::CASES,
    token_refused::CASES,
    dead_letters::CASES,
    replies::CASES,
    breaker::CASES,
    outage::CASES,
    bodies::CASES,
    endings::CASES,
    dying::CASES,
    claims::CASES,
    claim_outages::CASES,
    claim_restarts::CASES,
    claim_corruption::CASES,
    claim_refusals::CASES,
];

/// The failure of a row that has to be a dead letter.
#[track_caller]
fn died(settled: &Settled) -> &Failure {
    let outcome = settled.outcome.as_ref();
    &outcome.expect_err("this cannot have been delivered").0
}

/// A hook whose ordering key is `key`, for topics that take it from there.
fn keyed(key: &str, id: impl Into<String>) -> Envelope {
    let mut hook = hook(id);
    hook.path = format!("/{key}");
    hook
}

/// The hooks `key-0`, `key-1`, … of an ordering key.
fn key_of_hooks(key: &str, count: usize) -> Vec<Envelope> {
    let ids = (0..count).map(|number| format!("{key}-{number}"));
    ids.map(|id| keyed(key, id)).collect()
}

/// Refuses every request that holds the hook of that id, as the service refuses a message.
fn refuses(id: &str) -> Rule {
    let id = id.to_owned();
    let has = move |messages: &[PubsubMessage]| {
        let mut ids = messages.iter().map(|one| one.attributes.get("ankusa_id"));
        ids.any(|other| other == Some(&id))
    };
    let refusal = Status::invalid_argument("no");
    Rule::on(Match::publish().messages(has)).then(Action::refuse(&refusal))
}

/// Fails every request of an ordering key, as a service in trouble does.
fn fails_key(key: &str) -> Rule {
    let key = key.to_owned();
    let of_key = move |messages: &[PubsubMessage]| messages[0].ordering_key == key;
    let failure = Status::new(500, "INTERNAL", "no");
    Rule::on(Match::publish().messages(of_key)).then(Action::refuse(&failure))
}
