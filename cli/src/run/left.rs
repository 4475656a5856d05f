//! What a run leaves behind, and what a person has to do about it.

use std::path::Path;

use pubsink_core::journal::{JournalError, Lane, ReplayJob, ReplayState};
use pubsink_core::text::Text;
use pubsink_journal::DiskJournal;
use pubsink_runtime::journal::Journal as _;

use crate::say::{counted, say};

/// How many stopped keys are told of by name.
const KEYS_TOLD: usize = 10;

/// What a run leaves in its journal. Nothing, where it has none.
#[derive(Debug, Default)]
pub(super) struct Left {
    /// Hooks that another run goes on with.
    pub(super) waiting: u64,
    /// Keys that a dead letter stopped, and how many hooks wait behind each.
    pub(super) stopped: Vec<(Lane, u64)>,
    /// How many messages of the run's replay died again.
    pub(super) died_again: u64,
    /// Replays that were begun and are not done.
    pub(super) running: Vec<Text>,
    /// Where the journal is.
    pub(super) dir: String,
}

impl Left {
    pub(super) async fn of(
        journal: &DiskJournal,
        dir: &Path,
        replay: Option<&Text>,
    ) -> Result<Self, JournalError> {
        let rows = journal.totals().await?.rows;
        let stopped: Vec<_> = journal.stopped().await?;
        // Goes through all rows.
        let counts = if stopped.is_empty() {
            Vec::new()
        } else {
            journal.counts().await?
        };
        let behind = |lane: &Lane| {
            let mut counts = counts.iter();
            counts
                .find(|(known, _)| known == lane)
                .map_or(0, |(_, rows)| *rows)
        };
        let stopped: Vec<_> = stopped
            .into_iter()
            .map(|stopped| (behind(&stopped.lane), stopped.lane))
            .map(|(rows, lane)| (lane, rows))
            .collect();
        let behind: u64 = stopped.iter().map(|(_, rows)| rows).sum();
        let jobs = journal.replays().await?;
        let running = jobs.iter().filter(|job| job.state == ReplayState::Running);
        let running = running.map(|job| job.id.clone()).collect();
        let job = jobs.iter().find(|job| Some(&job.id) == replay);
        Ok(Self {
            waiting: rows.saturating_sub(behind),
            stopped,
            died_again: job.map_or(0, |job: &ReplayJob| job.progress.died),
            running,
            dir: dir.display().to_string(),
        })
    }

    /// Whether there is anything that is not delivered.
    pub(super) fn is_any(&self) -> bool {
        self.waiting + self.died_again > 0 || self.stopped.iter().any(|(_, rows)| *rows > 0)
    }

    /// Says what stays, and what helps.
    pub(super) fn say(&self) {
        let stays = if self.waiting == 1 { "stays" } else { "stay" };
        if self.waiting > 0 {
            say(format_args!(
                "pubsink: {} {stays} in the journal; a run with it goes on with {}",
                counted(self.waiting, "hook"),
                if self.waiting == 1 { "it" } else { "them" },
            ));
        }
        for id in &self.running {
            say(format_args!(
                "pubsink: the replay {:?} is not done: \
                 `pubsink replay --journal {} --resume {id}` goes on with it",
                &**id, self.dir,
            ));
        }
        for (lane, rows) in self.stopped.iter().take(KEYS_TOLD) {
            let key = lane.key.as_deref().unwrap_or_default();
            say(format_args!(
                "pubsink: key {key:?} is stopped, and {} behind it: \
                 `pubsink journal --journal {} --resume-key {key:?}`, then run again",
                wait(*rows),
                self.dir,
            ));
        }
        let more = self.stopped.get(KEYS_TOLD..).unwrap_or_default();
        if !more.is_empty() {
            let rows = more.iter().map(|(_, rows)| rows).sum();
            say(format_args!(
                "pubsink: {} more stopped, and {} behind them: `pubsink journal --journal {}` \
                 shows all",
                counted(more.len() as u64, "key"),
                wait(rows),
                self.dir,
            ));
        }
        if self.died_again > 0 {
            say(died_again(self.died_again));
        }
    }
}

/// What becomes of messages that died again in a replay.
pub(super) fn died_again(count: u64) -> String {
    format!(
        "pubsink: {count} that died again in this replay {} again: begin a new replay for {}",
        if count == 1 {
            "is a dead letter"
        } else {
            "are dead letters"
        },
        if count == 1 { "it" } else { "them" },
    )
}

fn wait(rows: u64) -> String {
    let wait = if rows == 1 { "waits" } else { "wait" };
    format!("{} {wait}", counted(rows, "hook"))
}
