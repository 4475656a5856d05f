//! Why a line is no envelope.

use crate::json::JsonError;

/// Why a line is no envelope, and where. The caller knows the line's number.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
#[error("column {column}: {problem}")]
pub struct LineError {
    /// The first byte that does not fit, counted in bytes from 1.
    pub column: usize,
    /// What is wrong with it.
    #[source]
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub problem: LineProblem,
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(tag = "problem", rename_all = "snake_case"))]
#[non_exhaustive]
pub enum LineProblem {
    /// A byte is not UTF-8.
    #[error("expected UTF-8 (write bytes that are no text as base64: `body_base64`)")]
    NotUtf8,
    /// The line is not JSON.
    #[error("expected {expected}")]
    NotJson {
        /// What would have fitted.
        expected: &'static str,
    },
    /// The line is JSON, but not an object.
    #[error("expected an object, `{{\"id\":…,\"body\":…}}`")]
    NotAnObject,
    /// A value is of the wrong kind.
    #[error("expected {expected} as the value of `{key}`")]
    WrongValue {
        /// The key.
        key: &'static str,
        /// What it takes.
        expected: &'static str,
    },
    /// A key comes twice.
    #[error("expected each key once, but `{key}` comes again")]
    DuplicateKey {
        /// The key.
        key: &'static str,
    },
    /// Both `body` and `body_base64` are there.
    #[error("expected either `body` or `body_base64`, not both")]
    TwoBodies,
    /// `size` is not the body's length.
    #[error("expected the body's length, {body}, as `size`, not {size}")]
    WrongSize {
        /// What `size` says.
        size: u64,
        /// The body's length.
        body: usize,
    },
}

impl LineError {
    /// An error at the byte at offset `at`.
    pub(super) fn at(at: usize, problem: LineProblem) -> Self {
        Self {
            column: at + 1,
            problem,
        }
    }

    pub(super) fn wrong_value(at: usize, key: &'static str, expected: &'static str) -> Self {
        Self::at(at, LineProblem::WrongValue { key, expected })
    }
}

impl From<JsonError> for LineError {
    fn from(JsonError { at, expected }: JsonError) -> Self {
        Self::at(at, LineProblem::NotJson { expected })
    }
}
