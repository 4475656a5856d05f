//! Hooks come in.

use std::collections::HashSet;

use prost::Message as _;
use pubsink_core::journal::{Enqueued, JournalError, RowId};
use redb::ReadableTable as _;

use super::group::Group;
use crate::calls::NewHook;
use crate::error::Fault;
use crate::record::{OnceRecord, RowRecord, decode};
use crate::tables::Place;

impl Group<'_> {
    /// Keeps hooks, due at once; answers for each in order.
    pub(super) fn enqueue(
        &mut self,
        now: i64,
        hooks: &[NewHook],
    ) -> Result<Result<Vec<Enqueued>, JournalError>, Fault> {
        if let Some(full) = self.full(hooks)? {
            return Ok(Err(full));
        }
        let enqueued: Result<_, Fault> = hooks
            .iter()
            .map(|hook| self.enqueue_one(now, hook))
            .collect();
        enqueued.map(Ok)
    }

    /// Why these hooks do not fit. One that is known takes no room.
    fn full(&self, hooks: &[NewHook]) -> Result<Option<JournalError>, Fault> {
        let (mut rows, mut bytes) = (0_u64, 0_u64);
        let mut names = HashSet::new();
        for hook in hooks {
            if let Some(name) = &hook.once
                && (!names.insert(name) || self.once.get(&**name)?.is_some())
            {
                continue;
            }
            let count = hook.lanes.len() as u64;
            rows = rows.saturating_add(count);
            bytes = bytes.saturating_add(count.saturating_mul(hook.bytes));
        }
        let (held, options) = (&self.counters, &self.options);
        let full = |what, held, max| Ok(Some(JournalError::Full { what, held, max }));
        if held.held.saturating_add(rows) > options.max_rows {
            return full("rows", held.held, options.max_rows);
        }
        if held.bytes.saturating_add(bytes) > options.max_bytes {
            return full("bytes", held.bytes, options.max_bytes);
        }
        Ok(None)
    }

    fn enqueue_one(&mut self, now: i64, hook: &NewHook) -> Result<Enqueued, Fault> {
        if let Some(name) = &hook.once {
            if let Some(known) = self.once.get(&**name)? {
                let known: OnceRecord = decode("a name", known.value())?;
                return Ok(Enqueued::Known(known.into()));
            }
            let record = OnceRecord {
                hook_id: hook.id.clone(),
                pending: u32::try_from(hook.lanes.len()).unwrap_or(u32::MAX),
                ..OnceRecord::default()
            };
            self.changed();
            self.once.insert(&**name, &*record.encode_to_vec())?;
        }
        let mut stored = Vec::with_capacity(hook.lanes.len());
        let shared = hook.lanes.len() > 1;
        for lane in &hook.lanes {
            let number = self.lane(lane)?;
            let row = self.next_row();
            let record = RowRecord {
                hook: stored
                    .first()
                    .map_or(row, |(first, _): &(RowId, _)| first.0),
                due: now,
                enqueued_at: now,
                once: hook.once.as_ref().map(ToString::to_string),
                bytes: hook.bytes,
                shared,
                ordered: lane.key.is_some(),
                ..RowRecord::default()
            };
            self.add(number, row, &record)?;
            self.counters.held += 1;
            self.counters.bytes += hook.bytes;
            stored.push((RowId(row), lane.clone()));
        }
        if let Some((RowId(first), _)) = stored.first() {
            let mut place = self.hooks.insert_reserve(first, hook.encoded.len())?;
            hook.encoded.write(place.as_mut())?;
            drop(place);
            if shared {
                let count = u32::try_from(stored.len()).unwrap_or(u32::MAX);
                self.shared.insert(first, count)?;
            }
        }
        Ok(Enqueued::Stored(stored))
    }

    /// Puts a new row into its lane.
    pub(super) fn add(&mut self, lane: u64, row: u64, record: &RowRecord) -> Result<(), Fault> {
        let order = record.order();
        let place = Place { lane, order, row };
        self.changed();
        self.rows.insert(&place.key(), &*record.encode_to_vec())?;
        self.aftermath.added.push(place);
        Ok(())
    }
}
