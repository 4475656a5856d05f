//! Dispatch: every hook to every sink, until it is delivered or a dead letter.
//!
//! [`Dispatcher`] is the machine between a [journal](crate::journal) and the sinks. It keeps the
//! hooks that come in, claims the rows that are due, has them attempted, and records what became
//! of them. It decides all of it and does none of it:
//!
//! ```text
//! hook ─▶ Store ─▶ journal ─▶ Claim ─▶ Attempt ─▶ sink
//!                     ▲                             │
//!                     └── Record: delivered, retry, dead letter ◀─┘
//! ```
//!
//! A body that is larger than what one of its sinks sends itself is checked in at a claim store
//! ([`CheckIn`](DispatchOutput::CheckIn)) before any sink is handed its hook: once, under a ref
//! that every sink and every retry gets.
//!
//! Like every machine here it is fed by [`handle`](Dispatcher::handle) and drained by
//! [`poll`](Dispatcher::poll) until it waits. What it holds is bounded by its windows, however
//! many rows the journal has.

mod attempts;
mod breaker;
mod check_ins;
mod intake;
mod io;
mod lanes;
mod machine;
mod options;
mod records;
mod replays;

pub use breaker::{BreakerPolicy, BreakerState};
pub use io::{
    Accepted, AttemptId, CallId, CheckInId, DispatchGauges, DispatchInput, DispatchMisuse,
    DispatchOutput, DispatchWait, EnqueueError, Event, Hook, Settled, SinkSpec,
};
pub use machine::Dispatcher;
pub use options::{DispatchOptions, OnDead};
