//! Services on simulated time, over a source that does what it is told: what handlers say becomes
//! of their messages, and of no others, whatever happens.

#![allow(clippy::unwrap_used, clippy::panic, reason = "they fail the test")]

mod batches;
mod broker;
mod building;
mod codecs;
mod deliveries;
mod endings;
mod handlers;
mod layers;
mod replies;
mod retries;
mod support;
mod telling;
