//! The publisher machine by example, on simulated time.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail like tests"
)]

#[path = "publisher/authorization.rs"]
mod authorization;
#[path = "publisher/batching.rs"]
mod batching;
#[path = "publisher/bisection.rs"]
mod bisection;
#[path = "publisher/ceilings.rs"]
mod ceilings;
#[path = "publisher/closing.rs"]
mod closing;
#[path = "publisher/direct.rs"]
mod direct;
#[path = "publisher/fairness.rs"]
mod fairness;
#[path = "publisher/flushing.rs"]
mod flushing;
#[path = "publisher/holding/mod.rs"]
mod holding;
#[path = "publisher/misuse.rs"]
mod misuse;
#[path = "publisher/ordering.rs"]
mod ordering;
#[path = "publisher/outcomes.rs"]
mod outcomes;
#[path = "publisher/sim/mod.rs"]
mod sim;
#[path = "publisher/sizes.rs"]
mod sizes;
#[path = "publisher/timeouts.rs"]
mod timeouts;
#[path = "publisher/unsent.rs"]
mod unsent;
