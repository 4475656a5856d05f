//! An outcome with its time.

use std::time::Duration;

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

use crate::failure::{Class, Failure, Outcome};

/// What became of a message, and when.
///
/// Serialized as `{"tag":…,"at_ms":…,"delivered":{…}}` or `{"tag":…,"at_ms":…,"failed":{…}}`; a
/// failure with a pause has `retry_after_ms` behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settled<T> {
    /// The mark it was admitted with.
    pub tag: T,
    /// When, from the simulation's start.
    pub at: Duration,
    /// What became of it.
    pub outcome: Outcome,
}

impl<T: Serialize> Serialize for Settled<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Settled", 4)?;
        fields.serialize_field("tag", &self.tag)?;
        fields.serialize_field("at_ms", &millis(self.at))?;
        match &self.outcome {
            Ok(delivered) => fields.serialize_field("delivered", delivered)?,
            Err(failure) => {
                fields.serialize_field("failed", failure)?;
                if let Some(pause) = pause(failure) {
                    fields.serialize_field("retry_after_ms", &millis(pause))?;
                }
            }
        }
        fields.end()
    }
}

/// The pause a failure asks for.
pub(super) fn pause(failure: &Failure) -> Option<Duration> {
    match failure.class {
        Class::RetryAfter(pause) => Some(pause),
        Class::Permanent | Class::Config | Class::Transient => None,
    }
}

/// Whole milliseconds, as snapshots show time.
pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
