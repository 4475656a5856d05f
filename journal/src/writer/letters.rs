//! Dead letters are discarded, stopped lanes resumed.

use pubsink_core::journal::{DeadId, Lane};
use redb::ReadableTable as _;

use super::group::Group;
use crate::error::Fault;
use crate::record::{DeadRecord, decode, lane_key};

impl Group<'_> {
    /// Removes dead letters for good; tells how many there were.
    pub(super) fn discard(&mut self, letters: &[DeadId]) -> Result<usize, Fault> {
        let mut removed = 0;
        for id in letters {
            let Some(letter) = self.exhume(*id)? else {
                continue;
            };
            self.counters.held = self.counters.held.saturating_sub(1);
            self.counters.bytes = self.counters.bytes.saturating_sub(letter.bytes);
            self.let_go(letter.hook, letter.shared)?;
            removed += 1;
        }
        Ok(removed)
    }

    /// Lets a stopped lane go on; tells when its first row is due.
    pub(super) fn resume(&mut self, lane: &Lane) -> Result<Option<i64>, Fault> {
        let key = lane_key(lane);
        if self.stopped.get(&*key)?.is_none() {
            return Ok(None);
        }
        self.changed();
        self.stopped.remove(&*key)?;
        self.next_due(lane)
    }

    /// Takes a dead letter out of its table. Its hook stays.
    pub(super) fn exhume(&mut self, id: DeadId) -> Result<Option<DeadRecord>, Fault> {
        let letter = self.dead.remove(id.0)?;
        let letter = letter.map(|letter| decode("a dead letter", letter.value()));
        let letter = letter.transpose()?;
        if letter.is_some() {
            self.changed();
        }
        Ok(letter)
    }
}
