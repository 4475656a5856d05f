//! How much the journal holds.

use std::collections::BTreeMap;

use pubsink_core::journal::Lane;
use redb::{ReadableDatabase as _, ReadableTable as _, ReadableTableMetadata as _};

use super::Reader;
use crate::calls::Totals;
use crate::error::Fault;
use crate::record::decode_lane;
use crate::tables::{DEAD, LANE_NAMES, META, Place, ROWS, meta};

impl Reader {
    pub(super) fn totals(&self) -> Result<Totals, Fault> {
        self.shared.store.with(|database| {
            let tx = database.begin_read()?;
            let bytes = tx.open_table(META)?.get(meta::BYTES)?;
            Ok(Totals {
                rows: tx.open_table(ROWS)?.len()?,
                dead_letters: tx.open_table(DEAD)?.len()?,
                bytes: bytes.map_or(0, |bytes| bytes.value()),
            })
        })
    }

    /// How many rows each lane has.
    pub(super) fn counts(&self) -> Result<Vec<(Lane, u64)>, Fault> {
        self.shared.store.with(|database| {
            let tx = database.begin_read()?;
            let names = tx.open_table(LANE_NAMES)?;
            let mut counts = BTreeMap::<u64, u64>::new();
            for entry in tx.open_table(ROWS)?.iter()? {
                let (key, _) = entry?;
                *counts.entry(Place::of(key.value()).lane).or_default() += 1;
            }
            let mut lanes = Vec::new();
            for (lane, rows) in counts {
                let name = names.get(lane)?;
                let name =
                    name.ok_or_else(|| Fault::damaged(format_args!("lane {lane} has no name")))?;
                lanes.push((decode_lane(name.value())?, rows));
            }
            lanes.sort_unstable();
            Ok(lanes)
        })
    }
}
