//! Replay jobs.

use std::ops::Bound;

use super::{Buried, Table};
use crate::journal::dead_letter::DeadId;
use crate::journal::error::JournalError;
use crate::journal::replay::{ReplayJob, ReplayState};
use crate::journal::row::{Lane, Row, RowId};
use crate::text::Text;

/// How many dead letters one step looks at: a filter that means few of many must not hold up
/// everything else.
const LOOK_MAX: usize = 10_000;

impl Table {
    /// Begins a replay job: it means the dead letters there are now.
    ///
    /// # Errors
    ///
    /// [`JournalError::ReplayExists`].
    pub fn begin_replay(&mut self, mut job: ReplayJob) -> Result<ReplayJob, JournalError> {
        if self.replays.contains_key(&job.id) {
            return Err(JournalError::ReplayExists(job.id));
        }
        job.progress.until = DeadId(self.next_dead);
        self.replays.insert(job.id.clone(), job.clone());
        Ok(job)
    }

    /// Every replay job, by id.
    #[must_use]
    pub fn replays(&self) -> Vec<ReplayJob> {
        self.replays.values().cloned().collect()
    }

    /// Pauses a replay job, or lets it go on.
    ///
    /// # Errors
    ///
    /// [`JournalError::UnknownReplay`].
    pub fn set_replay(&mut self, id: &Text, running: bool) -> Result<ReplayJob, JournalError> {
        let job = self.replays.get_mut(id);
        let job = job.ok_or_else(|| JournalError::UnknownReplay(id.clone()))?;
        if running {
            job.resume();
        } else if job.state == ReplayState::Running {
            job.state = ReplayState::Paused;
        }
        Ok(job.clone())
    }

    /// Sends the next dead letters of a running job again, at most `max`: each becomes a row that
    /// is due at once.
    ///
    /// # Errors
    ///
    /// [`JournalError::UnknownReplay`].
    pub fn replay(
        &mut self,
        now: i64,
        id: &Text,
        max: usize,
    ) -> Result<(ReplayJob, Vec<(RowId, Lane)>), JournalError> {
        let job = self.replays.get(id);
        let mut job = job
            .ok_or_else(|| JournalError::UnknownReplay(id.clone()))?
            .clone();
        let max = max.min(job.room());
        let mut sent = Vec::new();
        let mut looked = 0;
        while job.state == ReplayState::Running && sent.len() < max && looked < LOOK_MAX {
            let after = (Bound::Excluded(job.progress.cursor), Bound::Unbounded);
            let next = self.dead.range(after).next();
            let next = next.filter(|(id, _)| **id <= job.progress.until);
            let Some((&letter, Buried { letter: found, .. })) = next else {
                job.state = ReplayState::Done;
                break;
            };
            looked += 1;
            job.progress.cursor = letter;
            if job.filter.matches(found) {
                job.progress.sent += 1;
                sent.extend(self.send_again(now, letter, id));
            }
        }
        self.replays.insert(id.clone(), job.clone());
        Ok((job, sent))
    }

    fn send_again(&mut self, now: i64, letter: DeadId, job: &Text) -> Option<(RowId, Lane)> {
        let Buried { letter, checked_in } = self.exhume(letter)?;
        if let Some(known) = letter
            .once
            .as_ref()
            .and_then(|name| self.once.get_mut(name))
        {
            known.dead = known.dead.saturating_sub(1);
            known.pending += 1;
        }
        let lane = letter.lane.clone();
        let row = Row {
            id: RowId(0),
            lane: letter.lane,
            envelope: letter.envelope,
            claim: letter.claim,
            check_in: letter.check_in,
            enqueued_at: letter.enqueued_at,
            due: now,
            attempts: 0,
            first_attempt_at: None,
            maybe_stored: letter.cause.maybe_stored,
            replay_id: Some(job.clone()),
            once: letter.once,
        };
        Some((self.insert(row, checked_in), lane))
    }
}
