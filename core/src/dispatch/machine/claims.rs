//! Rows are claimed: as many as the windows have room for, in turns.

use std::sync::Arc;

use super::{Claiming, Dispatcher};
use crate::dispatch::breaker::BreakerState;
use crate::dispatch::io::{CallId, DispatchMisuse, DispatchOutput, Event};
use crate::journal::{Claim, Claimed, JournalError, Lane};
use crate::text::Text;

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
            self.tell_unknown(&lane.sink);
            return;
        }
        let now = self.unix_now();
        let due = self.lanes.due(now, lane, due);
        self.list(lane, due);
    }

    /// There is something for a sink that there is not: told once.
    pub(super) fn tell_unknown(&mut self, sink: &Text) {
        if self.unknown_sinks.len() < UNKNOWN_MAX && self.unknown_sinks.insert(sink.clone()) {
            self.event(Event::UnknownSink(sink.clone()));
        }
    }

    pub(super) fn claim_rows(&mut self) {
        if !self.claim_backoff.is_over(self.now) {
            return;
        }
        if self.feed_hungry() {
            return;
        }
        loop {
            let mut any = false;
            for index in self.sinks.in_turn() {
                for counts in [false, true] {
                    any |= self.claim_one(index, counts);
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
        let Some(Claiming { lane, rows, bytes }) = self.claims.remove(&call) else {
            let rows = result.into_iter().flat_map(|claimed| claimed.rows);
            self.let_go.extend(rows.map(|row| row.envelope));
            return Err(DispatchMisuse::UnknownCall(call));
        };
        self.window.reserved_rows -= rows;
        self.window.reserved_bytes -= bytes;
        if let Some(sink) = self.sinks.get_mut(&lane.sink) {
            sink.claiming -= 1;
            sink.release(&lane, rows);
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
                // It may have been done; what it claimed is due again after a restart. What is
                // left has waited as long as before.
                let due = self.lanes.due_of(&lane).unwrap_or(now);
                let again = self.lanes.claimed(now, &lane, Vec::new(), Some(due));
                self.list(&lane, again);
                return Ok(());
            }
        };
        self.claim_backoff.reset();
        let rows: Vec<_> = claimed.rows.into_iter().map(Arc::new).collect();
        let got = rows.len();
        self.window.rows += got;
        self.window.bytes += rows.iter().map(|row| row.bytes()).sum::<usize>();
        if let Some(sink) = self.sinks.get_mut(&lane.sink) {
            sink.hold(&lane, got);
            if got > 0 {
                sink.ready(&lane);
            }
        }
        let again = self.lanes.claimed(now, &lane, rows, claimed.next_due);
        // The others may have left more room by now.
        self.hungry_waits = false;
        if again && got == 0 && claimed.next_due.is_some_and(|due| due <= now) {
            // Its next row is larger than the room it was offered. Offered all there is, it waits
            // for more: asked again before that, the journal would say the same.
            self.hungry_waits = self.hungry.first() == Some(&lane);
            self.hungry.push(&lane);
        } else {
            self.hungry.remove(&lane);
            self.list(&lane, again);
        }
        if self.may_not_start(&lane) {
            self.park(&lane);
        }
        Ok(())
    }

    /// The lane may have had as much claimed as it may.
    pub(super) fn list_if_due(&mut self, lane: &Lane) {
        let due = self.lanes.is_due(self.unix_now(), lane);
        self.list(lane, due);
    }

    pub(super) fn list(&mut self, lane: &Lane, due: bool) {
        if due && let Some(sink) = self.sinks.get_mut(&lane.sink) {
            sink.list(lane);
        }
    }

    fn may_not_start(&self, lane: &Lane) -> bool {
        let sink = self.sinks.get(&lane.sink);
        let open = sink.is_some_and(|sink| sink.breaker.state() == BreakerState::Open);
        self.closing.is_some() || open
    }

    /// Claims rows of the lane whose turn it is, if there is room for any of the sink's. Without,
    /// its lanes keep their turns.
    fn claim_one(&mut self, index: usize, counts: bool) -> bool {
        let bytes = self.free_bytes().min(CLAIM_BYTES);
        let room = self.room(index, counts);
        if room == 0 || (bytes == 0 && !self.window.is_empty()) {
            return false;
        }
        let queue = self.sinks.at(index).map(|sink| sink.queue(counts));
        let Some(lane) = queue.and_then(|queue| queue.claims.pop()) else {
            return false;
        };
        let now = self.unix_now();
        let rows = room.min(self.lane_room(&lane));
        // Claimed by an earlier turn; or as much of it is held as may be, and it has its next turn
        // when some of that is recorded.
        if rows == 0 || !self.lanes.is_due(now, &lane) {
            return true;
        }
        self.ask(index, lane, rows, bytes);
        true
    }

    /// Offers all the room there is to a lane whose next row did not fit into less, and tells
    /// whether one waits for it. Nothing else is claimed then: under steady work the window would
    /// never have room for a large row, and everything behind it would wait for ever.
    fn feed_hungry(&mut self) -> bool {
        let now = self.unix_now();
        while let Some(lane) = self.hungry.first().cloned() {
            if self.claims.values().any(|claiming| claiming.lane == lane) {
                return true;
            }
            let sink = self.sinks.get(&lane.sink);
            let counts = sink.is_some_and(|sink| sink.counts(&lane));
            let index = self.sinks.index(&lane.sink);
            let index = index.filter(|_| self.lanes.is_due(now, &lane));
            let Some(index) = index.filter(|index| self.room(*index, counts) > 0) else {
                // Its sink is left alone, or has enough to do: it asks again in its turn.
                self.hungry.remove(&lane);
                self.list_if_due(&lane);
                continue;
            };
            if !self.hungry_waits {
                self.ask(index, lane, 1, self.free_bytes());
            }
            return true;
        }
        false
    }

    /// Asks the journal for rows of a lane.
    fn ask(&mut self, index: usize, lane: Lane, rows: usize, bytes: usize) {
        let call = Self::call(&mut self.last_call);
        let claim = Claim {
            lane: lane.clone(),
            due_by: self.unix_now(),
            max_rows: rows,
            max_bytes: bytes,
            oversize: self.window.is_empty(),
        };
        self.lanes.claim(&lane);
        self.window.reserved_rows += rows;
        self.window.reserved_bytes += bytes;
        if let Some(sink) = self.sinks.at(index) {
            sink.claiming += 1;
            sink.hold(&lane, rows);
        }
        self.claims.insert(call, Claiming { lane, rows, bytes });
        self.outputs
            .push_back(DispatchOutput::Claim { call, claim });
    }

    /// How many more rows of a sink may be claimed, of those that count or of the others.
    fn room(&mut self, index: usize, counts: bool) -> usize {
        let used = self.window.rows + self.window.reserved_rows;
        let window = self.options.window_rows.saturating_sub(used);
        let share = (self.options.window_rows / self.sinks.busy()).max(1);
        let ahead = self.options.sink_concurrency.saturating_mul(AHEAD);
        let Some(sink) = self.sinks.at(index) else {
            return 0;
        };
        // A probe is one row.
        let allowed = match sink.breaker.allows() {
            1 if sink.claiming > 0 || sink.is_ready() => 0,
            allowed => allowed,
        };
        let share = share.saturating_sub(sink.held());
        let queue = if counts {
            ahead.saturating_sub(sink.queue(counts).held)
        } else {
            share
        };
        window.min(share).min(queue).min(allowed)
    }

    /// How many more bytes may be claimed.
    fn free_bytes(&self) -> usize {
        let used = self.window.bytes + self.window.reserved_bytes;
        self.options.window_bytes.saturating_sub(used)
    }

    /// How many more rows of a lane may be claimed.
    fn lane_room(&self, lane: &Lane) -> usize {
        let max = match lane.key {
            Some(_) => 1,
            None => self.options.lane_rows,
        };
        max.saturating_sub(self.lanes.held(lane))
    }
}
