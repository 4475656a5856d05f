//! The dispatcher machine on simulated time.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail like tests"
)]

mod attempts;
mod breaker;
mod check_ins;
mod closing;
mod fairness;
mod journal_faults;
mod ordering;
mod properties;
mod replays;
mod seen;
mod sim;
mod store;
