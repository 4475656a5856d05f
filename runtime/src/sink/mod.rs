//! Sinks: what a hook is delivered to.
//!
//! A sink of one's own is one function, and what it promises beside it where that is not the
//! default:
//!
//! ```
//! use pubsink_runtime::core::delivery::DeliveryContext;
//! use pubsink_runtime::core::envelope::Envelope;
//! use pubsink_runtime::core::failure::Failure;
//! use pubsink_runtime::core::sink::Receipt;
//! use pubsink_runtime::sink::Sink;
//!
//! struct Folder(std::path::PathBuf);
//!
//! impl Sink for Folder {
//!     async fn deliver(&self, hook: &Envelope, _: &DeliveryContext) -> Result<Receipt, Failure> {
//!         let name = hook.id.replace('/', "_");
//!         match std::fs::write(self.0.join(&name), &hook.body) {
//!             Ok(()) => Ok(Receipt::with_id(name)),
//!             Err(error) => Err(Failure::transient(error).maybe_stored(true)),
//!         }
//!     }
//! }
//! ```
//!
//! What a failure asks for is said in [`pubsink_core::sink`]. Two sinks are here: [`PubsubSink`],
//! which publishes to a topic, and [`LogSink`].

mod erased;
mod log;
mod pubsub;
mod safe;
mod trace;

use std::future::Future;
use std::sync::Arc;

use pubsink_core::delivery::DeliveryContext;
use pubsink_core::envelope::Envelope;
use pubsink_core::failure::Failure;
use pubsink_core::sink::{Description, Receipt, Subject};

pub(crate) use erased::{AnySink, Panicked, asked};
pub use log::LogSink;
pub use pubsub::PubsubSink;
pub use safe::safe_deliver;
pub(crate) use safe::{broken, deliver_safely};

/// What a hook is delivered to.
///
/// Delivery is at least once: a hook may come again, after a failure, a timeout or a restart. It
/// has the same id then, and the next attempt number. A sink is the user's code: whatever panics
/// in it is a failure of the one delivery, or the answer that stands as the default here.
pub trait Sink: Send + Sync + 'static {
    /// Delivers a hook: one attempt. `Ok` means that the destination has it.
    ///
    /// The future is dropped when it takes longer than the dispatcher's `attempt_timeout`.
    fn deliver(
        &self,
        envelope: &Envelope,
        context: &DeliveryContext,
    ) -> impl Future<Output = Result<Receipt, Failure>> + Send;

    /// Whether it batches deliveries. Default: no.
    ///
    /// The attempts of one that does are not counted against the dispatcher's concurrency, since
    /// they wait in it for company. It has to bound what it holds, and to batch only deliveries
    /// whose context [says so](DeliveryContext::batch). The context of a hook with an
    /// [ordering key](Self::ordering_key) does not where it keeps [order](Self::ordered): such a
    /// hook is sent by itself, and counts against the concurrency.
    fn batched(&self) -> bool {
        false
    }

    /// Whether its `Ok` means that something which outlives this process has the hook. Default:
    /// yes.
    fn durable(&self) -> bool {
        true
    }

    /// The largest body it sends itself; a larger one comes with a
    /// [claim](DeliveryContext::claim), which it sends instead. Default: none, it sends every
    /// body and never uses a claim. 0 is refused when the dispatcher is built.
    fn inline_max_bytes(&self) -> Option<usize> {
        None
    }

    /// Where it sends the hooks of `subject`, for those who read an AsyncAPI document. Holds no
    /// credentials. Default: nowhere that could be told.
    fn describe(&self, subject: &Subject) -> Option<Description> {
        let _ = subject;
        None
    }

    /// Whether the hooks of an [ordering key](Self::ordering_key) are to come one at a time and in
    /// the order they were accepted: none before the one ahead of it is delivered, or given up.
    /// Default: no.
    fn ordered(&self) -> bool {
        false
    }

    /// The ordering key of a hook, asked when it is accepted and only of a sink that keeps
    /// [order](Self::ordered). Default: none, the hook may overtake others.
    fn ordering_key(&self, envelope: &Envelope) -> Option<String> {
        let _ = envelope;
        None
    }
}

/// A sink that somebody else holds, too.
impl<S: Sink> Sink for Arc<S> {
    async fn deliver(
        &self,
        envelope: &Envelope,
        context: &DeliveryContext,
    ) -> Result<Receipt, Failure> {
        (**self).deliver(envelope, context).await
    }

    fn batched(&self) -> bool {
        (**self).batched()
    }

    fn durable(&self) -> bool {
        (**self).durable()
    }

    fn inline_max_bytes(&self) -> Option<usize> {
        (**self).inline_max_bytes()
    }

    fn describe(&self, subject: &Subject) -> Option<Description> {
        (**self).describe(subject)
    }

    fn ordered(&self) -> bool {
        (**self).ordered()
    }

    fn ordering_key(&self, envelope: &Envelope) -> Option<String> {
        (**self).ordering_key(envelope)
    }
}
