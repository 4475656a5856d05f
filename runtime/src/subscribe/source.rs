//! Where deliveries come from.

use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

use pubsink_core::reason::Reason;
use pubsink_core::text::Text;

use super::delivery::Delivery;

/// Hands out the messages of one subscription, as many at a time as may be with handlers.
///
/// A runtime crate makes one of [`SubscriberOptions`](pubsink_core::subscribe::SubscriberOptions).
/// A test makes one of its own, with [`Delivery::new`].
pub trait Source: Send + 'static {
    /// The subscription's name, `projects/P/subscriptions/S`.
    fn subscription(&self) -> &str;

    /// The next message. None: there will be no more.
    ///
    /// A future that is dropped loses nothing: what it would have given comes next, or goes back.
    fn next(&mut self) -> impl Future<Output = Option<Delivery>> + Send;

    /// Begins to close: nothing more is asked for, what was not handed out goes back at once, and
    /// what is out may still be settled until the deadline; then it goes back. Called again, it
    /// sets another deadline. None: it takes the time it takes.
    fn close(&mut self, deadline: Option<Instant>);

    /// Resolves once everything is settled, confirmed where it can be, and nothing more is done.
    /// Closes by itself only where [`next`](Self::next) gave none.
    fn closed(&mut self) -> impl Future<Output = SourceEnd> + Send;
}

/// Why a source hands out no more.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SourceEnd {
    /// It was closed.
    Closed,
    /// Subscription, rights or credentials are wrong, and stayed so.
    GaveUp(Arc<Reason>),
    /// Whatever drove it is gone.
    Lost(Text),
}
