//! What becomes of a row when its attempt has ended.

use std::sync::Arc;
use std::time::Duration;

use super::Dispatcher;
use crate::dispatch::attempts::Running;
use crate::dispatch::breaker::{BreakerState, Sign};
use crate::dispatch::io::{
    AttemptId, DispatchMisuse, DispatchOutput, EnqueueError, Event, Settled,
};
use crate::dispatch::options::OnDead;
use crate::dispatch::records::Pending;
use crate::failure::{Class, Failure};
use crate::journal::{Cause, Record};
use crate::reason::Reason;
use crate::retry::NextStep;
use crate::sink::{Answer, Receipt};
use crate::text::Text;

impl<T> Dispatcher<T> {
    pub(super) fn attempted(
        &mut self,
        attempt: AttemptId,
        outcome: Result<Receipt, Failure>,
    ) -> Result<(), DispatchMisuse> {
        if !self.attempts.knows(attempt) || self.check_ins.is_waiting(attempt) {
            return Err(DispatchMisuse::UnknownAttempt(attempt));
        }
        self.finish(attempt, outcome);
        Ok(())
    }

    /// An attempt ended, unless it was given up before.
    pub(super) fn finish(&mut self, attempt: AttemptId, outcome: Result<Receipt, Failure>) {
        let Some(running) = self.attempts.end(attempt) else {
            return;
        };
        let outcome = outcome.map_err(Failure::sane);
        let sign = match &outcome {
            Ok(_) => Sign::Alive,
            Err(failure) => sign(failure),
        };
        let reason = outcome.as_ref().err().map(|failure| &failure.reason);
        self.leave_sink(&running, sign, reason);
        let pending = match outcome {
            Ok(receipt) => self.delivered(running, receipt),
            Err(failure) => self.failed(running, failure),
        };
        self.records.push(pending);
    }

    /// The attempts under way are given up: their rows are due again, in this run or the next.
    pub(super) fn give_back_attempts(&mut self) {
        while let Some(attempt) = self.attempts.first() {
            // Nobody was handed what waits for a check-in.
            let waited = self.check_ins.leave(attempt);
            if !waited {
                self.outputs.push_back(DispatchOutput::Abort(attempt));
            }
            let Some(running) = self.attempts.end(attempt) else {
                break;
            };
            self.leave_sink(&running, Sign::Nothing, None);
            let due = self.unix_now();
            self.records.push(Pending {
                record: Record::Retry {
                    row: running.row.id,
                    due,
                    attempts: running.number,
                    first_attempt_at: running.first_at,
                    maybe_stored: !waited || running.row.maybe_stored,
                    claim: running.checked_in,
                },
                due: Some(due),
                event: None,
                row: running.row,
            });
        }
        self.abort_check_ins();
    }

    /// An attempt whose sink was not asked is none: its row is due as it was.
    pub(super) fn give_back(&mut self, attempt: AttemptId) {
        let Some(running) = self.attempts.end(attempt) else {
            return;
        };
        self.leave_sink(&running, Sign::Nothing, None);
        self.records.push(Pending {
            record: Record::Release {
                row: running.row.id,
            },
            due: Some(running.row.due),
            event: None,
            row: running.row,
        });
    }

    /// Closing took all the time it had: what the journal has not answered is left to it.
    pub(super) fn give_up(&mut self) {
        for (tag, hook) in self.intake.take_all() {
            self.let_go.extend(hook.map(|hook| hook.envelope));
            let result = Err(EnqueueError::Closed);
            self.outputs
                .push_back(DispatchOutput::Accepted { tag, result });
        }
        for pending in self.records.take_all() {
            self.release(&pending);
            self.let_go.push(Arc::clone(&pending.row.envelope));
        }
        self.claims.clear();
        self.replays = Default::default();
    }

    fn leave_sink(&mut self, running: &Running, sign: Sign, reason: Option<&Arc<Reason>>) {
        let name = &running.row.lane.sink;
        let Some(index) = self.sinks.index(name) else {
            return;
        };
        let Some(sink) = self.sinks.at(index) else {
            return;
        };
        sink.counted -= usize::from(sink.counts(&running.row.lane));
        let request = reason.filter(|_| sink.spec.batched);
        if !sink.breaker.end(self.now, sign, running.probe, request) {
            return;
        }
        let state = sink.breaker.state();
        let sink = name.clone();
        if state == BreakerState::Open {
            self.park_sink(index);
        }
        self.event(Event::Breaker { sink, state });
    }

    /// The sink had no room for it, or held its key: that was no attempt. The row is given back as
    /// it was, and its lane is left alone for a while: there is no room for the others either.
    fn refused(&mut self, running: Running, failure: &Failure) -> Pending {
        let now = self.unix_now();
        let asked = match failure.classify() {
            Answer::RetryAfter(pause) => i64::try_from(pause.as_millis()).unwrap_or(i64::MAX),
            Answer::Permanent | Answer::Transient => 0,
        };
        self.lanes.pause(now, &running.row.lane, asked);
        self.park(&running.row.lane);
        Pending {
            record: Record::Release {
                row: running.row.id,
            },
            due: Some(running.row.due),
            event: None,
            row: running.row,
        }
    }

    fn delivered(&mut self, running: Running, receipt: Receipt) -> Pending {
        self.lanes.has_room(&running.row.lane);
        let id = receipt.message_id.as_ref();
        let due = running.row.lane.key.as_ref().map(|_| self.unix_now());
        Pending {
            record: Record::Delivered {
                row: running.row.id,
                message_id: id.map(|id| Text::new(id.as_str())),
                claim: running.checked_in,
            },
            event: Some(Event::Settled(Settled {
                row: running.row.clone(),
                attempts: running.number,
                outcome: Ok(receipt),
            })),
            due,
            row: running.row,
        }
    }

    fn failed(&mut self, running: Running, failure: Failure) -> Pending {
        if is_refusal(&failure) {
            return self.refused(running, &failure);
        }
        let now = self.unix_now();
        self.lanes.has_room(&running.row.lane);
        let row = running.row;
        let maybe_stored = row.maybe_stored || failure.may_have_been_stored;
        let elapsed = u64::try_from(now.saturating_sub(running.first_at)).unwrap_or_default();
        let policy = self.options.retry_of(&row.lane.source);
        let next = policy.next_step(
            &failure,
            running.number,
            Duration::from_millis(elapsed),
            &mut self.rng,
        );
        match next {
            NextStep::RetryAfter(pause) => {
                let pause = i64::try_from(pause.as_millis()).unwrap_or(i64::MAX);
                // Not in the same millisecond: the pause was rounded down.
                let due = now.saturating_add(pause).saturating_add(1);
                Pending {
                    record: Record::Retry {
                        row: row.id,
                        due,
                        attempts: running.number,
                        first_attempt_at: running.first_at,
                        maybe_stored,
                        claim: running.checked_in,
                    },
                    event: Some(Event::Retry {
                        row: row.clone(),
                        attempt: running.number,
                        failure,
                        due,
                    }),
                    due: Some(due),
                    row,
                }
            }
            NextStep::GiveUp => {
                let cause = Cause::new(&failure, maybe_stored);
                let stop = row.lane.key.is_some() && self.options.on_dead == OnDead::Stop;
                Pending {
                    record: Record::Dead {
                        row: row.id,
                        cause: cause.clone(),
                        attempts: running.number,
                        first_attempt_at: Some(running.first_at),
                        died_at: now,
                        stop,
                        claim: running.checked_in,
                    },
                    due: (row.lane.key.is_some() && !stop).then_some(now),
                    event: Some(Event::Settled(Settled {
                        row: row.clone(),
                        attempts: running.number,
                        outcome: Err((failure, cause)),
                    })),
                    row,
                }
            }
        }
    }
}

/// Whether nothing was tried: the sink had no room, or another hook's failure holds the key.
fn is_refusal(failure: &Failure) -> bool {
    matches!(
        *failure.reason,
        Reason::BatchQueueFull { .. } | Reason::KeyStopped(_)
    )
}

/// What a failure says of its sink. What was refused before anything was asked of the sink's
/// destination says nothing.
fn sign(failure: &Failure) -> Sign {
    match &*failure.reason {
        Reason::BatchQueueFull { .. }
        | Reason::MessageTooLarge { .. }
        | Reason::InvalidMessage(_)
        | Reason::ClaimCheck(_)
        | Reason::KeyStopped(_) => Sign::Nothing,
        _ => match failure.class {
            Class::Permanent | Class::Config => Sign::Alive,
            Class::RetryAfter(_) | Class::Transient => Sign::Failing,
        },
    }
}
