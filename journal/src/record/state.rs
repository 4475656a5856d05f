//! What is known under a name, and replay jobs.

use prost::Message;
use pubsink_core::journal::{DeadId, Filter, OnceState, Progress, ReplayJob, ReplayState};

use crate::error::Fault;

/// What is known of a hook that was enqueued under a name.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct OnceRecord {
    #[prost(string, tag = "1")]
    pub(crate) hook_id: String,
    #[prost(uint32, tag = "2")]
    pub(crate) pending: u32,
    #[prost(uint32, tag = "3")]
    pub(crate) delivered: u32,
    #[prost(uint32, tag = "4")]
    pub(crate) dead: u32,
    #[prost(string, optional, tag = "5")]
    pub(crate) message_id: Option<String>,
}

impl From<OnceRecord> for OnceState {
    fn from(record: OnceRecord) -> Self {
        Self {
            hook_id: record.hook_id,
            pending: record.pending,
            delivered: record.delivered,
            dead: record.dead,
            message_id: record.message_id.map(Into::into),
        }
    }
}

/// A replay job, beside its id.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ReplayRecord {
    /// The filter as JSON, the form in which an operator gives it.
    #[prost(string, tag = "1")]
    filter: String,
    #[prost(uint32, tag = "2")]
    per_second: u32,
    #[prost(uint32, tag = "3")]
    pause_after: u32,
    #[prost(uint32, tag = "4")]
    state: u32,
    #[prost(uint64, tag = "5")]
    cursor: u64,
    #[prost(uint64, tag = "6")]
    until: u64,
    #[prost(uint64, tag = "7")]
    sent: u64,
    #[prost(uint64, tag = "8")]
    delivered: u64,
    #[prost(uint64, tag = "9")]
    died: u64,
    #[prost(uint32, tag = "10")]
    died_in_a_row: u32,
}

impl ReplayRecord {
    pub(crate) fn new(job: &ReplayJob) -> Result<Self, Fault> {
        let filter = serde_json::to_string(&job.filter).map_err(Fault::damaged)?;
        let progress = &job.progress;
        Ok(Self {
            filter,
            per_second: job.per_second,
            pause_after: job.pause_after,
            state: match job.state {
                ReplayState::Running => RUNNING,
                ReplayState::Paused => PAUSED,
                ReplayState::Failing => FAILING,
                ReplayState::Done => DONE,
            },
            cursor: progress.cursor.0,
            until: progress.until.0,
            sent: progress.sent,
            delivered: progress.delivered,
            died: progress.died,
            died_in_a_row: progress.died_in_a_row,
        })
    }

    /// The job it is.
    pub(crate) fn job(self, id: &str) -> Result<ReplayJob, Fault> {
        let damaged = |what: &dyn std::fmt::Display| {
            Fault::damaged(format_args!("the replay {id:?}: {what}"))
        };
        let filter: Filter = serde_json::from_str(&self.filter).map_err(|e| damaged(&e))?;
        let state = match self.state {
            RUNNING => ReplayState::Running,
            PAUSED => ReplayState::Paused,
            FAILING => ReplayState::Failing,
            DONE => ReplayState::Done,
            other => return Err(damaged(&format_args!("state {other}"))),
        };
        Ok(ReplayJob {
            id: id.into(),
            filter,
            per_second: self.per_second,
            pause_after: self.pause_after,
            state,
            progress: Progress {
                cursor: DeadId(self.cursor),
                until: DeadId(self.until),
                sent: self.sent,
                delivered: self.delivered,
                died: self.died,
                died_in_a_row: self.died_in_a_row,
            },
        })
    }
}

const RUNNING: u32 = 1;
const PAUSED: u32 = 2;
const FAILING: u32 = 3;
const DONE: u32 = 4;
