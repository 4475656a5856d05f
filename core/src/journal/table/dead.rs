//! Dead letters.

use std::ops::Bound;

use super::{Buried, Kept, Table};
use crate::journal::dead_letter::{Cause, DeadId, DeadLetter, Filter};

impl Table {
    /// The dead letters that `filter` means and that come after `after`, at most `max` of them.
    #[must_use]
    pub fn dead_letters(&self, filter: &Filter, after: DeadId, max: usize) -> Vec<DeadLetter> {
        let later = (Bound::Excluded(after), Bound::Unbounded);
        let letters = self.dead.range(later).map(|(_, buried)| buried);
        letters
            .filter(|buried| filter.matches(&buried.letter))
            .take(max)
            .map(|buried| {
                let mut letter = buried.letter.clone();
                letter.claim = buried.checked_in.or(letter.claim);
                letter
            })
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

    pub(super) fn bury(&mut self, kept: Kept, cause: Cause, died_at: i64) {
        let Kept {
            row, checked_in, ..
        } = kept;
        self.next_dead += 1;
        let id = DeadId(self.next_dead);
        self.bytes += row.bytes() as u64;
        let letter = DeadLetter {
            id,
            lane: row.lane,
            envelope: row.envelope,
            claim: row.claim,
            check_in: row.check_in,
            cause,
            attempts: row.attempts,
            enqueued_at: row.enqueued_at,
            first_attempt_at: row.first_attempt_at,
            died_at,
            replay_id: row.replay_id,
            once: row.once,
        };
        self.dead.insert(id, Buried { letter, checked_in });
    }

    pub(super) fn exhume(&mut self, id: DeadId) -> Option<Buried> {
        let buried = self.dead.remove(&id)?;
        let bytes = buried.letter.envelope.bytes() as u64;
        self.bytes = self.bytes.saturating_sub(bytes);
        Some(buried)
    }
}
