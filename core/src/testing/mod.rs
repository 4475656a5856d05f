//! For testing code around the library: a publisher on simulated time against a scripted server,
//! and traces of real runs. Feature `test-util`.
//!
//! [`Simulation`] drives a [`Publisher`](crate::publish::Publisher) without I/O. Time jumps from
//! one deadline to the next, so a day of outage takes milliseconds, and nothing depends on the
//! machine the test runs on: equal scripts give equal requests and outcomes, byte for byte.
//!
//! ```
//! use std::time::{Duration, Instant};
//! use pubsink_core::options::PublisherOptions;
//! use pubsink_core::publish::Message;
//! use pubsink_core::testing::{Answer, Simulation, replies};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let options = PublisherOptions::builder("my-project", "hooks").build()?;
//! let mut sim = Simulation::new(options, Instant::now(), |request| match request.messages.len() {
//!     1 => Answer::stored(),
//!     _ => replies::error(503, "UNAVAILABLE", "try later").into(),
//! });
//! sim.admit("alone", Message::new("1"));
//! sim.run();
//! sim.admit("first", Message::new("2"));
//! sim.admit("second", Message::new("3"));
//! sim.run();
//!
//! assert_eq!(sim.requests()[0].body(), r#"{"messages":[{"data":"MQ=="}]}"#);
//! assert_eq!(sim.requests()[1].at, Duration::from_millis(90));
//! let alone = sim.outcome(&"alone").and_then(|outcome| outcome.as_ref().ok());
//! assert_eq!(alone.map(|delivered| delivered.message_id.as_str()), Some("id-0"));
//! let failure = sim.outcome(&"first").and_then(|outcome| outcome.as_ref().err());
//! assert!(failure.is_some_and(|failure| failure.may_have_been_stored));
//! # Ok(())
//! # }
//! ```
//!
//! - [`Answer`] is what a server does with a request, [`replies`] what it says. Where the options'
//!   wire is gRPC it says the same as a gRPC server: an error document as a status, ids as a message.
//! - [`Settled`], [`SentRequest`] and [`Stored`] serialize, so that snapshots of them read well.
//! - [`trace`] records what a publisher was given and what it did, in a simulation or in a real
//!   run, and replays it.
//! - With feature `arbitrary` the inputs of a fuzz target are made by chance:
//!   [`Message`](crate::publish::Message), [`Envelope`](crate::envelope::Envelope),
//!   [`DeliveryContext`](crate::delivery::DeliveryContext), [`Reply`](crate::wire::Reply),
//!   [`ClaimRef`](crate::claim::ClaimRef), [`Answer`] and [`TokenAnswer`].

mod answer;
#[cfg(feature = "arbitrary")]
mod arbitrary;
mod builder;
mod drive;
mod event;
mod over_grpc;
pub mod replies;
mod sent;
mod settled;
mod simulation;
pub mod trace;

pub use answer::{Answer, TokenAnswer};
pub use builder::SimulationBuilder;
pub use event::Event;
pub use sent::{SentMessage, SentRequest, Stored};
pub use settled::Settled;
pub use simulation::Simulation;
