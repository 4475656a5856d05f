//! What becomes of a delivery.

use std::sync::Arc;
use std::time::Duration;

use crate::reason::Reason;
use crate::text::Text;

/// What a handler says of its delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settlement {
    /// Done: Pub/Sub forgets it.
    Ack,
    /// Never to be handled: acked, since Pub/Sub has no other drop. At the last attempt that a
    /// dead-letter policy allows
    /// ([`max_delivery_attempts`](super::SubscriberOptions::max_delivery_attempts)) it is nacked,
    /// so that it reaches the dead-letter topic.
    Drop,
    /// Again, at once.
    Retry,
    /// Again, after this time: its lease is kept until then. At most
    /// [`max_lease`](super::SubscriberOptions::max_lease), counted from when it was received, less
    /// two seconds for giving it back: a longer one is [`SettleError::RetryTooLate`], and the message
    /// goes back at once.
    RetryAfter(Duration),
}

/// Why a settlement did not count. The message comes again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SettleError {
    /// Its lease had ended, or Pub/Sub says so of its ack id.
    #[error("the lease had ended: {0}")]
    LeaseLost(Text),
    /// It could not be told to Pub/Sub before its lease ended.
    #[error("Pub/Sub could not be told before the lease ended: {0}")]
    Unconfirmed(Arc<Reason>),
    /// The pause that was asked for is longer than a lease can be kept.
    #[error("a retry after {} s is over the limit of {} s", .asked.as_secs_f64(), .max.as_secs_f64())]
    RetryTooLate {
        /// What was asked for.
        asked: Duration,
        /// The most that is left of [`max_lease`](super::SubscriberOptions::max_lease).
        max: Duration,
    },
    /// The subscriber was closed before it was known.
    #[error("the subscriber was closed before Pub/Sub had confirmed it")]
    Closed,
}
