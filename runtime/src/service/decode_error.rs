//! A message that is not what its handler takes.

use pubsink_core::message;
use pubsink_core::text::Text;

/// Why a message cannot be read as what its handler takes. It is shown and logged: it says what is
/// wrong and where, and never holds a part of the body.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the message is not {codec}: {reason}")]
#[non_exhaustive]
pub struct DecodeError {
    /// What it was read as: `JSON`, `text`, `a hook`.
    pub codec: Text,
    /// What is wrong with it.
    pub reason: Text,
    /// The rule that a hook message breaks.
    #[source]
    pub hook: Option<message::DecodeError>,
}

impl DecodeError {
    /// The error of a codec of one's own. `reason` must not hold a part of the body.
    #[must_use]
    pub fn new(codec: impl Into<Text>, reason: impl Into<Text>) -> Self {
        Self {
            codec: codec.into(),
            reason: reason.into(),
            hook: None,
        }
    }
}

impl From<message::DecodeError> for DecodeError {
    fn from(error: message::DecodeError) -> Self {
        Self {
            hook: Some(error),
            ..Self::new("a hook", error.to_string())
        }
    }
}
