//! Rows are claimed: as many as the windows have room for, in turns.

use std::sync::Arc;

use super::{Claiming, Dispatcher};
use crate::dispatch::breaker::BreakerState;
use crate::dispatch::io::{CallId, DispatchMisuse, DispatchOutput, Event};
use crate::journal::{Claim, Claimed, JournalError, Lane};

/// The most bytes that are kept free for one claim.
const CLAIM_BYTES: usize = 16 * 1024 * 1024;
/// How many rows of a sink that does not batch are claimed for each attempt it may have at once:
/// enough that an attempt never waits for the journal.
const AHEAD: usize = 4;
/// The most names of unknown sinks that are remembered, to tell of each once.
const UNKNOWN_MAX: usize = 1_000;

impl<T> Dispatcher<T> {
    /// A row of `lane` is due then.
    pub(super) fn due(&mut self, lane: &Lane, due: i64) {
        if self.sinks.get(&lane.sink).is_none() {
            let new = self.unknown_sinks.len() < UNKNOWN_MAX
                && self.unknown_sinks.insert(lane.sink.clone());
            if new {
                self.event(Event::UnknownSink(lane.sink.clone()));
            }
            return;
        }
        let now = self.unix_now();
        if self.lanes.due(now, lane, due)
            && let Some(sink) = self.sinks.get_mut(&lane.sink)
        {
            sink.claims.push(lane);
        }
    }

    pub(super) fn claim_rows(&mut self) {
        if !self.claim_backoff.is_over(self.now) {
            return;
        }
        loop {
            let mut any = false;
            for index in self.sinks.in_turn() {
                let sink = self.sinks.at(index);
                let sink = sink.filter(|sink| sink.breaker.allows() > 0);
                if let Some(lane) = sink.and_then(|sink| sink.claims.pop()) {
                    self.claim_from(lane);
                    any = true;
                }
            }
            if !any {
                return;
            }
        }
    }

    pub(super) fn claimed(
        &mut self,
        call: CallId,
        result: Result<Claimed, JournalError>,
    ) -> Result<(), DispatchMisuse> {
        let claiming = self.claims.remove(&call);
        let Claiming { lane, rows, bytes } = claiming.ok_or(DispatchMisuse::UnknownCall(call))?;
        self.window.reserved_rows -= rows;
        self.window.reserved_bytes -= bytes;
        if let Some(sink) = self.sinks.get_mut(&lane.sink) {
            sink.claiming -= 1;
            sink.held -= rows;
        }
        let now = self.unix_now();
        let claimed = match result {
            Ok(claimed) => claimed,
            Err(error) => {
                self.claim_backoff.failed(self.now);
                self.event(Event::Journal {
                    what: "claim",
                    error,
                });
                // It may have been done; what it claimed is due again after a restart.
                let again = self.lanes.claimed(now, &lane, Vec::new(), Some(now));
                self.list(&lane, again);
                self.let_in(false);
                return Ok(());
            }
        };
        self.claim_backoff.reset();
        let asked = rows;
        let rows: Vec<_> = claimed.rows.into_iter().map(Arc::new).collect();
        let got = rows.len();
        self.window.rows += got;
        self.window.bytes += rows.iter().map(|row| row.bytes()).sum::<usize>();
        if let Some(sink) = self.sinks.get_mut(&lane.sink) {
            sink.held += got;
            if got > 0 {
                sink.starts.push(&lane);
            }
        }
        let again = self.lanes.claimed(now, &lane, rows, claimed.next_due);
        if got < asked {
            self.let_in(false);
        }
        if again && got == 0 && claimed.next_due.is_some_and(|due| due <= now) {
            self.oversized.push(&lane);
        } else {
            self.list(&lane, again);
        }
        if self.may_not_start(&lane) {
            self.park(&lane);
        }
        Ok(())
    }

    /// There is room again: lanes that were crowded out have a turn. Those whose row was too large
    /// have one when something was recorded, or nothing is held at all: asked any sooner, the
    /// journal would say the same again.
    pub(super) fn let_in(&mut self, recorded: bool) {
        let now = self.unix_now();
        while let Some(lane) = self.crowded.pop() {
            let due = self.lanes.is_due(now, &lane);
            self.list(&lane, due);
        }
        let empty = self.window.rows == 0 && self.window.reserved_rows == 0;
        if !recorded && !empty {
            return;
        }
        while let Some(lane) = self.oversized.pop() {
            let due = self.lanes.is_due(now, &lane);
            self.list(&lane, due);
        }
    }

    pub(super) fn list(&mut self, lane: &Lane, due: bool) {
        if due && let Some(sink) = self.sinks.get_mut(&lane.sink) {
            sink.claims.push(lane);
        }
    }

    fn may_not_start(&self, lane: &Lane) -> bool {
        let sink = self.sinks.get(&lane.sink);
        let open = sink.is_some_and(|sink| sink.breaker.state() == BreakerState::Open);
        self.closing.is_some() || open
    }

    /// Claims rows of a lane, if there is room for any.
    fn claim_from(&mut self, lane: Lane) {
        let now = self.unix_now();
        if !self.lanes.is_due(now, &lane) {
            // Its rows were claimed by an earlier turn.
            return;
        }
        let rows = self.room(&lane);
        let alone = self.window.rows == 0 && self.window.reserved_rows == 0;
        let used = self.window.bytes + self.window.reserved_bytes;
        let bytes = self
            .options
            .window_bytes
            .saturating_sub(used)
            .min(CLAIM_BYTES);
        if rows == 0 || (bytes == 0 && !alone) {
            self.crowded.push(&lane);
            return;
        }
        let call = Self::call(&mut self.last_call);
        let claim = Claim {
            lane: lane.clone(),
            due_by: now,
            max_rows: rows,
            max_bytes: bytes,
            oversize: alone,
        };
        self.lanes.claim(&lane);
        self.window.reserved_rows += rows;
        self.window.reserved_bytes += bytes;
        if let Some(sink) = self.sinks.get_mut(&lane.sink) {
            sink.claiming += 1;
            sink.held += rows;
        }
        self.claims.insert(call, Claiming { lane, rows, bytes });
        self.outputs
            .push_back(DispatchOutput::Claim { call, claim });
    }

    /// How many more rows of a lane may be claimed.
    fn room(&self, lane: &Lane) -> usize {
        let Some(sink) = self.sinks.get(&lane.sink) else {
            return 0;
        };
        let options = &self.options;
        let share = (options.window_rows / self.sinks.busy()).max(1);
        let (for_sink, for_lane) = if sink.spec.batched {
            (share, options.lane_rows.min(share))
        } else {
            let ahead = options.sink_concurrency.saturating_mul(AHEAD).min(share);
            (ahead, ahead)
        };
        let window = options
            .window_rows
            .saturating_sub(self.window.rows + self.window.reserved_rows);
        let for_lane = match lane.key {
            Some(_) => 1,
            None => for_lane,
        };
        // A probe is one row.
        let allowed = match sink.breaker.allows() {
            1 if sink.claiming > 0 || !sink.starts.is_empty() => 0,
            allowed => allowed,
        };
        window
            .min(for_sink.saturating_sub(sink.held))
            .min(for_lane.saturating_sub(self.lanes.held(lane)))
            .min(allowed)
    }
}
