//! A subscription, and its handles.

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pubsink_core::subscribe::{SubscribeGauges, SubscriberOptions};

use super::delivery::Delivery;
use super::shared::Shared;
use super::source::{Source, SourceEnd};

/// The messages of one subscription, as they come. Dropped, it closes in the background: what was
/// not handed out goes back at once, and what is out may still be settled, as long as its lease
/// can be kept.
pub struct Subscription(Arc<Shared>);

impl Subscription {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self(shared)
    }

    /// A handle, to look into it and close it from elsewhere.
    #[must_use]
    pub fn handle(&self) -> SubscriptionHandle {
        SubscriptionHandle(Arc::clone(&self.0))
    }
}

impl Source for Subscription {
    fn subscription(&self) -> &str {
        self.0.name()
    }

    async fn next(&mut self) -> Option<Delivery> {
        poll_fn(|cx| self.0.poll_ready(cx)).await
    }

    fn close(&mut self, deadline: Option<Instant>) {
        self.0.close(deadline);
    }

    async fn closed(&mut self) -> SourceEnd {
        poll_fn(|cx| self.0.poll_end(cx)).await
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        // No lease is kept for longer than that.
        let deadline = self.0.now().checked_add(self.0.options.max_lease());
        self.0.close(deadline);
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt_shared("Subscription", &self.0, f)
    }
}

/// Looks into a subscription and closes it, from elsewhere. Clones share everything; it does not
/// keep the subscription open.
#[derive(Clone)]
pub struct SubscriptionHandle(Arc<Shared>);

impl SubscriptionHandle {
    /// What it holds.
    #[must_use]
    pub fn gauges(&self) -> SubscribeGauges {
        self.0.gauges().0
    }

    /// How many messages came that could not be read. Each was logged and left to its lease on
    /// purpose: given back it would come again at once, and again. So it comes again when its ack
    /// deadline is over, and a dead-letter policy ends that.
    #[must_use]
    pub fn unreadable(&self) -> u64 {
        self.0.gauges().0.unreadable
    }

    /// Whether its driver runs. When it does not, nothing more comes, and no settlement counts.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.0.gauges().1
    }

    /// Closes it as [`Source::close`] does. What is not settled within `limit` goes back.
    pub fn close(&self, limit: Duration) {
        self.0.close(self.0.now().checked_add(limit));
    }

    /// Its options.
    #[must_use]
    pub fn options(&self) -> &SubscriberOptions {
        &self.0.options
    }
}

impl fmt::Debug for SubscriptionHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt_shared("SubscriptionHandle", &self.0, f)
    }
}

fn fmt_shared(what: &str, shared: &Shared, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (gauges, is_alive) = shared.gauges();
    f.debug_struct(what)
        .field("subscription", &shared.name())
        .field("endpoint", &shared.options.endpoint().as_str())
        .field("gauges", &gauges)
        .field("is_alive", &is_alive)
        .finish()
}
