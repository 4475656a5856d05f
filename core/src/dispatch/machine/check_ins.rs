//! Large bodies are checked in before a sink is handed their hooks.

use std::sync::Arc;

use super::Dispatcher;
use crate::claim::{ClaimError, ClaimRef};
use crate::delivery::DeliveryContext;
use crate::dispatch::breaker::BreakerState;
use crate::dispatch::io::{AttemptId, CheckInId, DispatchMisuse, DispatchOutput, Hook};
use crate::failure::{Class, Failure};
use crate::journal::Row;
use crate::reason::Reason;

impl<T> Dispatcher<T> {
    /// Whether the body of a hook that comes in is too large for one of its sinks to send.
    pub(super) fn wants_check_in(&self, hook: &Hook) -> bool {
        let size = hook.envelope.size();
        let mut sinks = hook.to.iter().filter_map(|to| self.sinks.get(&to.sink));
        hook.claim.is_none() && sinks.any(|sink| sink.wants_claim(size))
    }

    /// Whether a row's body has to be checked in before its sink is handed it: because of this
    /// sink or, as it came in, of another one that its hook was for.
    pub(super) fn needs_check_in(&self, row: &Row) -> bool {
        let size = row.envelope.size();
        let sink = self.sinks.get(&row.lane.sink);
        row.claim.is_none()
            && (sink.is_some_and(|sink| sink.wants_claim(size))
                || row.check_in && self.sinks.use_claims())
    }

    /// An attempt that has begun waits for its row's body to be checked in.
    pub(super) fn check_in(
        &mut self,
        attempt: AttemptId,
        row: &Arc<Row>,
        context: DeliveryContext,
    ) {
        let envelope = &row.envelope;
        let claim = ClaimRef::derive(envelope.tenant(), envelope.received_at, &envelope.id);
        let claim = match claim {
            Ok(claim) => claim,
            Err(invalid) => return self.finish(attempt, Err(ClaimError::from(invalid).into())),
        };
        let there = self.check_ins.wait(claim.clone(), row, attempt, context);
        if let Some(context) = there {
            self.hand_over_claimed(attempt, claim, context);
        }
    }

    pub(super) fn begin_check_ins(&mut self) {
        let deadline = self.now.checked_add(self.options.attempt_timeout);
        while let Some((check_in, claim, row)) = self.check_ins.next(deadline) {
            self.outputs.push_back(DispatchOutput::CheckIn {
                check_in,
                claim,
                row,
            });
        }
    }

    /// The claim store answered.
    pub(super) fn checked_in(
        &mut self,
        check_in: CheckInId,
        result: Result<(), &ClaimError>,
    ) -> Result<(), DispatchMisuse> {
        if !self.check_ins.knows(check_in) {
            return Err(DispatchMisuse::UnknownCheckIn(check_in));
        }
        let Some((claim, waiting)) = self.check_ins.end(check_in, result.is_ok()) else {
            return Ok(());
        };
        for (attempt, context) in waiting {
            match result {
                Ok(()) => self.hand_over_claimed(attempt, claim.clone(), context),
                Err(error) => self.finish(attempt, Err(error.clone().into())),
            }
        }
        Ok(())
    }

    /// Check-ins that took too long have failed, and with them what waited for them.
    pub(super) fn expire_check_ins(&mut self) {
        while let Some(check_in) = self.check_ins.overdue(self.now) {
            self.outputs
                .push_back(DispatchOutput::AbortCheckIn(check_in));
            let ended = self.check_ins.end(check_in, false);
            for attempt in ended
                .into_iter()
                .flat_map(|(_, waiting)| waiting.into_keys())
            {
                self.finish(attempt, Err(self.not_checked_in()));
            }
        }
    }

    /// What an attempt that took too long has failed for. Where it still waits for a check-in that
    /// has time, its sink had nothing to do with it.
    pub(super) fn overdue(&mut self, attempt: AttemptId) -> Failure {
        if self.check_ins.leave(attempt) {
            return self.not_checked_in();
        }
        self.outputs.push_back(DispatchOutput::Abort(attempt));
        let after_ms = self.attempt_ms();
        let failure = Failure::new(Class::Transient, Reason::AttemptTimeout { after_ms });
        failure.maybe_stored(true)
    }

    pub(super) fn abort_check_ins(&mut self) {
        while let Some(check_in) = self.check_ins.first() {
            self.outputs
                .push_back(DispatchOutput::AbortCheckIn(check_in));
            self.check_ins.end(check_in, false);
        }
    }

    /// The body lies in the store.
    fn hand_over_claimed(
        &mut self,
        attempt: AttemptId,
        claim: ClaimRef,
        mut context: DeliveryContext,
    ) {
        let Some(running) = self.attempts.get(attempt) else {
            return;
        };
        let sink = self.sinks.get(&running.row.lane.sink);
        let state = sink.map(|sink| sink.breaker.state());
        // Its sink may be left alone since the attempt began.
        if state != Some(BreakerState::Closed) && !running.probe {
            return self.give_back(attempt);
        }
        context.claim = Some(claim.clone());
        self.attempts.checked_in(attempt, claim);
        self.hand_over(attempt, context);
    }

    fn not_checked_in(&self) -> Failure {
        let after_ms = self.attempt_ms();
        let detail = format!("the body was not checked in within {after_ms} ms");
        ClaimError::unavailable(detail).into()
    }

    fn attempt_ms(&self) -> u64 {
        u64::try_from(self.options.attempt_timeout.as_millis()).unwrap_or(u64::MAX)
    }
}
