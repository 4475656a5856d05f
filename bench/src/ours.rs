//! Our own client, as a program would use it: one publisher, plain messages or hooks.

use std::collections::VecDeque;
use std::sync::Arc;

use pubsink_core::attributes::Attributes;
use pubsink_core::delivery::DeliveryContext;
use pubsink_core::options::{Compression, PublisherOptions, PublisherOptionsBuilder, Wire};
use pubsink_core::publish::Message;
use pubsink_tokio::{Deliveries, Delivery, Publisher};
use smol::Executor;

use crate::Error;
use crate::hooks::{Hooks, hook};
use crate::load::{ATTRIBUTES, Load, UNCONFIRMED_MAX};
use crate::measure::{Figures, Started};

/// What each message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload {
    /// The body as it is, with the load's attributes.
    Raw,
    /// The same, as many together as fit a request, four times at once.
    Together,
    /// A hook with that body.
    Hook,
}

/// What is published.
#[derive(Debug, Clone, Copy)]
pub struct Work<'a> {
    /// How many, and the bodies.
    pub load: &'a Load,
    /// The hooks, where they were read.
    pub hooks: Option<&'a Hooks>,
    /// What each message is.
    pub payload: Payload,
}

/// How many vectors are unconfirmed at a time, as of the other clients.
const VECTORS_IN_FLIGHT: usize = 4;

/// Options for the server at `address`.
#[must_use]
pub fn options(address: &str, wire: Wire, compression: Compression) -> PublisherOptionsBuilder {
    // One tenant, bounded by the load's own window.
    PublisherOptions::builder("p", "hooks")
        .endpoint(&format!("http://{address}"))
        .wire(wire)
        .compression(compression)
        .batch_queue_max(UNCONFIRMED_MAX)
        .batch_queue_tenant(UNCONFIRMED_MAX)
        .inline_max_bytes(usize::MAX)
}

/// Publishes the load on this thread's tokio runtime.
///
/// # Errors
///
/// A message failed.
pub async fn on_tokio(options: PublisherOptions, work: Work<'_>) -> Result<Figures, Error> {
    let publisher = pubsink_tokio::publisher(options).spawn()?;
    measured(&publisher, work).await
}

/// Publishes the load on a smol executor that runs on this thread.
///
/// # Errors
///
/// A message failed.
pub fn on_smol(options: PublisherOptions, work: Work<'_>) -> Result<Figures, Error> {
    let executor = Arc::new(Executor::new());
    let publisher = pubsink_smol::publisher(options).spawn_on(&executor)?;
    smol::block_on(executor.run(measured(&publisher, work)))
}

async fn measured(publisher: &Publisher, work: Work<'_>) -> Result<Figures, Error> {
    let started = Started::now()?;
    publish(publisher, work, work.load.window()).await?;
    started.end(work.load.messages)
}

/// Publishes the load, so many messages unconfirmed at a time; of those that are published together
/// four times a request's.
///
/// # Errors
///
/// A message failed.
pub async fn publish(publisher: &Publisher, work: Work<'_>, window: usize) -> Result<(), Error> {
    let attributes = ATTRIBUTES.into_iter().collect();
    match work.payload {
        Payload::Together => together(publisher, work.load, &attributes).await,
        Payload::Raw | Payload::Hook => one_by_one(publisher, work, window, &attributes).await,
    }
}

async fn one_by_one(
    publisher: &Publisher,
    work: Work<'_>,
    window: usize,
    attributes: &Attributes,
) -> Result<(), Error> {
    let mut unconfirmed = VecDeque::<Delivery>::with_capacity(window);
    for number in 0..work.load.messages {
        if unconfirmed.len() == window
            && let Some(oldest) = unconfirmed.pop_front()
        {
            oldest.await?;
        }
        unconfirmed.push_back(work.send(publisher, attributes, number));
    }
    for delivery in unconfirmed {
        delivery.await?;
    }
    Ok(())
}

async fn together(
    publisher: &Publisher,
    load: &Load,
    attributes: &Attributes,
) -> Result<(), Error> {
    let mut unconfirmed = VecDeque::<Deliveries>::new();
    for start in (0..load.messages).step_by(load.batch()) {
        if unconfirmed.len() == VECTORS_IN_FLIGHT
            && let Some(oldest) = unconfirmed.pop_front()
        {
            all_stored(oldest).await?;
        }
        let numbers = start..load.messages.min(start + load.batch());
        let messages = numbers.map(|number| message(load, attributes, number));
        unconfirmed.push_back(publisher.publish_all(messages));
    }
    for deliveries in unconfirmed {
        all_stored(deliveries).await?;
    }
    Ok(())
}

async fn all_stored(deliveries: Deliveries) -> Result<(), Error> {
    for outcome in deliveries.await {
        outcome?;
    }
    Ok(())
}

fn message(load: &Load, attributes: &Attributes, number: usize) -> Message {
    let mut message = Message::new(load.body(number).clone());
    message.attributes = attributes.clone();
    message
}

impl Work<'_> {
    fn send(&self, publisher: &Publisher, attributes: &Attributes, number: usize) -> Delivery {
        if self.payload != Payload::Hook {
            return publisher.publish(message(self.load, attributes, number));
        }
        let hook = match self.hooks {
            Some(hooks) => hooks.hook(number),
            None => hook(self.load, number),
        };
        publisher.deliver(&hook, &DeliveryContext::batched())
    }
}
