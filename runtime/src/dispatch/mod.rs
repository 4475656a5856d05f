//! Dispatch: every hook to every sink, until it is delivered or a dead letter.
//!
//! The way of a hook, from [`Dispatch::enqueue`] to its end:
//!
//! 1. The call asks the sinks that keep order for the hook's ordering key, locks the machine
//!    ([`Dispatcher`](pubsink_core::dispatch::Dispatcher)) and hands the hook over. It is on its
//!    way when the call returns, or it was refused.
//! 2. The driver has the [journal](crate::journal) keep it, with others that came in at the same
//!    time. Only then does the [`Acceptance`] resolve: from here on the hook is delivered or
//!    becomes a dead letter, over any number of restarts of a journal that is durable.
//! 3. The driver claims rows that are due, one for each sink, and runs an attempt of each in a
//!    task of its own. A body that is larger than what one of its sinks sends itself is first
//!    checked in at the [claim store](DispatchBuilder::claims), once for all of them. What a [sink](crate::sink) does to it, panics, hangs, drops it, is the
//!    outcome of that attempt and of nothing else.
//! 4. What became of the attempt is recorded: delivered, tried again, given up. Once it is kept,
//!    the observer is [told](DispatchBuilder::on_event).
//!
//! All of it is decided by the machine. Here it is done: journal calls and attempts in tasks whose
//! answer reaches the machine whatever happens to them, foreign code after the lock was given back.
//!
//! A runtime crate gives the constructor that a user calls; [`DispatchBuilder::connect`] is for one
//! that nobody here has thought of.

mod acceptance;
mod builder;
mod check_in;
mod driver;
mod handle;
mod incoming;
mod journal;
mod loading;
mod shared;
mod sinks;
mod span;
mod tasks;
mod tell;

pub use acceptance::{Acceptance, JournalCall, Shutdown};
pub use builder::{DispatchBuilder, StartError};
pub use handle::Dispatch;
pub use incoming::Incoming;
pub use span::{attempt_span, mark_attempt};
