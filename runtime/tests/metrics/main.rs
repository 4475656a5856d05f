//! Metrics: what runs record, and that dashboard, alerts and documentation say the same.

#![allow(clippy::unwrap_used, clippy::panic, reason = "they fail the test")]

mod dispatching;
mod documents;
mod endings;
mod ledger;
mod publishing;
mod pubsub;
mod runs;
#[allow(dead_code, reason = "the dispatch tests use more of it")]
#[path = "../dispatch/store.rs"]
mod store;
mod streaming;
mod subscribing;
#[allow(dead_code, reason = "the dispatch tests use more of it")]
#[path = "../dispatch/support.rs"]
mod support;
#[allow(dead_code, reason = "the dispatch tests use more of it")]
#[path = "../dispatch/tricky.rs"]
mod tricky;
