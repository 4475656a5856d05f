//! Why a body could not be checked in or redeemed.

use crate::claim::InvalidClaimRef;
use crate::failure::{Class, Failure};
use crate::reason::{ClaimProblem, Reason};
use crate::text::Text;

/// Why a body could not be checked in or redeemed. Only [`Unavailable`](Self::Unavailable) is
/// worth another try.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(tag = "problem", rename_all = "snake_case"))]
#[non_exhaustive]
pub enum ClaimError {
    /// Nothing lies under the ref.
    #[error("the store has no claim of that ref")]
    NotFound,
    /// What lies under the ref is not the body that was checked in. It is never handed out.
    #[error("what lies under the claim is not its body: {what} is {found}, not {expected}")]
    Integrity {
        /// What differs: `size` or `sha256`.
        what: &'static str,
        /// What was found.
        found: Text,
        /// What it should be.
        expected: Text,
    },
    /// The ref is none, or none can be made for the hook.
    #[error("{0}")]
    #[cfg_attr(feature = "serde", serde(serialize_with = "serialize_invalid_ref"))]
    InvalidRef(InvalidClaimRef),
    /// The body is larger than whoever redeems it, or the store, takes. It was not read.
    #[error("the claim has {size} bytes, over the limit of {max}")]
    TooLarge {
        /// The body's size.
        size: u64,
        /// The most that is taken.
        max: u64,
    },
    /// The store gave no usable answer: it could not be reached, is busy, or refuses us.
    #[error("the claim store is unavailable: {detail}")]
    Unavailable {
        /// What it said. Never a credential.
        detail: Text,
    },
}

impl ClaimError {
    /// The store gave no usable answer.
    #[must_use]
    pub fn unavailable(detail: impl Into<Text>) -> Self {
        Self::Unavailable {
            detail: detail.into(),
        }
    }

    /// Whether the same call could succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Unavailable { .. })
    }

    /// The error's kind, as operators write it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::Integrity { .. } => "integrity",
            Self::InvalidRef(_) => "invalid_ref",
            Self::TooLarge { .. } => "too_large",
            Self::Unavailable { .. } => "unavailable",
        }
    }
}

impl From<InvalidClaimRef> for ClaimError {
    fn from(invalid: InvalidClaimRef) -> Self {
        Self::InvalidRef(invalid)
    }
}

/// The delivery's failure: transient where the store is unavailable, else permanent. Nothing was
/// sent.
impl From<ClaimError> for Failure {
    fn from(error: ClaimError) -> Self {
        let class = match error.is_retryable() {
            true => Class::Transient,
            false => Class::Permanent,
        };
        Self::new(class, Reason::ClaimCheck(ClaimProblem::Store(error)))
    }
}

/// Under a key of its own: both say what the `problem` is.
#[cfg(feature = "serde")]
fn serialize_invalid_ref<S: serde::Serializer>(
    invalid: &InvalidClaimRef,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    use serde::ser::SerializeMap as _;
    let mut map = serializer.serialize_map(Some(1))?;
    map.serialize_entry("ref", invalid)?;
    map.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "serde")]
    #[test]
    fn a_ref_that_is_none_has_each_key_once() {
        let error = ClaimError::InvalidRef(InvalidClaimRef::Tenant {
            tenant: "a b".into(),
        });
        let reason = Reason::ClaimCheck(ClaimProblem::Store(error));
        assert_eq!(
            serde_json::to_string(&reason).unwrap(),
            r#"{"kind":"claim_check","problem":"invalid_ref","ref":{"problem":"tenant","tenant":"a b"}}"#
        );
    }

    #[test]
    fn only_a_store_that_is_unavailable_is_asked_again() {
        let errors = [
            ClaimError::NotFound,
            ClaimError::TooLarge { size: 2, max: 1 },
            ClaimError::InvalidRef(InvalidClaimRef::Expiry),
            ClaimError::Integrity {
                what: "size",
                found: "1".into(),
                expected: "2".into(),
            },
            ClaimError::unavailable("down"),
        ];
        for error in errors {
            let retryable = error.is_retryable();
            assert_eq!(retryable, error.kind() == "unavailable");
            let failure = Failure::from(error);
            assert_eq!(failure.class == Class::Transient, retryable);
            assert_eq!(failure.reason.kind(), "claim_check");
            assert!(!failure.may_have_been_stored);
        }
    }
}
