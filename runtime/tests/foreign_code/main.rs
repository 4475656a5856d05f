//! What runs somebody else's code holds nobody up: executors, wakers, and memory that data lies in.

#![expect(clippy::unwrap_used, reason = "what cannot be set up is a failed test")]

mod executors;
mod memory;
#[path = "../support/no_timer.rs"]
mod no_timer;
mod queue;
