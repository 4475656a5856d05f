//! The subscriber machine on simulated time.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail like tests"
)]

mod calls;
mod closing;
mod counts;
mod flow;
mod leases;
mod network;
mod ordering;
mod per_id;
mod properties;
mod pulls;
mod redelivery;
mod retries;
mod seen;
mod server;
mod settlement;
mod sim;
mod streams;
mod watch;
