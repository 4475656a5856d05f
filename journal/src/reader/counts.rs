//! How much the journal holds.

use std::collections::BTreeMap;

use pubsink_core::journal::Lane;
use redb::{ReadableDatabase as _, ReadableTable as _, ReadableTableMetadata as _};

use super::Reader;
use crate::calls::Totals;
use crate::error::Fault;
use crate::record::{RowRecord, decode, decode_hook, decode_lane};
use crate::tables::{CHECKED_IN, DEAD, HOOKS, LANE_NAMES, META, Place, ROWS, meta};

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

    /// Whether a row has a body of more than `over` bytes, and no claim. Only large hooks are
    /// read.
    pub(super) fn has_unclaimed(&self, over: usize) -> Result<bool, Fault> {
        self.shared.store.with(|database| {
            let tx = database.begin_read()?;
            let (hooks, checked_in) = (tx.open_table(HOOKS)?, tx.open_table(CHECKED_IN)?);
            for entry in tx.open_table(ROWS)?.iter()? {
                let (key, row) = entry?;
                let row: RowRecord = decode("a row", row.value())?;
                if row.bytes <= over as u64 {
                    continue;
                }
                let hook = hooks.get(row.hook)?.ok_or_else(|| {
                    let row = Place::of(key.value()).row;
                    Fault::damaged(format_args!("row {row} has lost its hook"))
                })?;
                let claim = checked_in.get(row.hook)?;
                let hook = decode_hook(hook.value(), claim.as_ref().map(|claim| claim.value()))?;
                if hook.claim.is_none() && hook.envelope.size() > over {
                    return Ok(true);
                }
            }
            Ok(false)
        })
    }
}
