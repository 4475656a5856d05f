//! `pubsink journal`: what a journal holds.

use std::io::{self, ErrorKind};
use std::path::PathBuf;

use clap::Args;
use pubsink_core::failure::ErrorClass;
use pubsink_core::journal::{Filter, Lane, Progress, ReplayState};
use pubsink_runtime::journal::Journal as _;
use serde::Serialize;

use crate::dead_letters::{Why, why};
use crate::exit::{CommandError, Exit};
use crate::run::Opened;
use crate::say::{say, try_print};

/// Show what a journal holds, and let stopped ordering keys go on.
///
/// Lines of JSON, told apart by `what`: one of totals, then rows for every queue that has any (a
/// sink, a source, and the ordering key where the sink keeps order), stopped_key for every key that
/// a dead letter stopped, and replay for every replay.
///
/// With --resume-key nothing is shown, and the key goes on with the next run.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 done; 1 it could not be written, or no such key is stopped; \
                  2 bad usage, or a journal that cannot be opened"
)]
pub(crate) struct Arguments {
    /// The journal
    #[arg(long, value_name = "DIR")]
    journal: PathBuf,
    /// Let this ordering key go on, in every queue where it is stopped
    #[arg(long, value_name = "KEY")]
    resume_key: Option<String>,
}

/// A line.
#[derive(Serialize)]
#[serde(tag = "what", rename_all = "snake_case")]
enum Line<'a> {
    Totals {
        rows: u64,
        dead_letters: u64,
        bytes: u64,
    },
    Rows {
        sink: &'a str,
        source_id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        key: Option<&'a str>,
        rows: u64,
        /// A dead letter stopped the key: they wait until it is resumed.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        stopped: bool,
    },
    StoppedKey {
        sink: &'a str,
        source_id: &'a str,
        key: Option<&'a str>,
        since: i64,
        cause: Why<'a>,
    },
    Replay {
        id: &'a str,
        state: ReplayState,
        per_second: u32,
        progress: &'a Progress,
        filter: Shown<'a>,
    },
}

/// A filter in the words of the other lines.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    source_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sink: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<ErrorClass>,
    #[serde(skip_serializing_if = "Option::is_none")]
    config: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hook_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<i64>,
}

impl<'a> Shown<'a> {
    fn new(filter: &'a Filter) -> Self {
        Self {
            source_id: filter.source.as_deref(),
            sink: filter.sink.as_deref(),
            tenant_id: filter.tenant.as_deref(),
            class: filter.error_class,
            config: filter.config,
            kind: filter.kind.as_deref(),
            hook_id: filter.hook_id.as_deref(),
            since: filter.since,
            until: filter.until,
        }
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, CommandError> {
    let opened = Opened::existing(&arguments.journal)?;
    smol::block_on(async {
        match &arguments.resume_key {
            Some(key) => resume(&opened, key).await,
            None => show(&opened).await,
        }
    })
}

async fn show(opened: &Opened) -> Result<Exit, CommandError> {
    let (journal, failed) = (&opened.journal, |error| opened.failed(&error));
    let totals = journal.totals().await.map_err(failed)?;
    let counts = journal.counts().await.map_err(failed)?;
    let stopped = journal.stopped().await.map_err(failed)?;
    let replays = journal.replays().await.map_err(failed)?;
    let totals = Line::Totals {
        rows: totals.rows,
        dead_letters: totals.dead_letters,
        bytes: totals.bytes,
    };
    let rows = counts.iter().map(|(lane, rows)| Line::Rows {
        sink: &lane.sink,
        source_id: &lane.source,
        key: lane.key.as_deref(),
        rows: *rows,
        stopped: stopped.iter().any(|stopped| stopped.lane == *lane),
    });
    let keys = stopped.iter().map(|stopped| Line::StoppedKey {
        sink: &stopped.lane.sink,
        source_id: &stopped.lane.source,
        key: stopped.lane.key.as_deref(),
        since: stopped.since,
        cause: why(&stopped.cause),
    });
    let replays = replays.iter().map(|job| Line::Replay {
        id: &job.id,
        state: job.state,
        per_second: job.per_second,
        progress: &job.progress,
        filter: Shown::new(&job.filter),
    });
    let lines = [totals].into_iter().chain(rows);
    for line in lines.chain(keys).chain(replays) {
        let text = serde_json::to_string(&line).map_err(io::Error::from);
        match text.and_then(try_print) {
            Ok(()) => {}
            // A reader that has seen enough.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => break,
            Err(error) => {
                say(format_args!("pubsink: cannot write: {error}"));
                return Ok(Exit::Failed);
            }
        }
    }
    Ok(Exit::Delivered)
}

async fn resume(opened: &Opened, key: &str) -> Result<Exit, CommandError> {
    let failed = |error| opened.failed(&error);
    let stopped = opened.journal.stopped().await.map_err(failed)?;
    let lanes = stopped.into_iter().map(|stopped| stopped.lane);
    let lanes: Vec<Lane> = lanes
        .filter(|lane| lane.key.as_deref() == Some(key))
        .collect();
    for lane in &lanes {
        opened.journal.resume(lane.clone()).await.map_err(failed)?;
        say(format_args!(
            "pubsink: key {key:?} of source {:?} for {} goes on",
            &*lane.source, lane.sink
        ));
    }
    if lanes.is_empty() {
        say(format_args!("pubsink: no key {key:?} is stopped"));
        return Ok(Exit::Failed);
    }
    Ok(Exit::Delivered)
}
