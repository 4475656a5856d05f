//! pubsink on smol: its executors, async-io's timers, and an HTTP client on isahc (curl). No
//! tokio; with the feature `grpc` its traits and locks, none of its runtime.
//!
//! ```no_run
//! use pubsink_smol::core::options::PublisherOptions;
//! use pubsink_smol::core::publish::Message;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let options = PublisherOptions::builder("my-project", "hooks").build()?;
//! let publisher = pubsink_smol::publisher(options).spawn()?;
//! let delivered = publisher.publish(Message::new("hello")).await?;
//! println!("stored as {}", delivered.message_id);
//! # Ok(())
//! # }
//! ```
//!
//! Where it runs is the caller's choice: [`spawn`](PublisherBuilder::spawn) on smol's global
//! executor, [`spawn_on`](PublisherBuilder::spawn_on) one of your own, or
//! [`build`](PublisherBuilder::build) and run the [`Driver`] under anything that polls a future.

mod builder;
pub mod claims;
mod client;
mod dispatch;
mod driver;
#[cfg(feature = "grpc")]
pub mod http2;
mod runtime;
pub mod subscribe;

pub use builder::{NoClient, PublisherBuilder, publisher};
pub use client::{HttpClient, HttpClientBuilder};
pub use dispatch::{DispatchBuilder, dispatch};
pub use driver::Driver;
#[cfg(feature = "grpc")]
pub use http2::Http2Client;
pub use pubsink_runtime::dispatch::{
    Acceptance, Dispatch, Incoming, JournalCall, Shutdown, StartError,
};
#[cfg(feature = "metrics")]
pub use pubsink_runtime::metrics;
pub use pubsink_runtime::{
    CachedTokens, Deliveries, Delivery, Flush, NoToken, Publisher, TokenFn, TokenProvider,
    TokenSource, core, journal, seam, service, sink,
};
pub use runtime::{Smol, SmolTimer};
pub use subscribe::{Subscription, SubscriptionBuilder, SubscriptionHandle, subscription};
