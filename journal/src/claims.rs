//! Which rows are given out. In memory only: after a restart none is.

use std::collections::HashMap;

use crate::tables::Place;

/// The rows that are claimed and not recorded: as many as the windows of who claims have room for.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    rows: HashMap<u64, Held>,
    lanes: HashMap<u64, LaneClaims>,
}

#[derive(Debug, Clone, Copy)]
struct Held {
    place: Place,
    /// What became of it is on its way to the disk: nobody else can record it.
    recording: bool,
}

#[derive(Debug)]
struct LaneClaims {
    rows: usize,
    /// Every row before this place is claimed, so that a claim need not pass them again.
    floor: Place,
}

impl Claims {
    pub(crate) fn holds(&self, row: u64) -> bool {
        self.rows.contains_key(&row)
    }

    /// Whether a row of the lane is claimed.
    pub(crate) fn is_busy(&self, lane: u64) -> bool {
        self.lanes.contains_key(&lane)
    }

    /// Where the rows of a lane begin that may not be claimed yet.
    pub(crate) fn floor(&self, lane: u64) -> Place {
        let claims = self.lanes.get(&lane);
        claims.map_or_else(|| Place::first_of(lane), |claims| claims.floor)
    }

    /// The row there is given out.
    pub(crate) fn take(&mut self, place: Place) {
        let held = Held {
            place,
            recording: false,
        };
        self.rows.insert(place.row, held);
        let lane = self.lanes.entry(place.lane).or_insert_with(|| LaneClaims {
            rows: 0,
            floor: Place::first_of(place.lane),
        });
        lane.rows += 1;
    }

    /// All rows of the lane before `place` are claimed.
    pub(crate) fn raise(&mut self, place: Place) {
        if let Some(lane) = self.lanes.get_mut(&place.lane) {
            lane.floor = place;
        }
    }

    /// A row came to be at `place` that is not claimed.
    pub(crate) fn added(&mut self, place: Place) {
        if let Some(lane) = self.lanes.get_mut(&place.lane) {
            lane.floor = lane.floor.min(place);
        }
    }

    /// What became of these rows is being recorded: all of them, or none and the one that is not
    /// claimed, or that another call records.
    pub(crate) fn begin(&mut self, rows: impl Iterator<Item = u64> + Clone) -> Result<(), u64> {
        for (count, row) in rows.clone().enumerate() {
            let held = self.rows.get_mut(&row).filter(|held| !held.recording);
            let Some(held) = held else {
                for begun in rows.take(count) {
                    self.abandon(begun);
                }
                return Err(row);
            };
            held.recording = true;
        }
        Ok(())
    }

    /// It was not recorded: the row is claimed as before.
    pub(crate) fn abandon(&mut self, row: u64) {
        if let Some(held) = self.rows.get_mut(&row) {
            held.recording = false;
        }
    }

    /// Where a claimed row stands.
    pub(crate) fn place(&self, row: u64) -> Option<Place> {
        self.rows.get(&row).map(|held| held.place)
    }

    /// A claimed row is claimed no more: it is gone.
    pub(crate) fn gone(&mut self, row: u64) {
        let Some(held) = self.rows.remove(&row) else {
            return;
        };
        if let Some(lane) = self.lanes.get_mut(&held.place.lane) {
            lane.rows -= 1;
            if lane.rows == 0 {
                self.lanes.remove(&held.place.lane);
            }
        }
    }

    /// A claimed row is claimed no more: it is to be had again, at `place`.
    pub(crate) fn put_back(&mut self, place: Place) {
        self.gone(place.row);
        self.added(place);
    }

    /// Gives back rows that were not tried, all or none; the row that is not claimed otherwise.
    pub(crate) fn release(&mut self, rows: impl Iterator<Item = u64> + Clone) -> Result<(), u64> {
        self.begin(rows.clone())?;
        for place in rows.filter_map(|row| self.place(row)).collect::<Vec<_>>() {
            self.put_back(place);
        }
        Ok(())
    }

    /// The places of all claimed rows.
    pub(crate) fn places(&self) -> Vec<Place> {
        self.rows.values().map(|held| held.place).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(order: i64, row: u64) -> Place {
        Place {
            lane: 1,
            order,
            row,
        }
    }

    #[test]
    fn the_floor_follows_what_may_be_had() {
        let mut claims = Claims::default();
        assert_eq!(claims.floor(1), Place::first_of(1));
        claims.take(at(10, 1));
        claims.take(at(20, 2));
        claims.raise(at(20, 2).next());
        assert_eq!(claims.floor(1), at(20, 3));
        claims.added(at(30, 4));
        assert_eq!(claims.floor(1), at(20, 3), "it is behind the floor");
        claims.put_back(at(10, 1));
        assert_eq!(claims.floor(1), at(10, 1));
        claims.gone(2);
        assert_eq!(claims.floor(1), Place::first_of(1), "nothing is claimed");
        assert!(claims.lanes.is_empty());
    }

    #[test]
    fn a_row_is_recorded_by_one_call_at_a_time() {
        let mut claims = Claims::default();
        claims.take(at(1, 1));
        claims.take(at(2, 2));
        assert_eq!(claims.begin([1, 3].into_iter()), Err(3));
        assert_eq!(claims.begin([1, 2, 1].into_iter()), Err(1));
        assert_eq!(claims.begin([1].into_iter()), Ok(()), "nothing was begun");
        assert_eq!(claims.release([1].into_iter()), Err(1));
        claims.abandon(1);
        assert_eq!(claims.release([1, 2].into_iter()), Ok(()));
        assert!(!claims.holds(1) && !claims.holds(2));
    }
}
