//! Services: what handles the messages of subscriptions.
//!
//! A handler is an async function. What it takes is made of the message, what it returns says what
//! becomes of it:
//!
//! ```
//! use std::time::Duration;
//! use pubsink_runtime::Publisher;
//! use pubsink_runtime::core::subscribe::{Backoff, Settlement};
//! use pubsink_runtime::seam::Runtime;
//! use pubsink_runtime::service::{Context, Hook, Json, Reply, Service, handler};
//! use pubsink_runtime::subscribe::Source;
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Deserialize)]
//! struct Order { number: u64, express: bool }
//!
//! #[derive(Serialize)]
//! struct Shipped { number: u64 }
//!
//! /// A reply: the order is acked once it is stored. An error: the order comes again.
//! async fn ship(context: Context, Json(order): Json<Order>) -> Result<Reply, std::io::Error> {
//!     if order.express && context.lease().is_lost() {
//!         return Err(std::io::Error::other("somebody else has it"));
//!     }
//!     Ok(Reply::json(&Shipped { number: order.number })?)
//! }
//!
//! async fn record(hook: Hook) -> Settlement {
//!     match hook.body() {
//!         Some(body) if body.is_empty() => Settlement::Drop,
//!         _ => Settlement::Ack,
//!     }
//! }
//!
//! async fn serve<R: Runtime>(runtime: R, orders: impl Source, hooks: impl Source, shipped: Publisher) {
//!     let backoff = Backoff { max_attempts: Some(8), ..Backoff::default() };
//!     let service = Service::builder()
//!         .subscription(orders, handler(ship).reply_to(shipped).retry(backoff))
//!         .subscription(hooks, record)
//!         .on_event(|event| println!("{event:?}"))
//!         .build()
//!         .expect("every handler has what it needs");
//!     let (handle, driver) = service.connect(runtime.clone(), 42);
//!     runtime.spawn(async { drop(driver.await) });
//!
//!     // When it is time:
//!     let stopped = handle.shutdown(Duration::from_secs(10)).await;
//!     println!("nothing was left: {}", stopped.is_clean());
//! }
//! ```
//!
//! # What is promised
//!
//! - Every delivery is settled once, whatever happens: a handler that fails, panics, is stopped or
//!   dropped, a layer that does, a message that cannot be read, all are a retry of that message
//!   and touch no other. A handler that asked for nothing else gets its message again.
//! - A message is settled after its reply is stored, and retried where that fails.
//! - What fails again and again waits longer and longer, where a
//!   [policy](HandlerBuilder::retry) says so, with its lease kept and without a handler's place.
//! - Delivery is at least once: a message may be handled twice, also after an ack.
//!
//! # The way of a message
//!
//! 1. A [source](crate::subscribe::Source) hands it out when one of its handlers' places is free,
//!    and none of its ordering key is in hand.
//! 2. It gets a task and a [span](handling_span) of its own. The [layers](ServiceBuilder::layer)
//!    see its [`Context`]; inside of them it is [read](FromMessage) and handled.
//! 3. The [`Outcome`] comes back through the layers. A reply in it is published, and waited for.
//! 4. The delivery is settled. Its task waits until it is known whether that counts, and
//!    [tells](ServiceEvent::SettleFailed) where it does not.
//!
//! # Layers
//!
//! To a layer a handler is a `tower_service::Service<Context, Response = Outcome>`, so those of
//! the crate `tower` fit: a time limit, a limit of concurrency. An error of a layer is a retry.

mod batch;
mod builder;
mod contain;
mod context;
mod control;
mod decode_error;
mod desk;
mod event;
mod from_message;
mod handle;
mod handler;
mod handler_builder;
mod handling;
mod hook;
mod json;
mod outcome;
mod pump;
mod reply;
mod route;
mod running;
mod span;
mod tell;

pub use batch::{Batch, Item, Ticket};
pub use builder::{BuildError, Service, ServiceBuilder};
pub use context::{Context, DELIVERY_ATTEMPT, PARTITION_KEY};
pub use control::{Stopped, SubscriptionEnd};
pub use decode_error::DecodeError;
pub use desk::DecodeFailure;
pub use event::ServiceEvent;
pub use from_message::FromMessage;
pub use handle::{ServiceDriver, ServiceHandle, Stopping};
pub use handler::Handler;
pub use handler_builder::{
    HandlerBuilder, HandlerSpec, IntoHandler, Many, One, batch_handler, handler,
};
pub use hook::Hook;
pub use json::Json;
pub use outcome::{BoxError, HandlerError, IntoSettlement, Outcome};
pub use reply::{Reply, ReplyError};
pub use route::{Route, RouteFuture};
pub use span::{HandlingClass, handling_span, mark_handling};
