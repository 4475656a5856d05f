//! Subscribing: messages in hand, and where they come from.
//!
//! A [`Source`] hands out [`Delivery`]s. Each is settled once: acked, dropped, or given back; one
//! that is let go of otherwise is given back at once. Until then its [`Lease`] is kept, and tells
//! when it is lost all the same.
//!
//! [`connect`] makes one that is a [`Subscription`] of Pub/Sub, over gRPC or REST, and the
//! [`Driver`](crate::Driver) that runs it.
//!
//! Most use a [service](crate::service), which runs a handler for each delivery. A source can be
//! read by hand, too:
//!
//! ```
//! use pubsink_runtime::subscribe::Source;
//!
//! async fn print(mut source: impl Source) {
//!     while let Some(delivery) = source.next().await {
//!         println!("{}", delivery.message().message_id);
//!         if let Err(error) = delivery.ack().await {
//!             eprintln!("it comes again: {error}");
//!         }
//!     }
//! }
//! ```

mod client;
mod client_id;
mod delivery;
mod driver;
mod ends;
mod hand;
mod lease;
mod shared;
mod source;
mod stream;
mod subscription;
mod tasks;
mod tell;

pub use client::Client;
pub use delivery::{Delivery, DeliveryEnd, Settler, Settling};
pub use driver::{ConnectError, connect};
pub(crate) use hand::Hand;
pub use lease::{Lease, Lost};
pub use source::{Source, SourceEnd};
pub use subscription::{Subscription, SubscriptionHandle};
