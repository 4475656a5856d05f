//! `pubsink publish`: hooks from lines of JSON to a topic, an outcome for each.

use std::path::PathBuf;

use clap::Args;

use crate::exit::{CODES, CommandError, Exit};
use crate::run::{Route, SendFlags, start};
use crate::telemetry::TelemetryFlags;
use crate::topic::Topic;

/// Publish hooks, one a line of JSON, and report the outcome of each.
///
/// A line, for example:
/// {"id":"1","source_id":"github","headers":{"X-GitHub-Event":"push"},"body":"{}"}
///
/// Keys, all optional: id (made up where absent), source_id ("cli"), tenant_id, received_at (unix
/// milliseconds; now), method, path, headers (an object or a list of [name, value] pairs),
/// content_type, dedupe_key, and body (text) or body_base64. Blank lines are passed over, and a
/// UTF-8 byte order mark at the head of the input.
///
/// Every other line gets one outcome, a line of JSON written as soon as it is known; its `line`
/// says which input line it is of.
///
/// With --journal a run that ended too soon, in whatever way, is gone on with by running the same
/// command again: no line is lost, and none that was settled is sent again.
#[derive(Debug, Args)]
#[command(after_help = CODES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    topic: Topic,
    /// Read hooks from FILE; - is standard input
    #[arg(long, value_name = "FILE", default_value = "-")]
    input: PathBuf,
    /// Keep hooks in DIR, on disk, until they are delivered or dead letters; a topic that is away
    /// is waited for. DIR is for this input only [default: in memory]
    #[arg(long, value_name = "DIR")]
    journal: Option<PathBuf>,
    #[command(flatten)]
    send: SendFlags,
    #[command(flatten)]
    pub(crate) telemetry: TelemetryFlags,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, CommandError> {
    let route = match &arguments.journal {
        Some(dir) => Route::Journal { dir, replay: None },
        None => Route::Direct {
            replay_id: None,
            per_second: None,
        },
    };
    let input = Some(("--input", arguments.input.as_path()));
    start(&arguments.topic, &arguments.send, input, route)
}
