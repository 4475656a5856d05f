//! Subscribing: from the streaming pull to the ack.
//!
//! [`Subscriber`] is the machine between a subscription and the handlers. It asks for messages as
//! far as there is room for them, keeps their leases, gives each to a handler when its turn comes,
//! and tells Pub/Sub what became of it. It decides all of it and does none of it:
//!
//! ```text
//!            StreamingPull                                   Deliver
//! Pub/Sub ──────────────────▶ leases ─▶ buffer, by ordering key ─▶ handler
//!    ▲         or Pull          │                                    │ settlement
//!    └── ModifyAckDeadline ◀────┘                                    │
//!    └── Acknowledge, ModifyAckDeadline 0 ◀── batches ◀── held ◀─────┘
//! ```
//!
//! Like every machine here it is fed by `handle` and drained by `poll` until it waits. It speaks of
//! calls and streams and knows no wire: [`wire`](crate::wire) writes and reads both.

mod agenda;
mod asking;
mod attempts;
mod calls;
mod extension;
mod failure;
mod fill;
mod hand;
mod io;
mod leases;
mod machine;
mod message;
mod numbered;
mod options;
mod outbox;
mod pauses;
mod settlement;
mod streams;
mod turns;

pub use attempts::{AfterFailure, Attempts, Backoff, GiveUp, Retry};
pub use failure::{CallClass, CallFailure, IdFailure};
pub use io::{
    CallId, Confirmations, DeliveryId, LeaseLost, StreamAnswer, StreamEnd, StreamId,
    SubscribeEvent, SubscribeGauges, SubscribeInput, SubscribeMisuse, SubscribeOutput,
    SubscribeWait,
};
pub use machine::Subscriber;
pub use message::{AckId, ReceivedMessage};
pub use options::{SubscriberOptions, SubscriberOptionsBuilder};

pub use crate::options::Wire;
pub use settlement::{SettleError, Settlement};
