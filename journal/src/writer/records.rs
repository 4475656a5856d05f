//! What became of claimed rows.

use prost::Message as _;
use pubsink_core::claim::ClaimRef;
use pubsink_core::journal::{Cause, JournalError, Record, RowId};
use pubsink_core::text::Text;
use redb::ReadableTable as _;

use super::group::Group;
use crate::error::Fault;
use crate::record::{
    DeadRecord, OnceRecord, ReplayRecord, RowRecord, StoppedRecord, decode, decode_lane, lane_key,
};
use crate::tables::Place;

impl Group<'_> {
    /// Keeps what became of claimed rows: all of them, or none.
    pub(super) fn record(&mut self, records: &[Record]) -> Result<Result<(), JournalError>, Fault> {
        let rows = records.iter().map(|record| record.row().0);
        let begun = self.with_claims(|claims| {
            claims.begin(rows.clone())?;
            Ok(rows.filter_map(|row| claims.place(row)).collect::<Vec<_>>())
        });
        let places = match begun {
            Ok(places) => places,
            Err(row) => return Ok(Err(JournalError::NotClaimed(RowId(row)))),
        };
        self.aftermath.begun.extend(places.iter().map(|p| p.row));
        for (record, place) in records.iter().zip(places) {
            self.record_one(record, place)?;
        }
        Ok(Ok(()))
    }

    fn record_one(&mut self, record: &Record, place: Place) -> Result<(), Fault> {
        match record {
            Record::Release { .. } => self.aftermath.back.push(place),
            Record::Retry {
                due,
                attempts,
                first_attempt_at,
                maybe_stored,
                claim,
                ..
            } => {
                let mut row = self.take(place)?;
                self.learn(row.hook, claim.as_ref())?;
                row.due = *due;
                row.attempts = *attempts;
                row.first_attempt_at = Some(*first_attempt_at);
                row.maybe_stored = *maybe_stored;
                let order = row.order();
                let place = Place { order, ..place };
                self.rows.insert(&place.key(), &*row.encode_to_vec())?;
                self.aftermath.back.push(place);
            }
            Record::Delivered {
                message_id, claim, ..
            } => {
                let row = self.take(place)?;
                if row.shared {
                    self.learn(row.hook, claim.as_ref())?;
                }
                self.gone(place);
                self.counters.held = self.counters.held.saturating_sub(1);
                self.counters.bytes = self.counters.bytes.saturating_sub(row.bytes);
                self.let_go(row.hook, row.shared)?;
                self.know(row.once.as_deref(), |known| {
                    known.pending = known.pending.saturating_sub(1);
                    known.delivered += 1;
                    known.message_id = message_id.as_ref().map(ToString::to_string);
                })?;
                self.replay_settled(row.replay_id.as_deref(), true)?;
            }
            Record::Dead {
                cause,
                attempts,
                first_attempt_at,
                died_at,
                stop,
                claim,
                ..
            } => {
                let mut row = self.take(place)?;
                self.learn(row.hook, claim.as_ref())?;
                self.gone(place);
                self.know(row.once.as_deref(), |known| {
                    known.pending = known.pending.saturating_sub(1);
                    known.dead += 1;
                })?;
                self.replay_settled(row.replay_id.as_deref(), false)?;
                row.attempts = *attempts;
                row.first_attempt_at = *first_attempt_at;
                self.bury(place, row, cause, *died_at, *stop)?;
            }
        }
        Ok(())
    }

    /// Changes what is known under a name.
    pub(super) fn know(
        &mut self,
        name: Option<&str>,
        change: impl FnOnce(&mut OnceRecord),
    ) -> Result<(), Fault> {
        let Some(name) = name else {
            return Ok(());
        };
        let known = self.once.get(name)?;
        let known = known.map(|known| decode("a name", known.value()));
        if let Some(mut known) = known.transpose()? {
            change(&mut known);
            self.changed();
            self.once.insert(name, &*known.encode_to_vec())?;
        }
        Ok(())
    }

    /// The body of this hook was checked in. A ref it has already stays.
    fn learn(&mut self, hook: u64, claim: Option<&ClaimRef>) -> Result<(), Fault> {
        if let Some(claim) = claim
            && self.checked_in.get(hook)?.is_none()
        {
            self.checked_in.insert(hook, claim.as_str())?;
        }
        Ok(())
    }

    /// A row or dead letter of this hook is gone: with the last one, the hook is.
    pub(super) fn let_go(&mut self, hook: u64, shared: bool) -> Result<(), Fault> {
        if shared {
            let count = self.shared.get(hook)?.map_or(1, |count| count.value());
            if count > 1 {
                self.shared.insert(hook, count - 1)?;
                return Ok(());
            }
            self.shared.remove(hook)?;
        }
        self.hooks.remove(hook)?;
        self.checked_in.remove(hook)?;
        Ok(())
    }

    /// Takes a claimed row out of its place.
    fn take(&mut self, place: Place) -> Result<RowRecord, Fault> {
        self.changed();
        let row = self.rows.remove(&place.key())?;
        let row = row.map(|row| decode("a row", row.value()));
        row.unwrap_or_else(|| {
            Err(Fault::damaged(format_args!(
                "row {} is claimed and not there",
                place.row
            )))
        })
    }

    fn gone(&mut self, place: Place) {
        self.aftermath.gone.push(place.row);
        self.left(place.lane);
    }

    fn bury(
        &mut self,
        place: Place,
        row: RowRecord,
        cause: &Cause,
        died_at: i64,
        stop: bool,
    ) -> Result<(), Fault> {
        let lane = self.lane_names.get(place.lane)?;
        let lane = lane.map(|lane| decode_lane(lane.value())).transpose()?;
        let lane = lane.ok_or_else(|| {
            Fault::damaged(format_args!("row {} is in a lane without name", place.row))
        })?;
        if stop && lane.key.is_some() {
            let key = lane_key(&lane);
            if self.stopped.get(&*key)?.is_none() {
                let stopped = StoppedRecord {
                    cause: Some(cause.into()),
                    since: died_at,
                };
                self.stopped.insert(&*key, &*stopped.encode_to_vec())?;
            }
        }
        self.counters.next_dead += 1;
        let text = |text: &Text| text.to_string();
        let letter = DeadRecord {
            hook: row.hook,
            sink: text(&lane.sink),
            source: text(&lane.source),
            key: lane.key.as_ref().map(text),
            cause: Some(cause.into()),
            attempts: row.attempts,
            enqueued_at: row.enqueued_at,
            first_attempt_at: row.first_attempt_at,
            died_at,
            replay_id: row.replay_id,
            once: row.once,
            bytes: row.bytes,
            shared: row.shared,
        };
        let letter = letter.encode_to_vec();
        self.dead.insert(self.counters.next_dead, &*letter)?;
        Ok(())
    }

    fn replay_settled(&mut self, id: Option<&str>, delivered: bool) -> Result<(), Fault> {
        let Some(id) = id else {
            return Ok(());
        };
        let job = self.replays.get(id)?;
        let job = job.map(|job| decode::<ReplayRecord>("a replay", job.value())?.job(id));
        if let Some(mut job) = job.transpose()? {
            if delivered {
                job.delivered();
            } else {
                job.died();
            }
            self.store_job(&job)?;
        }
        Ok(())
    }
}
