//! Traces: everything a publisher was given and everything it did, as lines of JSON, and their
//! replay.
//!
//! A simulation keeps one with [`record`](super::SimulationBuilder::record); a driver of real runs
//! keeps one by holding a [`Tapped`] machine. [`replay()`] runs the machine alone over what it was
//! given then, and checks that every request, outcome and wait is the same, byte for byte: a trace
//! of an incident is a regression test.
//!
//! ```
//! use std::time::Instant;
//! use pubsink_core::options::PublisherOptions;
//! use pubsink_core::publish::Message;
//! use pubsink_core::testing::{Answer, Simulation, trace};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let options = PublisherOptions::builder("my-project", "hooks").build()?;
//! let start = Instant::now();
//! let mut sim = Simulation::builder(options, start).record().serve(|_| Answer::stored());
//! sim.admit(7, Message::new("hello"));
//! sim.run();
//!
//! let replay = trace::replay(&sim.trace(), start)?;
//! assert_eq!(replay.requests[0].body(), sim.requests()[0].body());
//! assert_eq!(replay.outcomes[0].outcome, sim.outcomes()[0].outcome);
//! # Ok(())
//! # }
//! ```
//!
//! # What is in a trace
//!
//! The first line has the options and the seed. Each other line is an input (`in`) or an answer of
//! the machine to one poll (`out`), with its time from the first one in `at_ns`; a wait that only
//! repeats the line before it is left out. Messages and
//! replies are in it as they were, so a trace is as confidential as they are. Tokens are not:
//! they are numbered, and hidden where a reply repeats them; of a reply's headers only
//! `retry-after` is kept.

mod error;
mod grpc;
mod line;
mod recorder;
mod replay;
mod setup;
mod tapped;

pub use error::ReplayError;
pub use replay::{Replay, replay};
pub use tapped::Tapped;
