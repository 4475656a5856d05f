//! Sinks whose type is forgotten.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;

use pubsink_core::delivery::DeliveryContext;
use pubsink_core::envelope::Envelope;
use pubsink_core::failure::Failure;
use pubsink_core::sink::{Description, Receipt, Subject};

use super::Sink;

/// A delivery on its way.
pub(crate) type Attempt<'a> = Pin<Box<dyn Future<Output = Result<Receipt, Failure>> + Send + 'a>>;

/// A sink whose type is forgotten: a dispatcher has several kinds of them, and a box an attempt
/// is nothing beside what an attempt does.
pub(crate) trait AnySink: Send + Sync {
    fn deliver<'a>(&'a self, envelope: &'a Envelope, context: &'a DeliveryContext) -> Attempt<'a>;
    fn batched(&self) -> bool;
    fn durable(&self) -> bool;
    fn inline_max_bytes(&self) -> Option<usize>;
    fn describe(&self, subject: &Subject) -> Option<Description>;
    fn ordered(&self) -> bool;
    fn ordering_key(&self, envelope: &Envelope) -> Option<String>;
}

impl<S: Sink> AnySink for S {
    fn deliver<'a>(&'a self, envelope: &'a Envelope, context: &'a DeliveryContext) -> Attempt<'a> {
        Box::pin(Sink::deliver(self, envelope, context))
    }

    fn batched(&self) -> bool {
        Sink::batched(self)
    }

    fn durable(&self) -> bool {
        Sink::durable(self)
    }

    fn inline_max_bytes(&self) -> Option<usize> {
        Sink::inline_max_bytes(self)
    }

    fn describe(&self, subject: &Subject) -> Option<Description> {
        Sink::describe(self, subject)
    }

    fn ordered(&self) -> bool {
        Sink::ordered(self)
    }

    fn ordering_key(&self, envelope: &Envelope) -> Option<String> {
        Sink::ordering_key(self, envelope)
    }
}

/// The user's code panicked instead of answering.
#[derive(Debug)]
pub(crate) struct Panicked;

/// What a sink answers to a plain question. `question` is the function's name.
pub(crate) fn asked<T>(
    name: &str,
    question: &'static str,
    ask: impl FnOnce() -> T,
) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(ask)).map_err(|_| {
        tracing::error!(sink = name, question, "a sink panicked when it was asked");
        Panicked
    })
}
