//! The sans-IO core of pubsink: webhooks and events to Google Cloud Pub/Sub as state machines and
//! pure functions. No I/O, no clock, no async, no threads, no ambient randomness.
//!
//! # The machine
//!
//! [`publish::Publisher`] publishes to one topic. It has two verbs: [`handle`] takes something
//! that happened, [`poll`] gives something to do or the instant until which nothing is. A driver
//! is a loop:
//!
//! 1. `handle(now, input)` for each thing that happened: a message, a token, a reply, a flush, a
//!    close. A timeout needs no input; it shows in the next poll.
//! 2. `poll(now)` until it answers [`Step::Wait`](publish::Step::Wait), doing what each
//!    [`Step::Do`](publish::Step::Do) says.
//! 3. Sleep until the wait's instant, or the next thing that happens.
//!
//! Equal inputs give equal outputs, byte for byte: time and the seed are inputs too.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::{Duration, Instant};
//! use pubsink_core::options::PublisherOptions;
//! use pubsink_core::publish::{Admission, Input, Message, Output, Publisher, Step};
//! use pubsink_core::wire::Reply;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let options = Arc::new(PublisherOptions::builder("my-project", "hooks").build()?);
//! let mut publisher = Publisher::new(Arc::clone(&options), false, 42);
//! let now = Instant::now();
//! let admission = Admission::message(Message::new("hello"), &options)?;
//! publisher.handle(now, Input::Admit { tag: "first", admission })?;
//!
//! // The batch waits 20 ms for company, then leaves.
//! let Step::Wait(Some(due), _) = publisher.poll(now) else { unreachable!() };
//! assert_eq!(due, now + Duration::from_millis(20));
//! let Step::Do(Output::Send(request)) = publisher.poll(due) else { unreachable!() };
//! let (http, sent) = request.encode();
//! assert_eq!(http.body(), r#"{"messages":[{"data":"aGVsbG8="}]}"#);
//!
//! let reply = Reply { status: 200, body: r#"{"messageIds":["17"]}"#.into(), ..Reply::default() };
//! publisher.handle(due, Input::Response(sent.answered(&reply)))?;
//! let Step::Do(Output::Settled { tag, outcome }) = publisher.poll(due) else { unreachable!() };
//! assert_eq!((tag, outcome?.message_id.as_str()), ("first", "17"));
//! # Ok(())
//! # }
//! ```
//!
//! # Subscribing
//!
//! [`subscribe::Subscriber`] is the machine of one subscription, with the same two verbs. It asks
//! for messages as far as there is room, keeps their leases, gives each to a handler, and tells
//! Pub/Sub what became of it. It knows no wire: [`wire::subscribe`] writes and reads both.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Instant;
//! use pubsink_core::publish::Step;
//! use pubsink_core::subscribe::{Settlement, SubscribeInput, SubscribeOutput, Subscriber};
//! use pubsink_core::subscribe::{SubscriberOptions, Wire};
//! use pubsink_core::wire::{Reply, subscribe::rest};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let options = SubscriberOptions::builder("my-project", "hooks-sub").wire(Wire::Rest).build()?;
//! let (options, now) = (Arc::new(options), Instant::now());
//! let mut subscriber = Subscriber::new(Arc::clone(&options), now, 42);
//! let Step::Do(SubscribeOutput::Pull { call, max_messages, .. }) = subscriber.poll(now)
//!     else { unreachable!() };
//! let request = rest::pull(&options, max_messages, None);
//! assert_eq!(request.body(), r#"{"maxMessages":1000}"#);
//!
//! let message = r#"{"ackId":"a1","message":{"messageId":"17","data":"aGVsbG8="}}"#;
//! let body = format!(r#"{{"receivedMessages":[{message}]}}"#).into();
//! let reply = Reply { status: 200, body, ..Reply::default() };
//! let result = rest::read_pull(&reply, None).map(|pulled| pulled.messages);
//! subscriber.handle(now, SubscribeInput::Pulled { call, result })?;
//! let Step::Do(SubscribeOutput::Deliver { delivery, message }) = subscriber.poll(now)
//!     else { unreachable!() };
//! assert_eq!(message.data, "hello");
//!
//! // More is asked for, and the lease is extended: REST does not tell how long it is.
//! let Step::Do(SubscribeOutput::Pull { .. }) = subscriber.poll(now) else { unreachable!() };
//! let Step::Wait(Some(soon), _) = subscriber.poll(now) else { unreachable!() };
//! let Step::Do(SubscribeOutput::ModifyDeadline { seconds: 60, .. }) = subscriber.poll(soon)
//!     else { unreachable!() };
//!
//! // The handler is done. Its ack waits 100 ms for company.
//! let settlement = Settlement::Ack;
//! subscriber.handle(soon, SubscribeInput::Settle { delivery, settlement })?;
//! let Step::Wait(Some(due), _) = subscriber.poll(soon) else { unreachable!() };
//! let Step::Do(SubscribeOutput::Acknowledge { call, ids, .. }) = subscriber.poll(due)
//!     else { unreachable!() };
//! let request = rest::acknowledge(&options, &ids, None);
//! assert_eq!(request.body(), r#"{"ackIds":["a1"]}"#);
//!
//! subscriber.handle(due, SubscribeInput::Answered { call, result: Ok(()) })?;
//! let Step::Do(SubscribeOutput::Settled { result, .. }) = subscriber.poll(due)
//!     else { unreachable!() };
//! assert_eq!(result, Ok(()));
//! # Ok(())
//! # }
//! ```
//!
//! # Dispatch
//!
//! [`dispatch::Dispatcher`] is a machine with the same two verbs: it delivers every row of a
//! [`journal`] to its [`sink`], tries again, and gives up in the end. [`journal::Table`] is a
//! journal in memory.
//!
//! # Pure functions beside them
//!
//! [`message`] encodes and decodes the hook message; [`wire::read_reply`] classifies a reply;
//! [`publish::Admission`] checks a message; [`claim`] reads claim refs; [`retry`] says when a
//! failed delivery is tried again; [`envelope_line`] reads a hook from a line of JSON;
//! [`asyncapi`] writes down for consumers which channels carry which hooks.
//!
//! [`handle`]: publish::Publisher::handle
//! [`poll`]: publish::Publisher::poll

pub use {bytes, http, serde_json};

pub mod asyncapi;
pub mod attributes;
pub mod claim;
pub mod delivery;
pub mod dispatch;
pub mod envelope;
pub mod envelope_line;
pub mod failure;
pub mod journal;
mod json;
pub mod limits;
pub mod message;
mod message_id;
pub mod options;
pub mod publish;
pub mod reason;
pub mod retry;
pub mod sink;
pub mod subscribe;
#[cfg(feature = "test-util")]
pub mod testing;
pub mod text;
pub mod token;
pub mod token_cache;
pub mod trace_context;
pub mod wire;
