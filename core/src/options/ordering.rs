//! Ordering keys: which one a hook has, and what a failure does to it.

use std::fmt;
use std::sync::Arc;

use crate::envelope::Envelope;

/// The ordering key of hook deliveries. Plain messages carry their own.
#[derive(Clone, Default)]
pub enum OrderingKey {
    /// No key: messages are unordered.
    #[default]
    None,
    /// The same key for every hook.
    Fixed(String),
    /// A key made from the hook; an empty one means none.
    FromEnvelope(Arc<dyn Fn(&Envelope) -> String + Send + Sync>),
}

impl fmt::Debug for OrderingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::Fixed(key) => f.debug_tuple("Fixed").field(key).finish(),
            Self::FromEnvelope(_) => f.write_str("FromEnvelope(…)"),
        }
    }
}

/// What a failed message does to the later ones of its ordering key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OrderingOnFailure {
    /// They go on, in the order they were admitted. A message that is tried again is stored
    /// behind them.
    #[default]
    Continue,
    /// The key is stopped. What waits of it, and what is admitted of it from then on, fails as
    /// [`KeyStopped`](crate::reason::Reason::KeyStopped) until the key is resumed, so that nothing
    /// is stored behind a gap that nobody knows of.
    Hold,
}
