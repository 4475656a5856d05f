//! The lanes that have rows: what a dispatcher begins with.

use std::collections::HashSet;

use pubsink_core::journal::Lane;
use redb::{ReadOnlyTable, ReadableDatabase as _};

use super::Reader;
use crate::error::Fault;
use crate::record::{RowRecord, decode, decode_lane};
use crate::tables::{LANE_NAMES, Place, ROWS, STOPPED};

/// How many rows of a lane are passed before the next lane is looked up: a step is cheaper than
/// looking up, and most lanes of ordering keys have few rows.
const STEPS: usize = 4;

impl Reader {
    /// Every lane that has rows, and when its next one is due.
    pub(super) fn lanes(&self) -> Result<Vec<(Lane, i64)>, Fault> {
        self.shared.store.with(|database| {
            // Both are of one moment.
            let (claimed, tx) = {
                let claims = self.claims();
                (Claimed::new(&claims.places()), database.begin_read()?)
            };
            let names = tx.open_table(LANE_NAMES)?;
            let stopped = tx.open_table(STOPPED)?;
            let mut lanes = Vec::new();
            heads(&tx.open_table(ROWS)?, &claimed, |lane, row| {
                let key = names.get(lane)?;
                let key =
                    key.ok_or_else(|| Fault::damaged(format_args!("lane {lane} has no name")))?;
                if !row.ordered || stopped.get(key.value())?.is_none() {
                    lanes.push((decode_lane(key.value())?, row.due));
                }
                Ok(())
            })?;
            lanes.sort_unstable();
            Ok(lanes)
        })
    }
}

/// What is claimed: rows, and the lanes they are of.
struct Claimed {
    rows: HashSet<u64>,
    lanes: HashSet<u64>,
}

impl Claimed {
    fn new(places: &[Place]) -> Self {
        Self {
            rows: places.iter().map(|place| place.row).collect(),
            lanes: places.iter().map(|place| place.lane).collect(),
        }
    }
}

/// Finds the next row of every lane that has one to give. Goes from lane to lane, not from row to
/// row.
fn heads(
    rows: &ReadOnlyTable<&'static [u8; 24], &'static [u8]>,
    claimed: &Claimed,
    mut found: impl FnMut(u64, RowRecord) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut start = Place::first_of(0);
    loop {
        let mut done = None;
        let mut steps = 0;
        let mut entries = rows.range::<&[u8; 24]>(&start.key()..)?;
        loop {
            let Some((key, row)) = entries.next().transpose()? else {
                return Ok(());
            };
            let place = Place::of(key.value());
            if done == Some(place.lane) {
                steps += 1;
                if steps == STEPS {
                    start = Place::first_of(place.lane + 1);
                    break;
                }
                continue;
            }
            steps = 0;
            let row: RowRecord = decode("a row", row.value())?;
            if row.ordered && claimed.lanes.contains(&place.lane) {
                // Nothing of it is given out before the one that is claimed is recorded.
                done = Some(place.lane);
            } else if !claimed.rows.contains(&place.row) {
                done = Some(place.lane);
                found(place.lane, row)?;
            }
        }
    }
}
