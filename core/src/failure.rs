//! What became of a delivery, and whose fault a failure is.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use crate::message_id::MessageId;
use crate::reason::Reason;

/// What became of one message.
pub type Outcome = Result<Delivered, Failure>;

/// Pub/Sub has stored the message.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Delivered {
    /// The id Pub/Sub gave the message.
    pub message_id: MessageId,
    /// What is worth knowing although nothing failed.
    #[cfg_attr(
        feature = "serde",
        serde(skip_serializing_if = "Diagnostics::is_empty")
    )]
    pub diagnostics: Diagnostics,
}

impl Delivered {
    /// A delivery, as a sink of one's own reports it.
    #[must_use]
    pub fn new(message_id: MessageId, diagnostics: Diagnostics) -> Self {
        Self {
            message_id,
            diagnostics,
        }
    }
}

/// Why a message was not delivered, and what should follow.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failure {
    /// What should follow.
    pub class: Class,
    /// What happened. Shared by all messages of one request.
    pub reason: Arc<Reason>,
    /// Whether Pub/Sub may have stored the message all the same, so that another attempt may
    /// store it twice.
    pub may_have_been_stored: bool,
    /// What else is worth knowing.
    pub diagnostics: Diagnostics,
}

impl Failure {
    /// A failure of `class` that certainly left nothing stored.
    #[must_use]
    pub fn new(class: Class, reason: impl Into<Arc<Reason>>) -> Self {
        Self {
            class,
            reason: reason.into(),
            may_have_been_stored: false,
            diagnostics: Diagnostics::default(),
        }
    }

    /// The same failure of a message that may have been stored.
    #[must_use]
    pub fn maybe_stored(mut self, maybe: bool) -> Self {
        self.may_have_been_stored = maybe;
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.class, self.reason)?;
        if self.may_have_been_stored {
            f.write_str(" (it may have been stored all the same)")?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.reason)
    }
}

/// What should follow a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Retrying cannot help: the message itself is at fault.
    Permanent,
    /// Retrying cannot help until the operator mends topic, rights or credentials: no message is
    /// at fault.
    Config,
    /// The service asked for a pause of this length.
    RetryAfter(Duration),
    /// It may pass by itself.
    Transient,
}

impl Class {
    /// The class an operator filters on.
    #[must_use]
    pub fn error_class(self) -> ErrorClass {
        match self {
            Self::Permanent | Self::Config => ErrorClass::Permanent,
            Self::RetryAfter(_) => ErrorClass::Throttled,
            Self::Transient => ErrorClass::Transient,
        }
    }

    /// Whether the operator has to mend something.
    #[must_use]
    pub fn is_config(self) -> bool {
        self == Self::Config
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Permanent => f.write_str("permanent"),
            Self::Config => f.write_str("permanent (configuration)"),
            Self::RetryAfter(pause) => write!(f, "throttled, retry after {} ms", pause.as_millis()),
            Self::Transient => f.write_str("transient"),
        }
    }
}

/// The class an operator filters dead letters by.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// Retrying cannot help.
    Permanent,
    /// The destination asked for a pause.
    Throttled,
    /// Anything else that failed.
    Transient,
}

impl ErrorClass {
    /// Every class.
    #[doc(alias = "error_classes")]
    pub const ALL: [Self; 3] = [Self::Permanent, Self::Throttled, Self::Transient];

    /// The class as operators write it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Permanent => "permanent",
            Self::Throttled => "throttled",
            Self::Transient => "transient",
        }
    }
}

/// What is worth knowing about a delivery beside its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Diagnostics {
    /// Headers that were left out of the message because of `max_headers` or
    /// `forward_headers_max_bytes`, by name.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Vec::is_empty"))]
    pub headers_left_out: Vec<String>,
}

impl Diagnostics {
    /// Whether there is nothing to say.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.headers_left_out.is_empty()
    }
}

/// Serialized flat, as the command writes it:
/// `{"class":"permanent","config":false,"reason":{"kind":…}}`, with `may_have_been_stored` and
/// `diagnostics` only where they have something to say.
#[cfg(feature = "serde")]
impl serde::Serialize for Failure {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct as _;
        let mut fields = serializer.serialize_struct("Failure", 5)?;
        fields.serialize_field("class", &self.class.error_class())?;
        fields.serialize_field("config", &self.class.is_config())?;
        fields.serialize_field("reason", &*self.reason)?;
        if self.may_have_been_stored {
            fields.serialize_field("may_have_been_stored", &true)?;
        }
        if !self.diagnostics.is_empty() {
            fields.serialize_field("diagnostics", &self.diagnostics)?;
        }
        fields.end()
    }
}
