//! Why a message cannot be read.

use std::fmt;

/// Why a message cannot be read. Never worth a retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
#[error("the message cannot be decoded ({}{}): {}", .code.as_str(), .field.map_or_else(String::new, |field| format!(" {field}")), .code.explanation())]
pub struct DecodeError {
    /// The rule it breaks.
    pub code: DecodeCode,
    /// The key that breaks it, for [`DecodeCode::InvalidField`].
    pub field: Option<&'static str>,
}

impl DecodeError {
    pub(super) const fn field(field: &'static str) -> Self {
        Self {
            code: DecodeCode::InvalidField,
            field: Some(field),
        }
    }

    /// Whether the same message could decode another time: never.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        false
    }
}

impl From<DecodeCode> for DecodeError {
    fn from(code: DecodeCode) -> Self {
        Self { code, field: None }
    }
}

/// The rules a message can break, in the order they are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum DecodeCode {
    /// The data is not JSON.
    InvalidJson,
    /// The JSON is no object.
    NotAnObject,
    /// `v` is not a version that can be read.
    UnsupportedVersion,
    /// A key is missing or of the wrong kind.
    InvalidField,
    /// There is both a body and a claim.
    AmbiguousBody,
    /// There is neither a body nor a claim.
    MissingBody,
    /// The body is not base64.
    InvalidBodyBase64,
    /// The body is longer or shorter than `size` says.
    SizeMismatch,
    /// The body is not the one `sha256` was taken of.
    Integrity,
    /// The claim belongs to another tenant.
    TenantMismatch,
}

impl DecodeCode {
    /// The code as it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidJson => "invalid_json",
            Self::NotAnObject => "not_an_object",
            Self::UnsupportedVersion => "unsupported_version",
            Self::InvalidField => "invalid_field",
            Self::AmbiguousBody => "ambiguous_body",
            Self::MissingBody => "missing_body",
            Self::InvalidBodyBase64 => "invalid_body_base64",
            Self::SizeMismatch => "size_mismatch",
            Self::Integrity => "integrity",
            Self::TenantMismatch => "tenant_mismatch",
        }
    }

    const fn explanation(self) -> &'static str {
        match self {
            Self::InvalidJson => "the data is not JSON",
            Self::NotAnObject => "the data is JSON, but not an object",
            Self::UnsupportedVersion => "`v` is not 1 or 2",
            Self::InvalidField => "the key is missing or its value is not allowed",
            Self::AmbiguousBody => "it has both `body_base64` and `claim`",
            Self::MissingBody => "it has neither `body_base64` nor `claim`",
            Self::InvalidBodyBase64 => "`body_base64` is not padded standard base64",
            Self::SizeMismatch => "the body's length is not `size`",
            Self::Integrity => "the body's SHA-256 is not `sha256`",
            Self::TenantMismatch => "the claim belongs to another tenant than `tenant_id`",
        }
    }
}

impl fmt::Display for DecodeCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
