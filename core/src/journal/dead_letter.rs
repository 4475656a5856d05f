//! Hooks that were given up, and why.

use std::sync::Arc;

use super::row::Lane;
use crate::claim::ClaimRef;
use crate::envelope::Envelope;
use crate::failure::{ErrorClass, Failure};
use crate::text::Text;

/// The number of a dead letter in its journal. Later ones are larger; none is used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct DeadId(pub u64);

/// Why a hook was given up, in a form that can be kept. Always short: what others say was cut
/// where the failure was made.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Cause {
    /// The class an operator filters on.
    pub error_class: ErrorClass,
    /// Whether the operator has to mend something.
    pub config: bool,
    /// The reason's kind: `pubsub`, `transport`, …
    pub kind: Text,
    /// What happened, in words.
    pub message: Text,
    /// Whether it may have been stored all the same, by this attempt or an earlier one.
    pub maybe_stored: bool,
}

impl Cause {
    /// The cause that `failure` is.
    #[must_use]
    pub fn new(failure: &Failure, maybe_stored: bool) -> Self {
        Self {
            error_class: failure.class.error_class(),
            config: failure.class.is_config(),
            kind: failure.reason.kind().into(),
            message: Text::capped(failure.reason.to_string().as_bytes()),
            maybe_stored: maybe_stored || failure.may_have_been_stored,
        }
    }
}

/// A hook that was given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetter {
    /// Its number.
    pub id: DeadId,
    /// The queue it was in.
    pub lane: Lane,
    /// The hook.
    pub envelope: Arc<Envelope>,
    /// Where the hook's body lies when it is too large to travel.
    pub claim: Option<ClaimRef>,
    /// See [`Enqueue::check_in`](super::Enqueue::check_in).
    pub check_in: bool,
    /// Why it was given up.
    pub cause: Cause,
    /// How many attempts were made.
    pub attempts: u32,
    /// When the hook was accepted, unix milliseconds.
    pub enqueued_at: i64,
    /// When the first attempt began, unix milliseconds.
    pub first_attempt_at: Option<i64>,
    /// When it was given up, unix milliseconds.
    pub died_at: i64,
    /// The replay job it belonged to.
    pub replay_id: Option<Text>,
    /// The name its hook was [enqueued](super::Enqueue::once) under.
    pub once: Option<Text>,
}

/// Which dead letters are meant: those for which everything that is given holds.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Filter {
    /// Of this source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// For this sink.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sink: Option<String>,
    /// Of this tenant; the empty one means those without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Of this class: `permanent`, `throttled` or `transient`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_class: Option<ErrorClass>,
    /// Failures of configuration, or all others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<bool>,
    /// Of this kind of reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The hook with this id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook_id: Option<String>,
    /// Given up at or after this time, unix milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<i64>,
    /// Given up before this time, unix milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<i64>,
}

impl Filter {
    /// Whether `letter` is meant.
    #[must_use]
    pub fn matches(&self, letter: &DeadLetter) -> bool {
        let is =
            |wanted: &Option<String>, found: &str| wanted.as_deref().is_none_or(|w| w == found);
        let envelope = &letter.envelope;
        is(&self.source, &letter.lane.source)
            && is(&self.sink, &letter.lane.sink)
            && is(&self.tenant, envelope.tenant().unwrap_or_default())
            && is(&self.kind, &letter.cause.kind)
            && is(&self.hook_id, &envelope.id)
            && self
                .error_class
                .is_none_or(|class| class == letter.cause.error_class)
            && self
                .config
                .is_none_or(|config| config == letter.cause.config)
            && self.since.is_none_or(|since| letter.died_at >= since)
            && self.until.is_none_or(|until| letter.died_at < until)
    }
}
