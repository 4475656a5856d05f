//! Our own client, as a program would use it: one publisher, plain messages or hooks.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use pubsink_core::attributes::Attributes;
use pubsink_core::delivery::DeliveryContext;
use pubsink_core::envelope::Envelope;
use pubsink_core::options::{Compression, PublisherOptions, Wire};
use pubsink_core::publish::Message;
use pubsink_tokio::{Delivery, Publisher};
use smol::Executor;

use crate::Error;
use crate::load::{ATTRIBUTES, Load, UNCONFIRMED_MAX};
use crate::measure::{Figures, Started};

/// What each message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload {
    /// The body as it is, with the load's attributes.
    Raw,
    /// A hook with that body.
    Hook,
}

/// Options for the server at `address`.
///
/// # Errors
///
/// The address is none.
pub fn options(
    address: &str,
    wire: Wire,
    compression: Compression,
) -> Result<PublisherOptions, Error> {
    // One tenant, bounded by the load's own window.
    let options = PublisherOptions::builder("p", "hooks")
        .endpoint(&format!("http://{address}"))
        .wire(wire)
        .compression(compression)
        .batch_queue_max(UNCONFIRMED_MAX)
        .batch_queue_tenant(UNCONFIRMED_MAX)
        .inline_max_bytes(usize::MAX);
    Ok(options.build()?)
}

/// Publishes the load on this thread's tokio runtime.
///
/// # Errors
///
/// A message failed.
pub async fn on_tokio(
    options: PublisherOptions,
    load: &Load,
    payload: Payload,
) -> Result<Figures, Error> {
    let publisher = pubsink_tokio::publisher(options).spawn()?;
    measured(&publisher, load, payload).await
}

/// Publishes the load on a smol executor that runs on this thread.
///
/// # Errors
///
/// A message failed.
pub fn on_smol(options: PublisherOptions, load: &Load, payload: Payload) -> Result<Figures, Error> {
    let executor = Arc::new(Executor::new());
    let publisher = pubsink_smol::publisher(options).spawn_on(&executor)?;
    smol::block_on(executor.run(measured(&publisher, load, payload)))
}

/// The hook with the body of that number.
#[must_use]
pub fn hook(load: &Load, number: usize) -> Envelope {
    let header = |name: &str, value: &'static str| (name.to_owned(), Bytes::from(value));
    let id = format!("019ad465-4e4c-7650-a69e-{number:012x}");
    if let Some(hook) = load.hook(number) {
        return Envelope { id, ..hook };
    }
    Envelope {
        id,
        source_id: "bench".to_owned(),
        tenant_id: None,
        received_at: 1_764_500_000_000,
        method: "POST".to_owned(),
        path: "/hooks/bench".to_owned(),
        headers: vec![
            header("Content-Type", "application/json"),
            header("X-Bench-Event", "message.sent"),
        ],
        content_type: Some("application/json".to_owned()),
        body: load.body(number).clone(),
        dedupe_key: None,
    }
}

async fn measured(publisher: &Publisher, load: &Load, payload: Payload) -> Result<Figures, Error> {
    let source = Source {
        load,
        payload,
        attributes: ATTRIBUTES.into_iter().collect(),
    };
    let started = Started::now()?;
    let window = load.window();
    let mut unconfirmed = VecDeque::<Delivery>::with_capacity(window);
    for number in 0..load.messages {
        if unconfirmed.len() == window
            && let Some(oldest) = unconfirmed.pop_front()
        {
            oldest.await?;
        }
        unconfirmed.push_back(source.send(publisher, number));
    }
    for delivery in unconfirmed {
        delivery.await?;
    }
    started.end(load.messages)
}

struct Source<'a> {
    load: &'a Load,
    payload: Payload,
    attributes: Attributes,
}

impl Source<'_> {
    fn send(&self, publisher: &Publisher, number: usize) -> Delivery {
        match self.payload {
            Payload::Raw => {
                let mut message = Message::new(self.load.body(number).clone());
                message.attributes = self.attributes.clone();
                publisher.publish(message)
            }
            Payload::Hook => {
                publisher.deliver(&hook(self.load, number), &DeliveryContext::batched())
            }
        }
    }
}
