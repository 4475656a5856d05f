//! What the command tells: an outcome for each line, dead letters, a summary.

use std::fmt::Display;
use std::io;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use pubsink_core::envelope::Envelope;
use pubsink_core::failure::ErrorClass;
use pubsink_core::journal::OnceState;
use serde::Serialize;

use super::attempts::Finished;
use super::dead_letters::DeadLetters;
use super::left::Left;
use super::level::Level;
use super::outcome_line::{Earlier, Failed, OutcomeLine, UnkeptReason, UnreadableReason};
use super::outcomes::Outcomes;
use super::progress::Progress;
use crate::say::{counted, say};

/// How many failures are told on standard error where outcomes go nowhere.
const FAILURES_TOLD: u64 = 10;

/// Counts outcomes and writes them where they were asked for.
pub(super) struct Report {
    outcomes: Outcomes,
    dead_letters: DeadLetters,
    progress: Progress,
    delivered: u64,
    failed: u64,
    /// Lines that an earlier run had settled.
    earlier_delivered: u64,
    earlier_dead: u64,
    position: u64,
}

/// The hook that an outcome is of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Of<'a> {
    /// Its line; none for a hook that somebody else put into the journal.
    pub(super) line: Option<u64>,
    pub(super) envelope: &'a Envelope,
    pub(super) replay_id: Option<&'a str>,
}

impl Report {
    pub(super) fn new(outcomes: Outcomes, dead_letters: DeadLetters, progress: Progress) -> Self {
        Self {
            outcomes,
            dead_letters,
            progress,
            delivered: 0,
            failed: 0,
            earlier_delivered: 0,
            earlier_dead: 0,
            position: 0,
        }
    }

    /// A hook is finished.
    pub(super) fn finished(&mut self, of: Of<'_>, finished: &Finished) {
        let attempts = finished.attempts;
        match &finished.outcome {
            Ok(receipt) => {
                self.delivered += 1;
                self.outcomes.write(&OutcomeLine {
                    line: of.line,
                    id: Some(&of.envelope.id),
                    outcome: "delivered",
                    what: receipt,
                    may_be_twice: finished.may_be_twice,
                    attempts,
                    replay_id: of.replay_id,
                });
            }
            Err(failure) => {
                self.outcomes.write(&OutcomeLine {
                    line: of.line,
                    id: Some(&of.envelope.id),
                    outcome: "failed",
                    what: failure,
                    may_be_twice: false,
                    attempts,
                    replay_id: of.replay_id,
                });
                self.failed(of, failure, failure, attempts);
            }
        }
    }

    /// A line is no hook. It is kept as it was.
    pub(super) fn unreadable(&mut self, line: u64, text: &[u8], error: &str) {
        self.outcomes.write(&OutcomeLine {
            line: Some(line),
            id: None,
            outcome: "failed",
            what: &Failed {
                class: ErrorClass::Permanent,
                config: false,
                reason: UnreadableReason::new(&format!("line {line}, {error}")),
            },
            may_be_twice: false,
            attempts: 0,
            replay_id: None,
        });
        self.failed += 1;
        self.tell(
            &format_args!("line {line}"),
            &format_args!("permanent: {error}"),
        );
        let kept = self.dead_letters.line(text);
        self.check_dead_letters(&format_args!("line {line}"), kept);
        self.flush();
    }

    /// The journal did not keep a hook.
    pub(super) fn not_kept(&mut self, of: Of<'_>, error: &impl Display) {
        let error = error.to_string();
        let failed = Failed {
            class: ErrorClass::Transient,
            config: false,
            reason: UnkeptReason::new(&error),
        };
        self.outcomes.write(&OutcomeLine {
            line: of.line,
            id: Some(&of.envelope.id),
            outcome: "failed",
            what: &failed,
            may_be_twice: false,
            attempts: 0,
            replay_id: of.replay_id,
        });
        self.failed(of, &error, &failed, 0);
    }

    /// An earlier run had settled a line.
    pub(super) fn earlier(&mut self, line: u64, state: &OnceState) {
        // One that was sent twice, and died once, did arrive.
        let delivered = state.delivered > 0;
        if delivered {
            self.earlier_delivered += 1;
        } else {
            self.earlier_dead += 1;
        }
        self.outcomes.write(&Earlier {
            line,
            id: &state.hook_id,
            outcome: if delivered { "delivered" } else { "failed" },
            message_id: state.message_id.as_deref().filter(|_| delivered),
            earlier: true,
        });
    }

    /// What waits to be written: while it is full no more should be made.
    pub(super) fn waiting(&self) -> Option<Arc<Level>> {
        self.outcomes.waiting()
    }

    /// Resolves when all outcomes are written. There must be no more.
    pub(super) async fn written(&self) {
        self.outcomes.written().await;
    }

    /// The input is read up to here.
    pub(super) fn read_to(&mut self, position: u64) {
        self.position = position;
        self.update();
    }

    /// Writes out what was told so far.
    pub(super) fn flush(&mut self) {
        self.outcomes.flush();
        self.update();
    }

    pub(super) fn say(&self, line: &str) {
        self.progress.say(line);
    }

    /// Whether anything failed, in this run or an earlier one.
    pub(super) fn has_failures(&self) -> bool {
        self.failed + self.earlier_dead > 0
    }

    /// The last words, what the run leaves among them. Whether everything that had to be written
    /// was.
    pub(super) fn end(self, left: &Left) -> bool {
        self.progress.finish();
        if self.earlier_delivered + self.earlier_dead > 0 {
            say(format_args!(
                "pubsink: skipped what an earlier run had settled: {} delivered, {}",
                self.earlier_delivered,
                counted(self.earlier_dead, "dead letter")
            ));
        }
        if self.earlier_dead > 0 {
            say(format_args!(
                "pubsink: {} of earlier runs: see `pubsink dead-letters list --journal {}`",
                counted(self.earlier_dead, "dead letter"),
                left.dir
            ));
        }
        left.say();
        say(format_args!(
            "pubsink: {} delivered, {} failed",
            self.delivered, self.failed
        ));
        !self.outcomes.is_broken() && !self.dead_letters.broken
    }

    fn update(&self) {
        let delivered = self.delivered + self.earlier_delivered;
        let failed = self.failed + self.earlier_dead;
        self.progress.update(self.position, delivered, failed);
    }

    /// Counts a hook's failure, tells of it and keeps the hook.
    fn failed(&mut self, of: Of<'_>, why: &dyn Display, failure: &impl Serialize, attempts: u32) {
        self.failed += 1;
        let name = of.line.map_or_else(
            || format!("hook {:?}", of.envelope.id),
            |line| format!("line {line}"),
        );
        self.tell(&name, why);
        let kept = (self.dead_letters).hook(of.line, of.envelope, failure, attempts);
        self.check_dead_letters(&name, kept);
    }

    fn tell(&self, name: &dyn Display, why: &dyn Display) {
        if self.outcomes.is_somewhere() || self.failed > FAILURES_TOLD {
            return;
        }
        self.say(&format!("pubsink: {name} failed: {why}"));
        if self.failed == FAILURES_TOLD {
            self.say("pubsink: further failures are counted; --outcomes - shows all");
        }
    }

    fn check_dead_letters(&mut self, name: &dyn Display, written: io::Result<()>) {
        if let Err(error) = written {
            self.dead_letters.broken = true;
            self.say(&format!(
                "pubsink: {name} could not be kept as a dead letter: {error}"
            ));
        }
    }
}

/// The wall time.
pub(crate) fn unix_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}
