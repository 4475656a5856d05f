//! Attempts begin, time out, and are parked with a sink that is left alone.

use std::sync::Arc;

use super::Dispatcher;
use crate::delivery::DeliveryContext;
use crate::dispatch::breaker::BreakerState;
use crate::dispatch::io::{AttemptId, DispatchOutput, Event};
use crate::dispatch::records::Pending;
use crate::journal::{Lane, Record, Row};

impl<T> Dispatcher<T> {
    /// Begins what may begin, one row of each sink in turn.
    pub(super) fn start_attempts(&mut self) {
        loop {
            let mut any = false;
            for index in self.sinks.in_turn() {
                any |= self.start_one(index);
            }
            if !any {
                return;
            }
        }
    }

    /// What took too long has failed; closing may give up.
    pub(super) fn expire(&mut self) {
        self.expire_check_ins();
        while let Some(attempt) = self.attempts.overdue(self.now) {
            let failure = self.overdue(attempt);
            self.finish(attempt, Err(failure));
        }
        let Some(closing) = &mut self.closing else {
            return;
        };
        let Some(deadline) = closing.deadline.filter(|deadline| *deadline <= self.now) else {
            return;
        };
        if !closing.over {
            closing.over = true;
            self.give_back_attempts();
        }
        let last = deadline.checked_add(super::LAST_WORDS);
        if last.is_some_and(|last| last <= self.now) {
            self.give_up();
        }
    }

    pub(super) fn advance_breakers(&mut self) {
        let now = self.now;
        let probing: Vec<_> = self
            .sinks
            .iter_mut()
            .filter_map(|sink| sink.breaker.advance(now).then(|| sink.spec.name.clone()))
            .collect();
        for sink in probing {
            self.event(Event::Breaker {
                sink,
                state: BreakerState::Probing,
            });
        }
    }

    /// Gives a sink's rows that wait for their attempt back to the journal.
    pub(super) fn park_sink(&mut self, index: usize) {
        let mut lanes = Vec::new();
        if let Some(sink) = self.sinks.at(index) {
            lanes.extend(std::iter::from_fn(|| sink.next_ready(true)));
        }
        for lane in lanes {
            self.park(&lane);
        }
    }

    pub(super) fn park_all(&mut self) {
        for index in self.sinks.in_turn() {
            self.park_sink(index);
        }
    }

    pub(super) fn park(&mut self, lane: &Lane) {
        for row in self.lanes.take_ready(lane) {
            self.records.push(Pending {
                record: Record::Release { row: row.id },
                due: Some(row.due),
                event: None,
                row,
            });
        }
    }

    fn start_one(&mut self, index: usize) -> bool {
        let total = self.sinks.counted();
        let options = &self.options;
        let Some(sink) = self.sinks.at(index) else {
            return false;
        };
        if sink.breaker.allows() == 0 {
            return false;
        }
        let room = sink.counted < options.sink_concurrency && total < options.concurrency;
        let Some(lane) = sink.next_ready(room) else {
            return false;
        };
        let Some(row) = self.lanes.pop(&lane) else {
            return true;
        };
        if self.lanes.is_ready(&lane) {
            sink.ready(&lane);
        }
        let probe = sink.breaker.begin();
        let counts = sink.counts(&lane);
        sink.counted += usize::from(counts);
        let resume_key = lane.key.is_some();
        self.begin(&row, !counts, resume_key, probe);
        if probe {
            // Claimed before the breaker opened, or more than the probe needs.
            self.park_sink(index);
        }
        true
    }

    /// An attempt begins: its sink is handed the hook, now or once the body is checked in.
    fn begin(&mut self, row: &Arc<Row>, batch: bool, resume_key: bool, probe: bool) {
        let context = DeliveryContext {
            attempt: row.attempts.saturating_add(1),
            claim: row.claim.clone(),
            replay_id: row.replay_id.as_ref().map(|id| id.as_str().to_owned()),
            batch,
            resume_key,
            ..DeliveryContext::default()
        };
        let first_at = row.first_attempt_at.unwrap_or_else(|| self.unix_now());
        let deadline = self.now.checked_add(self.options.attempt_timeout);
        let attempt = self
            .attempts
            .begin(Arc::clone(row), first_at, probe, deadline);
        if self.needs_check_in(row) {
            self.check_in(attempt, row, context);
        } else {
            self.hand_over(attempt, context);
        }
    }

    /// The sink of an attempt is handed its hook.
    pub(super) fn hand_over(&mut self, attempt: AttemptId, context: DeliveryContext) {
        if let Some(running) = self.attempts.get(attempt) {
            let row = Arc::clone(&running.row);
            self.outputs.push_back(DispatchOutput::Attempt {
                attempt,
                row,
                context,
            });
        }
    }
}
