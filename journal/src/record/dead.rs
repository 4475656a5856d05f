//! A dead letter, and a lane that stopped with one.

use prost::Message;
use pubsink_core::failure::ErrorClass;
use pubsink_core::journal::{Cause, DeadId, DeadLetter, Lane, StoppedLane};

use super::StoredHook;
use crate::error::Fault;

/// A dead letter as it is stored.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct DeadRecord {
    /// The number its hook is stored under.
    #[prost(uint64, tag = "1")]
    pub(crate) hook: u64,
    #[prost(string, tag = "2")]
    pub(crate) sink: String,
    #[prost(string, tag = "3")]
    pub(crate) source: String,
    #[prost(string, optional, tag = "4")]
    pub(crate) key: Option<String>,
    #[prost(message, optional, tag = "5")]
    pub(crate) cause: Option<CauseRecord>,
    #[prost(uint32, tag = "6")]
    pub(crate) attempts: u32,
    #[prost(int64, tag = "7")]
    pub(crate) enqueued_at: i64,
    #[prost(int64, optional, tag = "8")]
    pub(crate) first_attempt_at: Option<i64>,
    #[prost(int64, tag = "9")]
    pub(crate) died_at: i64,
    #[prost(string, optional, tag = "10")]
    pub(crate) replay_id: Option<String>,
    /// The name by which the journal knows its hook.
    #[prost(string, optional, tag = "11")]
    pub(crate) once: Option<String>,
    /// What it counts against a ceiling of bytes.
    #[prost(uint64, tag = "12")]
    pub(crate) bytes: u64,
    /// Whether its hook has, or had, other rows.
    #[prost(bool, tag = "13")]
    pub(crate) shared: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct CauseRecord {
    #[prost(uint32, tag = "1")]
    class: u32,
    #[prost(bool, tag = "2")]
    config: bool,
    #[prost(string, tag = "3")]
    kind: String,
    #[prost(string, tag = "4")]
    message: String,
    #[prost(bool, tag = "5")]
    pub(crate) maybe_stored: bool,
}

/// Why and since when a lane is stopped.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct StoppedRecord {
    #[prost(message, optional, tag = "1")]
    pub(crate) cause: Option<CauseRecord>,
    #[prost(int64, tag = "2")]
    pub(crate) since: i64,
}

impl DeadRecord {
    pub(crate) fn lane(&self) -> Lane {
        Lane {
            sink: self.sink.as_str().into(),
            source: self.source.as_str().into(),
            key: self.key.as_deref().map(Into::into),
        }
    }

    /// The dead letter it is.
    pub(crate) fn letter(self, id: u64, hook: StoredHook) -> Result<DeadLetter, Fault> {
        Ok(DeadLetter {
            id: DeadId(id),
            lane: self.lane(),
            envelope: hook.envelope.into(),
            claim: hook.claim,
            check_in: hook.check_in,
            cause: self.cause.unwrap_or_default().cause()?,
            attempts: self.attempts,
            enqueued_at: self.enqueued_at,
            first_attempt_at: self.first_attempt_at,
            died_at: self.died_at,
            replay_id: self.replay_id.map(Into::into),
            once: self.once.map(Into::into),
        })
    }
}

impl StoppedRecord {
    pub(crate) fn stopped(self, lane: Lane) -> Result<StoppedLane, Fault> {
        Ok(StoppedLane {
            lane,
            cause: self.cause.unwrap_or_default().cause()?,
            since: self.since,
        })
    }
}

impl CauseRecord {
    fn cause(self) -> Result<Cause, Fault> {
        let error_class = match self.class {
            PERMANENT => ErrorClass::Permanent,
            THROTTLED => ErrorClass::Throttled,
            TRANSIENT => ErrorClass::Transient,
            other => {
                return Err(Fault::damaged(format_args!(
                    "a dead letter of class {other}"
                )));
            }
        };
        Ok(Cause {
            error_class,
            config: self.config,
            kind: self.kind.into(),
            message: self.message.into(),
            maybe_stored: self.maybe_stored,
        })
    }
}

impl From<&Cause> for CauseRecord {
    fn from(cause: &Cause) -> Self {
        Self {
            class: match cause.error_class {
                ErrorClass::Permanent => PERMANENT,
                ErrorClass::Throttled => THROTTLED,
                ErrorClass::Transient => TRANSIENT,
            },
            config: cause.config,
            kind: cause.kind.to_string(),
            message: cause.message.to_string(),
            maybe_stored: cause.maybe_stored,
        }
    }
}

const PERMANENT: u32 = 1;
const THROTTLED: u32 = 2;
const TRANSIENT: u32 = 3;
