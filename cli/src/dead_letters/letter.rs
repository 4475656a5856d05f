//! The forms of a dead letter.

use std::io;

use pubsink_core::envelope_line;
use pubsink_core::failure::ErrorClass;
use pubsink_core::journal::{Cause, DeadLetter};
use serde::Serialize;

use crate::run::{About, dead_letter_line, line_of};

/// One line of a list.
#[derive(Serialize)]
struct Listed<'a> {
    id: u64,
    hook_id: &'a str,
    source_id: &'a str,
    tenant_id: Option<&'a str>,
    sink: &'a str,
    #[serde(flatten)]
    cause: Why<'a>,
    attempts: u32,
    failed_at: i64,
    size: usize,
}

/// Why a message died.
#[derive(Serialize)]
pub(crate) struct Why<'a> {
    class: ErrorClass,
    config: bool,
    kind: &'a str,
    message: &'a str,
    may_have_been_stored: bool,
}

/// What a list leaves out, but for the hook itself.
#[derive(Serialize)]
struct More<'a> {
    #[serde(flatten)]
    listed: Listed<'a>,
    key: Option<&'a str>,
    line: Option<u64>,
    enqueued_at: i64,
    first_attempt_at: Option<i64>,
    replay_id: Option<&'a str>,
}

/// A failure as dead letters of a file tell it, as far as a journal keeps it.
#[derive(Serialize)]
struct Failure<'a> {
    class: ErrorClass,
    config: bool,
    reason: Reason<'a>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    may_have_been_stored: bool,
}

#[derive(Serialize)]
struct Reason<'a> {
    kind: &'a str,
    message: &'a str,
}

/// What it is, without its body.
pub(super) fn listed(letter: &DeadLetter) -> io::Result<String> {
    Ok(serde_json::to_string(&list(letter))?)
}

/// Everything about it; the hook as a line of input has it.
pub(super) fn shown(letter: &DeadLetter) -> io::Result<String> {
    let more = serde_json::to_string(&More {
        listed: list(letter),
        key: letter.lane.key.as_deref(),
        line: line(letter),
        enqueued_at: letter.enqueued_at,
        first_attempt_at: letter.first_attempt_at,
        replay_id: letter.replay_id.as_deref(),
    })?;
    let more = more.strip_suffix('}').unwrap_or(&more);
    let hook = envelope_line::to_line(&letter.envelope);
    Ok(format!("{more},\"hook\":{hook}}}"))
}

/// It as a line of input.
pub(super) fn export(letter: &DeadLetter) -> io::Result<String> {
    let cause = &letter.cause;
    let failure = Failure {
        class: cause.error_class,
        config: cause.config,
        reason: Reason {
            kind: &cause.kind,
            message: &cause.message,
        },
        may_have_been_stored: cause.maybe_stored,
    };
    let about = About {
        line: line(letter),
        failure: &failure,
        attempts: letter.attempts,
        failed_at: letter.died_at,
    };
    dead_letter_line(&letter.envelope, &about)
}

fn list(letter: &DeadLetter) -> Listed<'_> {
    let envelope = &letter.envelope;
    Listed {
        id: letter.id.0,
        hook_id: &envelope.id,
        source_id: &envelope.source_id,
        tenant_id: envelope.tenant(),
        sink: &letter.lane.sink,
        cause: why(&letter.cause),
        attempts: letter.attempts,
        failed_at: letter.died_at,
        size: envelope.size(),
    }
}

pub(crate) fn why(cause: &Cause) -> Why<'_> {
    Why {
        class: cause.error_class,
        config: cause.config,
        kind: &cause.kind,
        message: &cause.message,
        may_have_been_stored: cause.maybe_stored,
    }
}

fn line(letter: &DeadLetter) -> Option<u64> {
    letter.once.as_deref().and_then(line_of)
}
