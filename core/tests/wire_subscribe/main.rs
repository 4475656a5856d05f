//! Both wires of a subscription: every request, and what every answer means.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail like tests"
)]

mod answers;
mod classes;
mod help;
mod hostile;
mod oracle;
mod per_id;
mod properties;
mod pull;
mod recorded;
mod requests;
mod secrets;
mod sizes;
mod stream;
