//! The journal of a run, and whether it fits.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pubsink_core::journal::{DeadId, DeadLetter, Filter, JournalError, ReplayJob, ReplayState};
use pubsink_core::options::{OrderingKey, OrderingOnFailure, PublisherOptions};
use pubsink_core::text::Text;
use pubsink_journal::{DiskJournal, DiskOptions};
use pubsink_runtime::journal::Journal as _;
use uuid::Uuid;

use super::left::died_again;
use crate::dead_letters::Pages;
use crate::exit::{CommandError, Exit};
use crate::say::{counted, say};

/// An open journal. Nobody else has it.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) journal: Arc<DiskJournal>,
    pub(super) dir: PathBuf,
}

/// What a journal is in.
const FILE: &str = "journal.redb";

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
        match dir.join(FILE).try_exists() {
            Ok(true) => Self::open(dir),
            Err(error) if error.kind() != ErrorKind::NotADirectory => {
                let what = format!("cannot look for a journal in {}", dir.display());
                Err(CommandError::new(what, error))
            }
            Ok(false) | Err(_) => {
                let dir = dir.display();
                Err(CommandError(format!("there is no journal in {dir}")))
            }
        }
    }

    /// What is wrong with the journal, for a person.
    pub(crate) fn failed(&self, error: &JournalError) -> CommandError {
        CommandError::new(format!("the journal in {}", self.dir.display()), error)
    }

    /// Refuses a journal with hooks for another topic: nobody would deliver them, and the run
    /// would end as if all were well. Also one with ordering keys where the run does not keep
    /// order: its later hooks would overtake them. And one with bodies that only a claim store
    /// could take where the run has none: they would all be given up at once.
    pub(super) async fn check(
        &self,
        options: &PublisherOptions,
        has_claims: bool,
    ) -> Result<(), CommandError> {
        let topic = options.topic_name();
        let failed = |error| self.failed(&error);
        let lanes = self.journal.lanes().await.map_err(failed)?;
        let stopped = self.journal.stopped().await.map_err(failed)?;
        let lanes = lanes.into_iter().map(|(lane, _)| lane);
        let lanes: Vec<_> = lanes
            .chain(stopped.into_iter().map(|stopped| stopped.lane))
            .collect();
        let dir = self.dir.display();
        if let Some(lane) = lanes.iter().find(|lane| *lane.sink != *topic) {
            return Err(CommandError(format!(
                "the journal in {dir} has hooks for {}; deliver them first by a run for that topic, \
                 or choose another journal for {topic}",
                lane.sink
            )));
        }
        if lanes.iter().any(|lane| lane.key.is_some()) && !keeps_order(options) {
            return Err(self.no_order("hooks"));
        }
        let inline = options.inline_max_bytes();
        if !has_claims && self.journal.has_unclaimed(inline).await.map_err(failed)? {
            return Err(self.no_claims("hooks", inline));
        }
        Ok(())
    }

    /// Refuses a replay of another topic's dead letters, one of hooks with ordering keys where the
    /// run does not keep order, and one of hooks that would only die again without a claim store.
    pub(super) async fn check_replay(
        &self,
        replay: &Replay,
        options: &PublisherOptions,
        has_claims: bool,
    ) -> Result<(), CommandError> {
        let failed = |error| self.failed(&error);
        let jobs = self.journal.replays().await.map_err(failed)?;
        let known = |job: &&ReplayJob| replay.id.as_deref() == Some(&*job.id);
        let filter = jobs.iter().find(known).map(|job| &job.filter);
        let filter = filter.unwrap_or(&replay.filter).clone();
        let topic = options.topic_name();
        if let Some(sink) = filter.sink.as_deref().filter(|sink| *sink != topic) {
            return Err(CommandError(format!(
                "that replay is of dead letters for {sink}, not for {topic}"
            )));
        }
        let (ordered, inline) = (keeps_order(options), options.inline_max_bytes());
        if ordered && has_claims {
            return Ok(());
        }
        let too_large = |letter: &DeadLetter| {
            letter.claim.is_none() && letter.envelope.size() > inline && !has_claims
        };
        let mut pages = Pages::new(self, filter, None);
        while let Some(letters) = pages.next().await? {
            if !ordered && letters.iter().any(|letter| letter.lane.key.is_some()) {
                return Err(self.no_order("dead letters"));
            }
            if letters.iter().any(too_large) {
                return Err(self.no_claims("dead letters", inline));
            }
        }
        Ok(())
    }

    fn no_claims(&self, what: &str, inline: usize) -> CommandError {
        CommandError(format!(
            "the journal in {} has {what} whose bodies wait for a claim store: they are over \
             --inline-max-bytes ({inline}); give --claims again",
            self.dir.display()
        ))
    }

    fn no_order(&self, what: &str) -> CommandError {
        CommandError(format!(
            "the journal in {} has {what} with ordering keys, which go one at a time and in order \
             only with --ordering-on-failure hold and the key flag that they were published with \
             (--ordering-key or --ordering-key-header)",
            self.dir.display()
        ))
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

    /// What to say instead of a replay that would send nothing, and how the command ends then.
    pub(super) async fn nothing(
        &self,
        replay: &Replay,
        topic: &str,
    ) -> Result<Option<(String, Exit)>, CommandError> {
        let failed = |error| self.failed(&error);
        let totals = self.journal.totals().await.map_err(failed)?;
        let jobs = self.journal.replays().await.map_err(failed)?;
        let known = |job: &&ReplayJob| replay.id.as_deref() == Some(&*job.id);
        if let Some(job) = jobs.iter().find(known) {
            let same = replay.resume || job.filter == replay.filter;
            let done = job.state == ReplayState::Done && job.is_settled();
            if !same || !done || totals.rows > 0 {
                return Ok(None);
            }
            return Ok(Some(done_already(job)));
        }
        if replay.resume {
            return Ok(None);
        }
        let dir = self.dir.display();
        if totals.dead_letters == 0 && totals.rows == 0 {
            let words = format!("pubsink: the journal in {dir} has no dead letters");
            return Ok(Some((words, Exit::Delivered)));
        }
        let filter = replay.filter.clone();
        let first = self.journal.dead_letters(filter, DeadId(0), 1).await;
        if !first.map_err(failed)?.is_empty() {
            return Ok(None);
        }
        let mut words = self.elsewhere(&replay.filter, topic).await?;
        if totals.rows > 0 {
            words += &format!(
                "\npubsink: {} in it on the way: `pubsink publish --journal {dir}` or \
                 `pubsink replay --journal {dir} --resume ID` goes on",
                counted(totals.rows, "hook")
            );
        }
        Ok(Some((words, Exit::Failed)))
    }

    /// Where the dead letters are that a filter means but for the topic.
    async fn elsewhere(&self, filter: &Filter, topic: &str) -> Result<String, CommandError> {
        let everywhere = Filter {
            sink: None,
            ..filter.clone()
        };
        let mut sinks = BTreeMap::<String, u64>::new();
        let mut pages = Pages::new(self, everywhere, None);
        while let Some(letters) = pages.next().await? {
            for letter in letters {
                *sinks.entry(letter.lane.sink.to_string()).or_default() += 1;
            }
        }
        let dir = self.dir.display();
        let mut words = format!("pubsink: no dead letter matches in {dir}");
        for (place, (sink, count)) in sinks.iter().enumerate() {
            if place == 0 {
                words = format!("pubsink: no dead letter of {dir} that is meant is for {topic}");
            }
            let (are, them) = if *count == 1 {
                ("is", "it")
            } else {
                ("are", "them")
            };
            words += &format!(
                "; {count} {are} for {sink}: export {them} with `pubsink dead-letters export \
                 --journal {dir} --sink {sink} --output FILE` and send {them} with \
                 `pubsink replay --from FILE`"
            );
        }
        Ok(words)
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

fn keeps_order(options: &PublisherOptions) -> bool {
    options.ordering_on_failure() == OrderingOnFailure::Hold
        && !matches!(options.ordering_key(), OrderingKey::None)
}

fn done_already(job: &ReplayJob) -> (String, Exit) {
    let progress = &job.progress;
    let words = format!(
        "pubsink: replay {} is done already: {} sent, {} delivered, {} died again",
        job.id, progress.sent, progress.delivered, progress.died
    );
    if progress.died == 0 {
        return (words, Exit::Delivered);
    }
    let words = format!("{words}\n{}", died_again(progress.died));
    (words, Exit::Failed)
}
