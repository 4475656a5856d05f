//! pubsink on tokio: its clock, its tasks, and an HTTP client on hyper.
//!
//! ```no_run
//! use pubsink_tokio::core::options::PublisherOptions;
//! use pubsink_tokio::core::publish::Message;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let options = PublisherOptions::builder("my-project", "hooks").build()?;
//! let publisher = pubsink_tokio::publisher(options).spawn()?;
//! let delivered = publisher.publish(Message::new("hello")).await?;
//! println!("stored as {}", delivered.message_id);
//! // Many messages: one future for the outcomes of all.
//! for outcome in publisher.publish_all(["one", "two"].map(Message::new)).await {
//!     println!("stored as {}", outcome?.message_id);
//! }
//! # Ok(())
//! # }
//! ```

// The Rust in these pages is compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
mod readme {}
#[cfg(doctest)]
#[doc = include_str!("../../docs/publishing.md")]
mod publishing_page {}
#[cfg(doctest)]
#[doc = include_str!("../../docs/dispatch.md")]
mod dispatch_page {}
#[cfg(doctest)]
#[doc = include_str!("../../docs/claims.md")]
mod claims_page {}
#[cfg(doctest)]
#[doc = include_str!("../../docs/subscribing.md")]
mod subscribing_page {}

mod builder;
pub mod claims;
mod client;
mod dispatch;
pub mod http2;
mod runtime;
pub mod subscribe;

pub use builder::{NoRuntime, PublisherBuilder, publisher};
pub use client::{HttpClient, HttpClientBuilder};
pub use dispatch::{DispatchBuilder, dispatch};
pub use http2::Http2Client;
pub use pubsink_runtime::dispatch::{
    Acceptance, Dispatch, Incoming, JournalCall, Shutdown, StartError,
};
#[cfg(feature = "metrics")]
pub use pubsink_runtime::metrics;
pub use pubsink_runtime::{
    CachedTokens, Deliveries, Delivery, Driver, Flush, NoToken, Publisher, TokenFn, TokenProvider,
    TokenSource, core, journal, seam, service, sink,
};
pub use runtime::{Tokio, TokioTimer};
pub use subscribe::{Subscription, SubscriptionBuilder, SubscriptionHandle, subscription};
