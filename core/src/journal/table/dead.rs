//! Dead letters.

use std::ops::Bound;

use super::Table;
use crate::journal::dead_letter::{Cause, DeadId, DeadLetter, Filter};
use crate::journal::row::Row;

impl Table {
    /// The dead letters that `filter` means and that come after `after`, at most `max` of them.
    #[must_use]
    pub fn dead_letters(&self, filter: &Filter, after: DeadId, max: usize) -> Vec<DeadLetter> {
        let later = (Bound::Excluded(after), Bound::Unbounded);
        let letters = self.dead.range(later).map(|(_, letter)| letter);
        letters
            .filter(|letter| filter.matches(letter))
            .take(max)
            .cloned()
            .collect()
    }

    /// How many dead letters there are.
    #[must_use]
    pub fn dead_len(&self) -> usize {
        self.dead.len()
    }

    /// Removes dead letters for good; tells how many there were.
    pub fn discard(&mut self, letters: &[DeadId]) -> usize {
        let mut removed = 0;
        for id in letters {
            removed += usize::from(self.exhume(*id).is_some());
        }
        removed
    }

    pub(super) fn bury(&mut self, row: Row, cause: Cause, died_at: i64) {
        self.next_dead += 1;
        let id = DeadId(self.next_dead);
        self.bytes += row.bytes() as u64;
        let letter = DeadLetter {
            id,
            lane: row.lane,
            envelope: row.envelope,
            claim: row.claim,
            cause,
            attempts: row.attempts,
            enqueued_at: row.enqueued_at,
            first_attempt_at: row.first_attempt_at,
            died_at,
            replay_id: row.replay_id,
            once: row.once,
        };
        self.dead.insert(id, letter);
    }

    pub(super) fn exhume(&mut self, id: DeadId) -> Option<DeadLetter> {
        let letter = self.dead.remove(&id)?;
        self.bytes = self.bytes.saturating_sub(letter.envelope.bytes() as u64);
        Some(letter)
    }
}
