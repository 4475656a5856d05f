//! Dispatch on a runtime of threads: hooks reach their sinks whatever sinks, journals, observers
//! and the runtime do, and every wait ends.

#![allow(clippy::unwrap_used, clippy::panic, reason = "they fail the test")]

mod building;
mod calls;
mod claims;
mod delivering;
mod endings;
mod journals;
mod logs;
mod observers;
mod pubsub;
mod sinks;
mod store;
mod support;
mod tricky;
