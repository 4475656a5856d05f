//! What a sink answers, and how it is read.

use std::time::Duration;

use crate::failure::{Class, Delivered, Diagnostics, Failure, MessageId};
use crate::text::TEXT_MAX_BYTES;

/// The hook was accepted by its destination.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Receipt {
    /// The id the destination gave it, where it gives any.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub message_id: Option<MessageId>,
    /// What is worth knowing although nothing failed.
    #[cfg_attr(
        feature = "serde",
        serde(skip_serializing_if = "Diagnostics::is_empty")
    )]
    pub diagnostics: Diagnostics,
}

impl Receipt {
    /// A receipt without an id: the destination gives none.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A receipt with the id the destination gave.
    #[must_use]
    pub fn with_id(message_id: impl Into<String>) -> Self {
        let message_id = message_id.into();
        Self {
            message_id: MessageId::from_utf8(message_id),
            diagnostics: Diagnostics::default(),
        }
    }

    /// The same receipt, without an id that is too long to be one: over
    /// [8 KiB](crate::text::TEXT_MAX_BYTES).
    #[must_use]
    pub fn sane(mut self) -> Self {
        self.message_id
            .take_if(|id| id.as_str().len() > TEXT_MAX_BYTES);
        self
    }
}

impl From<Delivered> for Receipt {
    fn from(delivered: Delivered) -> Self {
        Self {
            message_id: Some(delivered.message_id),
            diagnostics: delivered.diagnostics,
        }
    }
}

/// What a failure asks of dispatch, once nonsense is taken out of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Never again.
    Permanent,
    /// Again, no sooner than this.
    RetryAfter(Duration),
    /// Again, by the retry policy.
    Transient,
}

impl Failure {
    /// What the failure asks for. A configuration failure is permanent; a pause of nothing is no
    /// pause, so such a failure is transient.
    #[must_use]
    pub fn classify(&self) -> Answer {
        match self.class {
            Class::Permanent | Class::Config => Answer::Permanent,
            Class::RetryAfter(pause) if pause.is_zero() => Answer::Transient,
            Class::RetryAfter(pause) => Answer::RetryAfter(pause),
            Class::Transient => Answer::Transient,
        }
    }

    /// The same failure, with its class as [`classify`](Self::classify) reads it.
    #[must_use]
    pub fn sane(mut self) -> Self {
        if self.classify() == Answer::Transient {
            self.class = Class::Transient;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::ErrorClass;
    use crate::reason::Reason;

    fn failure(class: Class) -> Failure {
        Failure::new(class, Reason::NoCredentials { detail: "x".into() })
    }

    #[test]
    fn an_id_that_is_too_long_is_none() {
        let id = |len| Receipt::with_id("7".repeat(len)).sane().message_id;
        assert!(id(TEXT_MAX_BYTES).is_some());
        assert!(id(TEXT_MAX_BYTES + 1).is_none());
    }

    #[test]
    fn every_class_has_one_reading() {
        let second = Duration::from_secs(1);
        for (class, answer, filter) in [
            (Class::Permanent, Answer::Permanent, ErrorClass::Permanent),
            (Class::Config, Answer::Permanent, ErrorClass::Permanent),
            (
                Class::RetryAfter(second),
                Answer::RetryAfter(second),
                ErrorClass::Throttled,
            ),
            (
                Class::RetryAfter(Duration::ZERO),
                Answer::Transient,
                ErrorClass::Transient,
            ),
            (Class::Transient, Answer::Transient, ErrorClass::Transient),
        ] {
            let failure = failure(class);
            assert_eq!(failure.classify(), answer, "{class:?}");
            assert_eq!(failure.sane().class.error_class(), filter, "{class:?}");
        }
    }
}
