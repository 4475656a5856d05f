//! The journal of a run, and whether it fits.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pubsink_core::journal::{Filter, JournalError, ReplayJob, ReplayState};
use pubsink_core::text::Text;
use pubsink_journal::{DiskJournal, DiskOptions};
use pubsink_runtime::journal::Journal as _;
use uuid::Uuid;

use crate::exit::CommandError;
use crate::say::say;

/// An open journal. Nobody else has it.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) journal: Arc<DiskJournal>,
    dir: PathBuf,
}

/// A replay that was asked for.
#[derive(Debug, Clone)]
pub(crate) struct Replay {
    /// Its id; none makes one up.
    pub(crate) id: Option<String>,
    /// Whether there has to be one of that id, which goes on even if it is paused.
    pub(crate) resume: bool,
    /// Which dead letters it means.
    pub(crate) filter: Filter,
    /// At most so many a second.
    pub(crate) per_second: u32,
    /// How many deaths in a row pause it.
    pub(crate) pause_after: u32,
}

impl Opened {
    /// Opens a journal, or begins one.
    pub(crate) fn open(dir: &Path) -> Result<Self, CommandError> {
        let journal = DiskJournal::open(dir, DiskOptions::default());
        let journal = journal.map_err(|error| CommandError(error.to_string()))?;
        Ok(Self {
            journal: Arc::new(journal),
            dir: dir.to_owned(),
        })
    }

    /// Opens a journal that is there.
    pub(crate) fn existing(dir: &Path) -> Result<Self, CommandError> {
        if !dir.is_dir() {
            let dir = dir.display();
            return Err(CommandError(format!("there is no journal in {dir}")));
        }
        Self::open(dir)
    }

    /// What is wrong with the journal, for a person.
    pub(crate) fn failed(&self, error: &JournalError) -> CommandError {
        CommandError::new(format!("the journal in {}", self.dir.display()), error)
    }

    /// Refuses a journal with hooks for another topic: nobody would deliver them, and the run
    /// would end as if all were well.
    pub(super) async fn check_topic(&self, topic: &str) -> Result<(), CommandError> {
        let failed = |error| self.failed(&error);
        let lanes = self.journal.lanes().await.map_err(failed)?;
        let stopped = self.journal.stopped().await.map_err(failed)?;
        let lanes = lanes.into_iter().map(|(lane, _)| lane);
        let mut lanes = lanes.chain(stopped.into_iter().map(|stopped| stopped.lane));
        match lanes.find(|lane| *lane.sink != *topic) {
            None => Ok(()),
            Some(lane) => Err(CommandError(format!(
                "the journal in {} has hooks for {}; deliver them first by a run for that topic, \
                 or choose another journal for {topic}",
                self.dir.display(),
                lane.sink
            ))),
        }
    }

    /// Begins a replay, or goes on with it.
    pub(super) async fn replay(&self, replay: &Replay) -> Result<ReplayJob, CommandError> {
        let failed = |error| self.failed(&error);
        let jobs = self.journal.replays().await.map_err(failed)?;
        let known = |job: &&ReplayJob| replay.id.as_deref() == Some(&*job.id);
        let Some(job) = jobs.iter().find(known) else {
            if let (true, Some(id)) = (replay.resume, &replay.id) {
                let error = JournalError::UnknownReplay(id.as_str().into());
                return Err(self.failed(&error));
            }
            return self.begin(replay).await;
        };
        let id = &job.id;
        if replay.resume {
            let resumed = self.journal.set_replay(id.clone(), true).await;
            return resumed.map_err(failed);
        }
        if job.filter != replay.filter {
            return Err(CommandError(format!(
                "the replay {id:?} was begun with other filters; choose another --replay-id, or go \
                 on with it by --resume {id}"
            )));
        }
        match job.state {
            ReplayState::Paused | ReplayState::Failing => Err(CommandError(format!(
                "the replay {id:?} is paused; --resume {id} goes on with it"
            ))),
            ReplayState::Running | ReplayState::Done => Ok(job.clone()),
        }
    }

    async fn begin(&self, replay: &Replay) -> Result<ReplayJob, CommandError> {
        let id = match &replay.id {
            Some(id) => Text::new(id),
            None => Text::from(Uuid::now_v7().to_string()),
        };
        let mut job = ReplayJob::new(id, replay.filter.clone());
        job.per_second = replay.per_second;
        job.pause_after = replay.pause_after;
        let begun = self.journal.begin_replay(job).await;
        let begun = begun.map_err(|error| self.failed(&error))?;
        say(format_args!("pubsink: replay {}", begun.id));
        Ok(begun)
    }
}
