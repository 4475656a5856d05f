//! What runs somebody else's code holds nobody up: executors, wakers, and memory that data lies in.

#![allow(clippy::unwrap_used, clippy::panic, reason = "they fail the test")]

mod executors;
mod memory;
#[path = "../support/no_timer.rs"]
mod no_timer;
mod queue;
