//! Replay jobs.

use std::ops::Bound;

use prost::Message as _;
use pubsink_core::journal::{DeadId, JournalError, Lane, ReplayJob, ReplayState, RowId};
use pubsink_core::text::Text;
use redb::ReadableTable as _;

use super::group::Group;
use crate::error::Fault;
use crate::record::{DeadRecord, ReplayRecord, RowRecord, decode, decode_hook};

/// How many dead letters one step looks at: a filter that means few of many must not hold up
/// everything else.
const LOOK_MAX: usize = 10_000;

type Refusable<T> = Result<Result<T, JournalError>, Fault>;

impl Group<'_> {
    /// Begins a replay job: it means the dead letters there are now.
    pub(super) fn begin_replay(&mut self, job: &ReplayJob) -> Refusable<ReplayJob> {
        if self.replays.get(&*job.id)?.is_some() {
            return Ok(Err(JournalError::ReplayExists(job.id.clone())));
        }
        let mut job = job.clone();
        job.progress.until = DeadId(self.counters.next_dead);
        self.store_job(&job)?;
        Ok(Ok(job))
    }

    /// Pauses a replay job, or lets it go on.
    pub(super) fn set_replay(&mut self, id: &Text, running: bool) -> Refusable<ReplayJob> {
        let Some(mut job) = self.job(id)? else {
            return Ok(Err(JournalError::UnknownReplay(id.clone())));
        };
        let before = job.state;
        if running {
            job.resume();
        } else if job.state == ReplayState::Running {
            job.state = ReplayState::Paused;
        }
        if job.state != before {
            self.store_job(&job)?;
        }
        Ok(Ok(job))
    }

    /// Sends the next dead letters of a running job again, at most `max`: each becomes a row that
    /// is due at once.
    pub(super) fn replay(
        &mut self,
        now: i64,
        id: &Text,
        max: usize,
    ) -> Refusable<(ReplayJob, Vec<(RowId, Lane)>)> {
        let Some(mut job) = self.job(id)? else {
            return Ok(Err(JournalError::UnknownReplay(id.clone())));
        };
        let before = job.clone();
        let mut sent = Vec::new();
        for letter in self.look(&mut job, max.min(before.room()))? {
            sent.extend(self.send_again(now, letter, id)?);
        }
        if job != before {
            self.store_job(&job)?;
        }
        Ok(Ok((job, sent)))
    }

    pub(super) fn store_job(&mut self, job: &ReplayJob) -> Result<(), Fault> {
        let record = ReplayRecord::new(job)?.encode_to_vec();
        self.changed();
        self.replays.insert(&*job.id, &*record)?;
        Ok(())
    }

    fn job(&self, id: &Text) -> Result<Option<ReplayJob>, Fault> {
        let job = self.replays.get(&**id)?;
        let job = job.map(|job| decode::<ReplayRecord>("a replay", job.value())?.job(id));
        job.transpose()
    }

    /// The next dead letters that a job means, if it runs. Moves its cursor behind them.
    fn look(&self, job: &mut ReplayJob, max: usize) -> Result<Vec<DeadId>, Fault> {
        let mut found = Vec::new();
        let after = (Bound::Excluded(job.progress.cursor.0), Bound::Unbounded);
        let mut letters = self.dead.range::<u64>(after)?;
        let mut looked = 0;
        while job.state == ReplayState::Running && found.len() < max && looked < LOOK_MAX {
            let Some((id, letter)) = letters.next().transpose()? else {
                job.state = ReplayState::Done;
                break;
            };
            let id = DeadId(id.value());
            if id > job.progress.until {
                job.state = ReplayState::Done;
                break;
            }
            looked += 1;
            job.progress.cursor = id;
            let letter: DeadRecord = decode("a dead letter", letter.value())?;
            let hook = self.hooks.get(letter.hook)?;
            let hook = hook.ok_or_else(|| Fault::damaged("a dead letter without its hook"))?;
            // No filter asks where its body lies.
            let hook = decode_hook(hook.value(), None)?;
            if job.filter.matches(&letter.letter(id.0, hook)?) {
                job.progress.sent += 1;
                found.push(id);
            }
        }
        Ok(found)
    }

    fn send_again(
        &mut self,
        now: i64,
        letter: DeadId,
        job: &Text,
    ) -> Result<Option<(RowId, Lane)>, Fault> {
        let Some(letter) = self.exhume(letter)? else {
            return Ok(None);
        };
        self.know(letter.once.as_deref(), |known| {
            known.dead = known.dead.saturating_sub(1);
            known.pending += 1;
        })?;
        let lane = letter.lane();
        let number = self.lane(&lane)?;
        let row = self.next_row();
        let record = RowRecord {
            hook: letter.hook,
            due: now,
            enqueued_at: letter.enqueued_at,
            maybe_stored: letter.cause.is_some_and(|cause| cause.maybe_stored),
            replay_id: Some(job.to_string()),
            once: letter.once,
            bytes: letter.bytes,
            shared: letter.shared,
            ordered: lane.key.is_some(),
            ..RowRecord::default()
        };
        self.add(number, row, &record)?;
        Ok(Some((RowId(row), lane)))
    }
}
