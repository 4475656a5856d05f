//! The lines of a trace.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::grpc::CallEnd;
use crate::failure::{Delivered, Failure, Outcome};
use crate::publish::WaitReason;
use crate::testing::settled::pause;

/// One line.
#[derive(Debug, Serialize)]
pub(super) struct Line<E> {
    pub(super) at_ns: u64,
    #[serde(flatten)]
    pub(super) event: E,
}

/// What the machine was given.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "in", rename_all = "snake_case")]
pub(super) enum Given {
    Admit(Admitted),
    TryAdmit(Admitted),
    Token {
        request: u64,
        token: String,
    },
    NoToken {
        request: u64,
        detail: String,
    },
    Reply(Replied),
    Failure {
        request: u64,
        transport: String,
        detail: String,
    },
    Lost {
        request: u64,
        detail: String,
    },
    Flush {
        tag: String,
    },
    Resume {
        key: String,
    },
    ResumeAll,
    Close {
        deadline_ns: Option<u64>,
    },
}

/// A message by its content, a hook already encoded.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Admitted {
    pub(super) tag: String,
    pub(super) data: Blob,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) attributes: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) ordering_key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tenant: Option<String>,
    pub(super) attempt: u32,
    pub(super) direct: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) resume_key: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) headers_left_out: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Replied {
    pub(super) request: u64,
    pub(super) status: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) retry_after: Option<String>,
    pub(super) received_at_ms: u64,
    pub(super) body: Blob,
    /// How a call over gRPC ended, where it said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) grpc: Option<CallEnd>,
}

/// Bytes, as text where they are.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Blob {
    Text(String),
    Base64 { base64: String },
}

impl Blob {
    pub(super) fn new(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Base64 {
                base64: STANDARD.encode(bytes),
            },
        }
    }

    pub(super) fn bytes(self) -> Result<Bytes, base64::DecodeError> {
        match self {
            Self::Text(text) => Ok(text.into()),
            Self::Base64 { base64 } => Ok(STANDARD.decode(base64)?.into()),
        }
    }
}

/// What the machine did.
#[derive(Debug, Serialize)]
#[serde(tag = "out", rename_all = "snake_case")]
pub(super) enum Done<'a> {
    Authorize {
        request: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        refused: Option<String>,
    },
    Send {
        request: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        token: Option<String>,
        body: Blob,
    },
    Cancel {
        request: u64,
    },
    Settled(Ended<'a>),
    /// The immediate answer to `try_admit`, not to a poll.
    Refused(Ended<'a>),
    Flushed {
        tag: String,
    },
    Wait {
        until_ns: Option<u64>,
        reason: WaitReason,
    },
}

#[derive(Debug, Serialize)]
pub(super) struct Ended<'a> {
    tag: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    delivered: Option<&'a Delivered>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<&'a Failure>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ns: Option<u64>,
}

impl<'a> Ended<'a> {
    pub(super) fn new(tag: String, outcome: &'a Outcome) -> Self {
        match outcome {
            Ok(delivered) => Self {
                delivered: Some(delivered),
                ..Self::of(tag)
            },
            Err(failure) => Self::failed(tag, failure),
        }
    }

    pub(super) fn failed(tag: String, failure: &'a Failure) -> Self {
        Self {
            failed: Some(failure),
            retry_after_ns: pause(failure).map(nanos),
            ..Self::of(tag)
        }
    }

    fn of(tag: String) -> Self {
        Self {
            tag,
            delivered: None,
            failed: None,
            retry_after_ns: None,
        }
    }
}

/// Whole nanoseconds; what takes longer than 500 years takes that long.
pub(super) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
