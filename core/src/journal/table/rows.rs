//! Rows in, rows out.

use std::collections::BTreeSet;

use super::{CheckedIn, Kept, StoppedLane, Table, place};
use crate::journal::error::JournalError;
use crate::journal::row::{Claim, Claimed, Enqueue, Enqueued, Lane, OnceState, Record, Row, RowId};
use crate::text::Text;

impl Table {
    /// Keeps hooks, due at once; answers for each in order.
    ///
    /// # Errors
    ///
    /// [`JournalError::Full`].
    pub fn enqueue(&mut self, now: i64, hooks: &[Enqueue]) -> Result<Vec<Enqueued>, JournalError> {
        self.check_room(hooks)?;
        Ok(hooks
            .iter()
            .map(|hook| self.enqueue_one(now, hook))
            .collect())
    }

    /// Gives out rows of a lane.
    pub fn claim(&mut self, claim: &Claim) -> Claimed {
        let mut claimed = Claimed::default();
        let max_rows = match claim.lane.key {
            Some(_) => claim.max_rows.min(1),
            None => claim.max_rows,
        };
        let mut bytes = 0;
        while claimed.rows.len() < max_rows
            && self
                .next_due(&claim.lane)
                .is_some_and(|due| due <= claim.due_by)
        {
            let Some(row) = self.first(&claim.lane) else {
                break;
            };
            let first = claim.oversize && claimed.rows.is_empty();
            if !first && bytes + row.bytes() > claim.max_bytes {
                break;
            }
            bytes += row.bytes();
            self.take(row.id);
            claimed.rows.push(row);
        }
        claimed.next_due = self.next_due(&claim.lane);
        claimed
    }

    /// Keeps what became of claimed rows.
    ///
    /// # Errors
    ///
    /// [`JournalError::NotClaimed`].
    pub fn record(&mut self, records: &[Record]) -> Result<(), JournalError> {
        let mut seen = BTreeSet::new();
        for record in records {
            let row = record.row();
            let claimed = self.rows.get(&row).is_some_and(|kept| kept.claimed);
            // Recorded a second time, it is not claimed any more.
            if !claimed || !seen.insert(row) {
                return Err(JournalError::NotClaimed(row));
            }
        }
        for record in records {
            self.record_one(record);
        }
        Ok(())
    }

    fn enqueue_one(&mut self, now: i64, hook: &Enqueue) -> Enqueued {
        if let Some(name) = &hook.once {
            if let Some(known) = self.once.get(name) {
                return Enqueued::Known(known.clone());
            }
            let state = OnceState {
                hook_id: hook.envelope.id.clone(),
                pending: u32::try_from(hook.to.len()).unwrap_or(u32::MAX),
                ..OnceState::default()
            };
            self.once.insert(name.clone(), state);
        }
        let checked_in = CheckedIn::default();
        let rows = hook.to.iter().map(|to| {
            let lane = Lane {
                sink: to.sink.clone(),
                source: hook.envelope.source_id.as_str().into(),
                key: to.key.clone(),
            };
            let row = Row {
                id: RowId(0),
                lane: lane.clone(),
                envelope: hook.envelope.clone(),
                claim: hook.claim.clone(),
                check_in: hook.check_in,
                enqueued_at: now,
                due: now,
                attempts: 0,
                first_attempt_at: None,
                maybe_stored: false,
                replay_id: None,
                once: hook.once.clone(),
            };
            (self.insert(row, checked_in.clone()), lane)
        });
        Enqueued::Stored(rows.collect())
    }

    /// Keeps a row under the next number.
    pub(super) fn insert(&mut self, mut row: Row, checked_in: CheckedIn) -> RowId {
        self.next_row += 1;
        row.id = RowId(self.next_row);
        self.bytes += row.bytes() as u64;
        let lane = self.lanes.entry(row.lane.clone()).or_default();
        lane.insert(place(&row));
        let kept = Kept {
            row,
            claimed: false,
            checked_in,
        };
        self.rows.insert(RowId(self.next_row), kept);
        RowId(self.next_row)
    }

    /// A claimed row is claimed no more.
    pub(super) fn put_back(&mut self, id: RowId) {
        if let Some(kept) = self.rows.get_mut(&id) {
            kept.claimed = false;
            self.busy.remove(&kept.row.lane);
            let lane = self.lanes.entry(kept.row.lane.clone()).or_default();
            lane.insert(place(&kept.row));
        }
    }

    /// Whether these hooks fit. One that is known takes no room.
    fn check_room(&self, hooks: &[Enqueue]) -> Result<(), JournalError> {
        let (mut rows, mut bytes) = (0_u64, 0_u64);
        let mut names = BTreeSet::new();
        for hook in hooks {
            if let Some(name) = &hook.once
                && (self.once.contains_key(name) || !names.insert(name))
            {
                continue;
            }
            let count = hook.to.len() as u64;
            rows = rows.saturating_add(count);
            bytes = bytes.saturating_add(count.saturating_mul(hook.envelope.bytes() as u64));
        }
        let full = |what, held, max| Err(JournalError::Full { what, held, max });
        let held = (self.rows.len() + self.dead.len()) as u64;
        if held.saturating_add(rows) > self.limits.rows {
            return full("rows", held, self.limits.rows);
        }
        if self.bytes.saturating_add(bytes) > self.limits.bytes {
            return full("bytes", self.bytes, self.limits.bytes);
        }
        Ok(())
    }

    fn first(&self, lane: &Lane) -> Option<Row> {
        let (_, first) = self.lanes.get(lane)?.first()?;
        let kept = self.rows.get(first)?;
        let mut row = kept.row.clone();
        row.claim = kept.checked_in.or(row.claim);
        Some(row)
    }

    fn take(&mut self, id: RowId) {
        let Some(kept) = self.rows.get_mut(&id) else {
            return;
        };
        kept.claimed = true;
        let lane = kept.row.lane.clone();
        if lane.key.is_some() {
            self.busy.insert(lane);
        } else {
            let place = place(&kept.row);
            self.leave(&lane, place);
        }
    }

    fn leave(&mut self, lane: &Lane, place: (i64, RowId)) {
        if let Some(rows) = self.lanes.get_mut(lane) {
            rows.remove(&place);
            if rows.is_empty() {
                self.lanes.remove(lane);
            }
        }
    }

    fn record_one(&mut self, record: &Record) {
        if let Some(kept) = self.rows.get(&record.row()) {
            kept.checked_in.learn(record.claim());
        }
        match record {
            Record::Release { row } => self.put_back(*row),
            Record::Retry {
                row,
                due,
                attempts,
                first_attempt_at,
                maybe_stored,
                ..
            } => {
                if let Some(kept) = self.rows.get_mut(row) {
                    kept.row.due = *due;
                    kept.row.attempts = *attempts;
                    kept.row.first_attempt_at = Some(*first_attempt_at);
                    kept.row.maybe_stored = *maybe_stored;
                }
                self.put_back(*row);
            }
            Record::Delivered {
                row, message_id, ..
            } => {
                let Some(Kept { row, .. }) = self.let_go(*row) else {
                    return;
                };
                if let Some(known) = row.once.as_ref().and_then(|name| self.once.get_mut(name)) {
                    known.pending = known.pending.saturating_sub(1);
                    known.delivered += 1;
                    known.message_id.clone_from(message_id);
                }
                self.replay_settled(row.replay_id.as_ref(), true);
            }
            Record::Dead {
                row,
                cause,
                attempts,
                first_attempt_at,
                died_at,
                stop,
                ..
            } => {
                let Some(mut kept) = self.let_go(*row) else {
                    return;
                };
                let row = &mut kept.row;
                if let Some(known) = row.once.as_ref().and_then(|name| self.once.get_mut(name)) {
                    known.pending = known.pending.saturating_sub(1);
                    known.dead += 1;
                }
                self.replay_settled(row.replay_id.as_ref(), false);
                if *stop && row.lane.key.is_some() {
                    let stopped = StoppedLane {
                        lane: row.lane.clone(),
                        cause: cause.clone(),
                        since: *died_at,
                    };
                    self.stopped.entry(row.lane.clone()).or_insert(stopped);
                }
                row.attempts = *attempts;
                row.first_attempt_at = *first_attempt_at;
                self.bury(kept, cause.clone(), *died_at);
            }
        }
    }

    fn let_go(&mut self, id: RowId) -> Option<Kept> {
        let kept = self.rows.remove(&id)?;
        let row = &kept.row;
        self.bytes = self.bytes.saturating_sub(row.bytes() as u64);
        self.busy.remove(&row.lane);
        self.leave(&row.lane, place(row));
        Some(kept)
    }

    fn replay_settled(&mut self, id: Option<&Text>, delivered: bool) {
        if let Some(job) = id.and_then(|id| self.replays.get_mut(id)) {
            if delivered {
                job.delivered();
            } else {
                job.died();
            }
        }
    }
}
