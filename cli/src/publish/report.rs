//! What the command tells: an outcome for each line, dead letters, a summary.

use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use pubsink_core::envelope::Envelope;
use pubsink_core::failure::ErrorClass;
use serde::Serialize;

use super::attempts::Finished;
use super::dead_letters::DeadLetters;
use super::outcomes::Outcomes;
use super::progress::Progress;
use crate::say::say;

/// How many failures are told on standard error where outcomes go nowhere.
const FAILURES_TOLD: u64 = 10;

/// Counts outcomes and writes them where they were asked for.
pub(super) struct Report {
    outcomes: Outcomes,
    dead_letters: DeadLetters,
    progress: Progress,
    pub(super) delivered: u64,
    pub(super) failed: u64,
    position: u64,
}

impl Report {
    pub(super) fn new(outcomes: Outcomes, dead_letters: DeadLetters, progress: Progress) -> Self {
        Self {
            outcomes,
            dead_letters,
            progress,
            delivered: 0,
            failed: 0,
            position: 0,
        }
    }

    /// A hook is finished.
    pub(super) fn finished(&mut self, line: u64, envelope: &Envelope, finished: &Finished) {
        let (id, attempts) = (Some(envelope.id.as_str()), finished.attempts);
        match &finished.outcome {
            Ok(delivered) => {
                self.delivered += 1;
                self.write(&OutcomeLine {
                    line,
                    id,
                    outcome: "delivered",
                    what: delivered,
                    may_be_twice: finished.may_be_twice,
                    attempts,
                });
            }
            Err(failure) => {
                self.failed += 1;
                self.write(&OutcomeLine {
                    line,
                    id,
                    outcome: "failed",
                    what: failure,
                    may_be_twice: false,
                    attempts,
                });
                self.tell(line, failure);
                let kept = self.dead_letters.hook(line, envelope, failure, attempts);
                self.check_dead_letters(line, kept);
            }
        }
    }

    /// A line is no hook. It is kept as it was.
    pub(super) fn unreadable(&mut self, line: u64, text: &[u8], error: &str) {
        self.failed += 1;
        self.write(&OutcomeLine {
            line,
            id: None,
            outcome: "failed",
            what: &Unreadable {
                class: ErrorClass::Permanent,
                config: false,
                reason: UnreadableReason {
                    kind: "invalid_message",
                    problem: "unreadable_line",
                    error: &format!("line {line}, {error}"),
                },
            },
            may_be_twice: false,
            attempts: 0,
        });
        self.tell(line, &format_args!("permanent: {error}"));
        let kept = self.dead_letters.line(text);
        self.check_dead_letters(line, kept);
        self.flush();
    }

    /// Resolves when there is room for more outcomes.
    pub(super) async fn room(&self) {
        self.outcomes.room().await;
    }

    /// Resolves when all outcomes are written. There must be no more.
    pub(super) async fn written(&self) {
        self.outcomes.written().await;
    }

    /// The input is read up to here.
    pub(super) fn read_to(&mut self, position: u64) {
        self.position = position;
        self.progress.update(position, self.delivered, self.failed);
    }

    /// Writes out what was told so far.
    pub(super) fn flush(&mut self) {
        self.outcomes.flush();
        self.progress
            .update(self.position, self.delivered, self.failed);
    }

    pub(super) fn say(&self, line: &str) {
        self.progress.say(line);
    }

    /// The last words. Whether everything that had to be written was.
    pub(super) fn end(self) -> bool {
        self.progress.finish();
        say(format_args!(
            "pubsink: {} delivered, {} failed",
            self.delivered, self.failed
        ));
        !self.outcomes.is_broken() && !self.dead_letters.broken
    }

    fn write<W: Serialize>(&mut self, outcome: &OutcomeLine<'_, W>) {
        self.outcomes.write(outcome);
    }

    fn tell(&self, line: u64, why: &dyn std::fmt::Display) {
        if self.outcomes.is_somewhere() || self.failed > FAILURES_TOLD {
            return;
        }
        self.say(&format!("pubsink: line {line} failed: {why}"));
        if self.failed == FAILURES_TOLD {
            self.say("pubsink: further failures are counted; --outcomes - shows all");
        }
    }

    fn check_dead_letters(&mut self, line: u64, written: io::Result<()>) {
        if let Err(error) = written {
            self.dead_letters.broken = true;
            self.say(&format!(
                "pubsink: line {line} could not be kept as a dead letter: {error}"
            ));
        }
    }
}

/// One line of the outcomes.
#[derive(Serialize)]
struct OutcomeLine<'a, W> {
    line: u64,
    id: Option<&'a str>,
    outcome: &'static str,
    #[serde(flatten)]
    what: &'a W,
    /// An earlier attempt may have stored the message too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    may_be_twice: bool,
    attempts: u32,
}

/// What is wrong with a line that is no hook, in the shape of a failure.
#[derive(Serialize)]
struct Unreadable<'a> {
    class: ErrorClass,
    config: bool,
    reason: UnreadableReason<'a>,
}

#[derive(Serialize)]
struct UnreadableReason<'a> {
    kind: &'static str,
    problem: &'static str,
    error: &'a str,
}

/// The wall time.
pub(super) fn unix_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}
