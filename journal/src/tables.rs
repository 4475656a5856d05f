//! The tables of the file.
//!
//! Format 1. Values that are bytes are protobuf messages, written down in [`crate::record`]; a
//! field that is added later is unknown to an older reader and empty to a newer one, so only a
//! change of meaning raises the version.
//!
//! | table | key | value |
//! |---|---|---|
//! | `meta` | `format`, `next_row`, `next_dead`, `next_lane`, `bytes`, `serial` | the number |
//! | `hooks` | the number of the hook's first row | the envelope and its claim ref, once for all its rows |
//! | `shared` | that number | how many rows and dead letters a hook has, where it began with several |
//! | `checked_in` | that number | the claim ref of a hook whose body was checked in after it was stored; made when a file that has none is opened |
//! | `rows` | lane, order, row | the row; order is when it is due, or 0 in a lane that keeps order (-1 for what is replayed) |
//! | `lanes` | sink, source and ordering key | the lane's number |
//! | `lane_names` | the lane's number | sink, source and ordering key |
//! | `dead` | the dead letter's number | the dead letter |
//! | `once` | the name | what is known of the hook |
//! | `replays` | the replay id | the job |
//! | `stopped` | sink, source and ordering key | why and since when |
//!
//! A lane has a number while it has rows. Numbers are never used twice.

use redb::TableDefinition;

/// The version of the file's format that this crate writes, and the newest it reads.
pub const FORMAT: u64 = 1;

type Bytes = &'static [u8];

pub(crate) const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
pub(crate) const HOOKS: TableDefinition<'_, u64, Bytes> = TableDefinition::new("hooks");
pub(crate) const SHARED: TableDefinition<'_, u64, u32> = TableDefinition::new("shared");
pub(crate) const CHECKED_IN: TableDefinition<'_, u64, &str> = TableDefinition::new("checked_in");
pub(crate) const ROWS: TableDefinition<'_, &[u8; 24], Bytes> = TableDefinition::new("rows");
pub(crate) const LANES: TableDefinition<'_, Bytes, u64> = TableDefinition::new("lanes");
pub(crate) const LANE_NAMES: TableDefinition<'_, u64, Bytes> = TableDefinition::new("lane_names");
pub(crate) const DEAD: TableDefinition<'_, u64, Bytes> = TableDefinition::new("dead");
pub(crate) const ONCE: TableDefinition<'_, &str, Bytes> = TableDefinition::new("once");
pub(crate) const REPLAYS: TableDefinition<'_, &str, Bytes> = TableDefinition::new("replays");
pub(crate) const STOPPED: TableDefinition<'_, Bytes, Bytes> = TableDefinition::new("stopped");

/// Names in `meta`.
pub(crate) mod meta {
    pub(crate) const FORMAT: &str = "format";
    pub(crate) const NEXT_ROW: &str = "next_row";
    pub(crate) const NEXT_DEAD: &str = "next_dead";
    pub(crate) const NEXT_LANE: &str = "next_lane";
    /// Bytes of the hooks of all rows and dead letters.
    pub(crate) const BYTES: &str = "bytes";
    /// Goes up with every transaction: tells whether one whose commit failed was done all the same.
    pub(crate) const SERIAL: &str = "serial";
}

/// The place of a row in the index: a lane's rows stand beside each other, in its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) lane: u64,
    pub(crate) order: i64,
    pub(crate) row: u64,
}

impl Place {
    /// Before every row of a lane.
    pub(crate) fn first_of(lane: u64) -> Self {
        Self {
            lane,
            order: i64::MIN,
            row: 0,
        }
    }

    /// The place right behind this one.
    pub(crate) fn next(self) -> Self {
        Self {
            row: self.row.saturating_add(1),
            ..self
        }
    }

    /// Its key: bytes that sort as places do.
    pub(crate) fn key(self) -> [u8; 24] {
        let mut key = [0; 24];
        key[..8].copy_from_slice(&self.lane.to_be_bytes());
        // The sign's bit is turned, so that negative numbers come first.
        let order = self.order.cast_unsigned() ^ SIGN;
        key[8..16].copy_from_slice(&order.to_be_bytes());
        key[16..].copy_from_slice(&self.row.to_be_bytes());
        key
    }

    /// The place of a key.
    pub(crate) fn of(key: &[u8; 24]) -> Self {
        let number = |from: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&key[from..from + 8]);
            u64::from_be_bytes(bytes)
        };
        Self {
            lane: number(0),
            order: (number(8) ^ SIGN).cast_signed(),
            row: number(16),
        }
    }
}

const SIGN: u64 = 1 << 63;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_sort_as_places_do() {
        let orders = [i64::MIN, -1, 0, 1, i64::MAX];
        let mut places = Vec::new();
        for lane in [0, 1, u64::MAX] {
            for order in orders {
                places.extend([0, 7, u64::MAX].map(|row| Place { lane, order, row }));
            }
        }
        for pair in places.windows(2) {
            assert!(pair[0].key() < pair[1].key(), "{pair:?}");
        }
        for place in places {
            assert_eq!(Place::of(&place.key()), place);
        }
    }
}
