//! One transaction: the tables, the counters, and what follows when it is committed.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::PoisonError;

use pubsink_core::journal::{JournalError, Lane};
use redb::{
    Database, ReadableDatabase as _, ReadableTable as _, ReadableTableMetadata as _, Table,
    WriteTransaction,
};

use crate::calls::{Change, Changed};
use crate::claims::Claims;
use crate::disk::Shared;
use crate::error::Fault;
use crate::options::DiskOptions;
use crate::record::{RowRecord, decode, lane_key};
use crate::tables::{
    CHECKED_IN, DEAD, HOOKS, LANE_NAMES, LANES, META, ONCE, Place, REPLAYS, ROWS, SHARED, STOPPED,
    meta,
};

type Bytes = &'static [u8];

/// A group of calls being done.
pub(super) struct Group<'a> {
    pub(super) hooks: Table<'a, u64, Bytes>,
    pub(super) shared: Table<'a, u64, u32>,
    pub(super) checked_in: Table<'a, u64, &'static str>,
    pub(super) rows: Table<'a, &'static [u8; 24], Bytes>,
    pub(super) lanes: Table<'a, Bytes, u64>,
    pub(super) lane_names: Table<'a, u64, Bytes>,
    pub(super) dead: Table<'a, u64, Bytes>,
    pub(super) once: Table<'a, &'static str, Bytes>,
    pub(super) replays: Table<'a, &'static str, Bytes>,
    pub(super) stopped: Table<'a, Bytes, Bytes>,
    meta: Table<'a, &'static str, u64>,
    before: Counters,
    pub(super) counters: Counters,
    pub(super) options: DiskOptions,
    journal: &'a Shared,
    pub(super) aftermath: &'a mut Aftermath,
    /// Something was changed that no other counter shows.
    changed: bool,
    known_lanes: HashMap<Lane, u64>,
    /// Lanes that a row left.
    left: BTreeSet<u64>,
}

/// The numbers in `meta`, and how many rows and dead letters there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counters {
    pub(super) held: u64,
    pub(super) bytes: u64,
    pub(super) next_row: u64,
    pub(super) next_dead: u64,
    pub(super) next_lane: u64,
    pub(super) serial: u64,
}

/// What becomes of claims when the group is committed.
#[derive(Debug, Default)]
pub(super) struct Aftermath {
    /// Rows whose records are in the group.
    pub(super) begun: Vec<u64>,
    /// Of these, the ones that are gone, and the ones that are to be had again, and where.
    pub(super) gone: Vec<u64>,
    pub(super) back: Vec<Place>,
    /// New rows.
    pub(super) added: Vec<Place>,
}

impl Aftermath {
    pub(super) fn settle(self, claims: &mut Claims) {
        for row in self.gone {
            claims.gone(row);
        }
        for place in self.back {
            claims.put_back(place);
        }
        for place in self.added {
            claims.added(place);
        }
    }

    pub(super) fn undo(self, claims: &mut Claims) {
        for row in self.begun {
            claims.abandon(row);
        }
    }
}

impl Counters {
    pub(super) fn read(database: &Database) -> Result<Self, Fault> {
        let tx = database.begin_read()?;
        let table = tx.open_table(META)?;
        let read = |name: &str| -> Result<u64, Fault> {
            Ok(table.get(name)?.map_or(0, |number| number.value()))
        };
        Ok(Self {
            held: tx.open_table(ROWS)?.len()? + tx.open_table(DEAD)?.len()?,
            bytes: read(meta::BYTES)?,
            next_row: read(meta::NEXT_ROW)?,
            next_dead: read(meta::NEXT_DEAD)?,
            next_lane: read(meta::NEXT_LANE)?,
            serial: read(meta::SERIAL)?,
        })
    }

    fn named(&self) -> [(&'static str, u64); 5] {
        [
            (meta::BYTES, self.bytes),
            (meta::NEXT_ROW, self.next_row),
            (meta::NEXT_DEAD, self.next_dead),
            (meta::NEXT_LANE, self.next_lane),
            (meta::SERIAL, self.serial),
        ]
    }
}

impl<'a> Group<'a> {
    pub(super) fn open(
        tx: &'a WriteTransaction,
        journal: &'a Shared,
        options: DiskOptions,
        counters: Counters,
        aftermath: &'a mut Aftermath,
    ) -> Result<Self, Fault> {
        Ok(Self {
            hooks: tx.open_table(HOOKS)?,
            shared: tx.open_table(SHARED)?,
            checked_in: tx.open_table(CHECKED_IN)?,
            rows: tx.open_table(ROWS)?,
            lanes: tx.open_table(LANES)?,
            lane_names: tx.open_table(LANE_NAMES)?,
            dead: tx.open_table(DEAD)?,
            once: tx.open_table(ONCE)?,
            replays: tx.open_table(REPLAYS)?,
            stopped: tx.open_table(STOPPED)?,
            meta: tx.open_table(META)?,
            before: counters,
            counters,
            options,
            journal,
            aftermath,
            changed: false,
            known_lanes: HashMap::new(),
            left: BTreeSet::new(),
        })
    }

    /// Does one call. Refused, it has done nothing.
    pub(super) fn apply(&mut self, ask: &Change) -> Result<Result<Changed, JournalError>, Fault> {
        Ok(match ask {
            Change::Enqueue { now, hooks } => self.enqueue(*now, hooks)?.map(Changed::Enqueued),
            Change::Record(records) => self.record(records)?.map(|()| Changed::Done),
            Change::Resume(lane) => Ok(Changed::Due(self.resume(lane)?)),
            Change::Discard(letters) => Ok(Changed::Discarded(self.discard(letters)?)),
            Change::BeginReplay(job) => self.begin_replay(job)?.map(Changed::Job),
            Change::SetReplay { id, running } => self.set_replay(id, *running)?.map(Changed::Job),
            Change::Replay { now, id, max } => self
                .replay(*now, id, *max)?
                .map(|(job, rows)| Changed::Replayed(job, rows)),
            Change::Mend => Ok(Changed::Done),
        })
    }

    /// Something was written.
    pub(super) fn changed(&mut self) {
        self.changed = true;
    }

    /// Ends the group; the counters are as before if nothing was changed.
    pub(super) fn finish(&mut self) -> Result<Counters, Fault> {
        if !self.changed {
            return Ok(self.before);
        }
        for lane in std::mem::take(&mut self.left) {
            self.forget_if_empty(lane)?;
        }
        self.counters.serial += 1;
        for ((name, now), (_, before)) in self.counters.named().into_iter().zip(self.before.named())
        {
            if now != before {
                self.meta.insert(name, now)?;
            }
        }
        Ok(self.counters)
    }

    pub(super) fn with_claims<T>(&self, work: impl FnOnce(&mut Claims) -> T) -> T {
        let claims = self.journal.claims.lock();
        work(&mut claims.unwrap_or_else(PoisonError::into_inner))
    }

    /// The number of a lane, which is given one if it has none.
    pub(super) fn lane(&mut self, lane: &Lane) -> Result<u64, Fault> {
        if let Some(number) = self.known_lanes.get(lane) {
            return Ok(*number);
        }
        let key = lane_key(lane);
        let found = self.lanes.get(&*key)?.map(|number| number.value());
        let number = if let Some(number) = found {
            number
        } else {
            self.counters.next_lane += 1;
            let number = self.counters.next_lane;
            self.lanes.insert(&*key, number)?;
            self.lane_names.insert(number, &*key)?;
            number
        };
        self.known_lanes.insert(lane.clone(), number);
        Ok(number)
    }

    /// Takes the next number of a row.
    pub(super) fn next_row(&mut self) -> u64 {
        self.counters.next_row += 1;
        self.counters.next_row
    }

    /// A row left the lane.
    pub(super) fn left(&mut self, lane: u64) {
        self.left.insert(lane);
    }

    /// When the next row of `lane` is due that is not claimed.
    pub(super) fn next_due(&self, lane: &Lane) -> Result<Option<i64>, Fault> {
        let key = lane_key(lane);
        if self.stopped.get(&*key)?.is_some() {
            return Ok(None);
        }
        let Some(number) = self.lanes.get(&*key)?.map(|number| number.value()) else {
            return Ok(None);
        };
        let range = keys(number);
        for entry in self.rows.range::<&[u8; 24]>(&range.start..&range.end)? {
            let (place, row) = entry?;
            let place = Place::of(place.value());
            let claimed = self.with_claims(|claims| claims.holds(place.row));
            if !claimed || self.aftermath.back.contains(&place) {
                let row: RowRecord = decode("a row", row.value())?;
                return Ok(Some(row.due));
            }
            if lane.key.is_some() {
                return Ok(None);
            }
        }
        Ok(None)
    }

    fn forget_if_empty(&mut self, lane: u64) -> Result<(), Fault> {
        let range = keys(lane);
        let empty = self
            .rows
            .range::<&[u8; 24]>(&range.start..&range.end)?
            .next()
            .is_none();
        if empty {
            let key = self.lane_names.remove(lane)?;
            if let Some(key) = key.map(|key| key.value().to_vec()) {
                self.lanes.remove(&*key)?;
            }
        }
        Ok(())
    }
}

/// The keys of a lane's rows.
fn keys(lane: u64) -> Range<[u8; 24]> {
    Place::first_of(lane).key()..Place::first_of(lane + 1).key()
}
