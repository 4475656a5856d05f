//! A journal in memory, and the model of every other.

mod dead;
mod replays;
mod rows;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use super::dead_letter::{Cause, DeadId, DeadLetter};
use super::replay::ReplayJob;
use super::row::{Lane, OnceState, Row, RowId};
use crate::claim::ClaimRef;
use crate::text::Text;

/// How much a journal may hold, dead letters included: they are let go by a replay or by hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableLimits {
    /// Rows and dead letters.
    pub rows: u64,
    /// Bytes of their hooks, as [`Row::bytes`] counts them.
    pub bytes: u64,
}

impl TableLimits {
    /// Of a journal in memory: 65,536 rows and 512 MiB.
    pub const MEMORY: Self = Self {
        rows: 65_536,
        bytes: 512 * 1024 * 1024,
    };
}

impl Default for TableLimits {
    fn default() -> Self {
        Self::MEMORY
    }
}

/// A journal in memory: every call is one step that is done whole or not at all.
#[derive(Debug)]
pub struct Table {
    limits: TableLimits,
    next_row: u64,
    next_dead: u64,
    bytes: u64,
    rows: BTreeMap<RowId, Kept>,
    /// The rows of each lane that has any, in its order. Claimed ones stay only where the lane
    /// keeps order.
    lanes: BTreeMap<Lane, BTreeSet<(i64, RowId)>>,
    /// Lanes that keep order and have their row claimed.
    busy: BTreeSet<Lane>,
    dead: BTreeMap<DeadId, Buried>,
    stopped: BTreeMap<Lane, StoppedLane>,
    once: BTreeMap<Text, OnceState>,
    replays: BTreeMap<Text, ReplayJob>,
}

/// A row in the table.
#[derive(Debug)]
struct Kept {
    row: Row,
    claimed: bool,
    checked_in: CheckedIn,
}

/// A dead letter in the table.
#[derive(Debug)]
struct Buried {
    letter: DeadLetter,
    checked_in: CheckedIn,
}

/// The ref that a hook was checked in under after it was stored, for all its rows and dead
/// letters.
#[derive(Debug, Clone, Default)]
struct CheckedIn(Arc<OnceLock<ClaimRef>>);

impl CheckedIn {
    /// It was checked in. The first ref stays.
    fn learn(&self, claim: Option<&ClaimRef>) {
        if let Some(claim) = claim {
            self.0.get_or_init(|| claim.clone());
        }
    }

    /// Where the body lies: as it came with the hook, or as it was learnt.
    fn or(&self, claim: Option<ClaimRef>) -> Option<ClaimRef> {
        claim.or_else(|| self.0.get().cloned())
    }
}

/// A lane that stopped when one of its messages died.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoppedLane {
    /// The lane.
    pub lane: Lane,
    /// Why that message died.
    pub cause: Cause,
    /// When, unix milliseconds.
    pub since: i64,
}

impl Table {
    /// An empty journal.
    #[must_use]
    pub fn new(limits: TableLimits) -> Self {
        Self {
            limits,
            next_row: 0,
            next_dead: 0,
            bytes: 0,
            rows: BTreeMap::new(),
            lanes: BTreeMap::new(),
            busy: BTreeSet::new(),
            dead: BTreeMap::new(),
            stopped: BTreeMap::new(),
            once: BTreeMap::new(),
            replays: BTreeMap::new(),
        }
    }

    /// How many rows there are, claimed or not.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no rows. There may be dead letters.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Every lane that has a row to give, and when its next one is due: what a dispatcher begins
    /// with. Not those whose rows are all claimed, nor those that stopped.
    #[must_use]
    pub fn lanes(&self) -> Vec<(Lane, i64)> {
        let lanes = self.lanes.keys();
        lanes
            .filter_map(|lane| Some((lane.clone(), self.next_due(lane)?)))
            .collect()
    }

    /// The lanes that stopped.
    #[must_use]
    pub fn stopped(&self) -> Vec<StoppedLane> {
        self.stopped.values().cloned().collect()
    }

    /// Lets a stopped lane go on; tells when its first row is due. None: it has none, or was not
    /// stopped.
    pub fn resume(&mut self, lane: &Lane) -> Option<i64> {
        self.stopped.remove(lane)?;
        self.next_due(lane)
    }

    /// Nothing is claimed any more, as after a restart.
    pub fn forget_claims(&mut self) {
        let claimed: Vec<_> = self
            .rows
            .iter()
            .filter(|(_, kept)| kept.claimed)
            .map(|(id, _)| *id)
            .collect();
        for id in claimed {
            self.put_back(id);
        }
    }

    /// When the next row of `lane` is due that is not claimed.
    fn next_due(&self, lane: &Lane) -> Option<i64> {
        if self.stopped.contains_key(lane) || self.busy.contains(lane) {
            return None;
        }
        let (_, first) = self.lanes.get(lane)?.first()?;
        let kept = self.rows.get(first)?;
        (!kept.claimed).then_some(kept.row.due)
    }
}

/// The place of a row in its lane. A row that is replayed goes before those that waited behind it
/// when it died.
fn place(row: &Row) -> (i64, RowId) {
    match (&row.lane.key, &row.replay_id) {
        (Some(_), Some(_)) => (-1, row.id),
        (Some(_), None) => (0, row.id),
        (None, _) => (row.due, row.id),
    }
}
