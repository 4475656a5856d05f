//! The driver that runs pubsink's machines, generic over the runtime.
//!
//! A runtime crate (`pubsink-tokio`) implements the [seam], three small traits, and gives
//! its users a constructor. Everything here only glues: what is sent, when, and what a reply
//! means is decided in `pubsink-core`.
//!
//! - [`Publisher`]: the handle. `Clone + Send + Sync`.
//! - [`Delivery`] and [`Deliveries`]: what a handle's calls return; resolve once Pub/Sub has
//!   confirmed.
//! - [`connect`]: a handle and the [`Driver`] future that runs it.
//! - [`TokenProvider`] and [`CachedTokens`]: credentials.
//! - `http2` (with the feature of that name): the streaming transport, generic over sockets.
//! - `metrics` (with the feature of that name): counters, gauges and histograms.
//! - [`dispatch`]: hooks to any number of [sinks](sink), out of a [journal].
//! - [`service`]: handlers for the messages of [subscriptions](subscribe).

mod after;
mod buffers;
pub mod claims;
mod delivery;
pub mod dispatch;
mod driver;
#[cfg(feature = "http2")]
pub mod http2;
mod in_span;
pub mod journal;
#[cfg(feature = "metrics")]
pub mod metrics;
#[cfg(not(feature = "metrics"))]
#[path = "metrics_off.rs"]
mod metrics;
mod place;
mod promise;
mod publisher;
pub mod seam;
pub mod service;
mod shared;
pub mod sink;
mod slots;
pub mod subscribe;
mod tasks;
mod together;
mod tokens;
mod waiter;
mod within;

pub use delivery::{Deliveries, Delivery, Flush};
#[cfg(feature = "test-util")]
pub use driver::connect_recorded;
pub use driver::{Driver, connect};
pub use publisher::Publisher;
pub use tokens::{CachedTokens, NoToken, TokenFn, TokenProvider, TokenSource};

pub use pubsink_core as core;
