//! The cases. A new module adds its list to [`all_cases`].

mod batching;
mod bisection;
mod bodies;
mod connections;
mod delivery;
mod dispatch;
mod endings;
mod extremes;
mod fairness;
mod flushing;
mod gzip;
mod holding;
mod hooks;
mod http2;
mod keys;
mod memory;
mod naming;
mod replies;
mod shapes;
mod sizes;
mod storms;
mod subscribe;
mod timeouts;
mod token_refused;
mod token_service;
mod traces;
mod transports;
mod validation;

use pubsink_core::failure::{Class, Failure, Outcome};
use pubsink_core::publish::Message;
use pubsink_runtime::Publisher;

use crate::harness::case::Case;

/// Every case.
pub(crate) fn all_cases() -> impl Iterator<Item = &'static Case> {
    [
        shapes::CASES,
        hooks::CASES,
        bodies::CASES,
        batching::CASES,
        delivery::CASES,
        naming::CASES,
        keys::CASES,
        holding::CASES,
        sizes::CASES,
        validation::CASES,
        bisection::CASES,
        replies::CASES,
        fairness::CASES,
        token_service::CASES,
        token_refused::CASES,
        connections::CASES,
        storms::CASES,
        timeouts::CASES,
        traces::CASES,
        transports::CASES,
        http2::CASES,
        gzip::CASES,
        flushing::CASES,
        endings::CASES,
        extremes::CASES,
        memory::CASES,
    ]
    .into_iter()
    .chain(dispatch::CASES)
    .chain(subscribe::CASES)
    .flatten()
}

/// Publishes all at once; the outcomes in the same order.
async fn publish_all(
    publisher: &Publisher,
    messages: impl IntoIterator<Item = Message>,
) -> Vec<Outcome> {
    let deliveries: Vec<_> = messages
        .into_iter()
        .map(|one| publisher.publish(one))
        .collect();
    futures_util::future::join_all(deliveries).await
}

/// Publishes all at once, to a publisher that lingers until it is told: so the batches are the
/// same on a slow machine.
async fn publish_together(
    publisher: &Publisher,
    messages: impl IntoIterator<Item = Message>,
) -> Vec<Outcome> {
    let deliveries: Vec<_> = messages
        .into_iter()
        .map(|one| publisher.publish(one))
        .collect();
    publisher.flush().await;
    futures_util::future::join_all(deliveries).await
}

/// Messages with the texts `name-0`, `name-1`, ….
fn numbered(name: &str, count: usize) -> Vec<Message> {
    (0..count)
        .map(|number| Message::new(format!("{name}-{number}")))
        .collect()
}

/// The failure of an outcome that has to be one.
#[track_caller]
fn failed(outcome: &Outcome) -> &Failure {
    outcome
        .as_ref()
        .expect_err("this cannot have been delivered")
}

/// How many were delivered.
fn delivered(outcomes: &[Outcome]) -> usize {
    outcomes.iter().filter(|outcome| outcome.is_ok()).count()
}

/// Fails unless every outcome is a delivery.
#[track_caller]
fn all_delivered(outcomes: &[Outcome]) {
    for outcome in outcomes {
        assert!(outcome.is_ok(), "{outcome:?}");
    }
}

/// Whether the failure asks for a pause.
fn is_throttled(failure: &Failure) -> bool {
    matches!(failure.class, Class::RetryAfter(_))
}
