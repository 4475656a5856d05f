//! Replay jobs: dead letters sent again, at a rate.

use super::dead_letter::{DeadId, Filter};
use crate::text::Text;

/// Dead letters on their way out again, kept in the journal so that a restart goes on with it.
///
/// A letter that is sent again becomes a row with the job's id and no attempts; dying again, it
/// becomes a new dead letter, which the same job does not touch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayJob {
    /// The replay id: travels with every message of the job.
    pub id: Text,
    /// Which dead letters.
    pub filter: Filter,
    /// At most so many a second.
    pub per_second: u32,
    /// How many deaths in a row pause the job.
    pub pause_after: u32,
    /// Where it stands.
    pub state: ReplayState,
    /// How far it got.
    pub progress: Progress,
}

/// Where a replay job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum ReplayState {
    /// It sends.
    Running,
    /// An operator paused it.
    Paused,
    /// It paused itself: its messages keep dying.
    Failing,
    /// Every dead letter it meant was sent again. Some may still be on their way.
    Done,
}

/// How far a replay job got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Progress {
    /// The last dead letter that was looked at.
    pub cursor: DeadId,
    /// The last one there was when the job began: later ones are not its own.
    pub until: DeadId,
    /// How many were sent again.
    pub sent: u64,
    /// How many of them were delivered.
    pub delivered: u64,
    /// How many of them died again.
    pub died: u64,
    /// How many of them died since the last delivery.
    pub died_in_a_row: u32,
}

/// How many times the deaths that pause a job may be on their way: enough for hundreds of messages
/// a second, few enough that most of a job is left when it pauses itself.
const UNDER_WAY: u64 = 5;

impl ReplayJob {
    /// The rate where none is given: slow enough to watch.
    pub const PER_SECOND: u32 = 50;
    /// The deaths in a row that pause a job, where none are given: more than a handful of bad
    /// messages beside each other, fewer than a topic that is still broken makes in a second.
    pub const PAUSE_AFTER: u32 = 20;

    /// A job that has not begun.
    #[must_use]
    pub fn new(id: impl Into<Text>, filter: Filter) -> Self {
        Self {
            id: id.into(),
            filter,
            per_second: Self::PER_SECOND,
            pause_after: Self::PAUSE_AFTER,
            state: ReplayState::Running,
            progress: Progress::default(),
        }
    }

    /// How many more may be sent now: with too many on their way a job would be done before it is
    /// known that they all die.
    #[must_use]
    pub fn room(&self) -> usize {
        let settled = self.progress.delivered + self.progress.died;
        let under_way = self.progress.sent.saturating_sub(settled);
        let most = u64::from(self.pause_after.max(1)) * UNDER_WAY;
        usize::try_from(most.saturating_sub(under_way)).unwrap_or(usize::MAX)
    }

    /// Whether everything that was sent so far was delivered or died again, so that nothing of it
    /// is on its way. A job that is [`Done`](ReplayState::Done) and settled is over; one that has
    /// sent nothing yet is settled as well.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.progress.sent == self.progress.delivered + self.progress.died
    }

    /// One of its messages was delivered.
    pub fn delivered(&mut self) {
        self.progress.delivered += 1;
        self.progress.died_in_a_row = 0;
    }

    /// One of its messages died again.
    pub fn died(&mut self) {
        self.progress.died += 1;
        self.progress.died_in_a_row = self.progress.died_in_a_row.saturating_add(1);
        if self.state == ReplayState::Running
            && self.progress.died_in_a_row >= self.pause_after.max(1)
        {
            self.state = ReplayState::Failing;
        }
    }

    /// An operator lets it go on.
    pub fn resume(&mut self) {
        if matches!(self.state, ReplayState::Paused | ReplayState::Failing) {
            self.state = ReplayState::Running;
            self.progress.died_in_a_row = 0;
        }
    }
}
