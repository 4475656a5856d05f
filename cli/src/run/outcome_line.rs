//! The form of outcomes.

use pubsink_core::failure::ErrorClass;
use serde::Serialize;

/// One line of the outcomes.
#[derive(Serialize)]
pub(super) struct OutcomeLine<'a, W> {
    pub(super) line: Option<u64>,
    pub(super) id: Option<&'a str>,
    pub(super) outcome: &'static str,
    #[serde(flatten)]
    pub(super) what: &'a W,
    /// An earlier attempt may have stored the message too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) may_be_twice: bool,
    pub(super) attempts: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) replay_id: Option<&'a str>,
}

/// A line that an earlier run had settled. What was sent then, and how often, is not known now.
#[derive(Serialize)]
pub(super) struct Earlier<'a> {
    pub(super) line: u64,
    pub(super) id: &'a str,
    pub(super) outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) message_id: Option<&'a str>,
    pub(super) earlier: bool,
}

/// A failure of the command itself, in the shape of a delivery's.
#[derive(Serialize)]
pub(super) struct Failed<R> {
    pub(super) class: ErrorClass,
    pub(super) config: bool,
    pub(super) reason: R,
}

/// What is wrong with a line that is no hook.
#[derive(Serialize)]
pub(super) struct UnreadableReason<'a> {
    kind: &'static str,
    problem: &'static str,
    error: &'a str,
}

impl<'a> UnreadableReason<'a> {
    pub(super) fn new(error: &'a str) -> Self {
        Self {
            kind: "invalid_message",
            problem: "unreadable_line",
            error,
        }
    }
}

/// Why the journal did not keep a hook.
#[derive(Serialize)]
pub(super) struct UnkeptReason<'a> {
    kind: &'static str,
    error: &'a str,
}

impl<'a> UnkeptReason<'a> {
    pub(super) fn new(error: &'a str) -> Self {
        Self {
            kind: "journal",
            error,
        }
    }
}
