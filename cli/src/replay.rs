//! `pubsink replay`: dead letters once more.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use pubsink_core::journal::{Filter, ReplayJob};
use pubsink_core::limits::ATTRIBUTE_VALUE_MAX_BYTES;
use uuid::Uuid;

use crate::exit::{CommandError, Exit};
use crate::filter::FilterFlags;
use crate::run::{Replay, Route, SendFlags, start};
use crate::say::say;
use crate::telemetry::TelemetryFlags;
use crate::topic::Topic;

const ENDS: &str = "Exit codes: 0 all delivered, or the journal has none; 1 some failed or died \
                    again, the replay paused itself, or no dead letter is meant; 2 bad usage or \
                    configuration; 3 interrupted";

/// Send dead letters again, after what was wrong is mended.
///
/// Those of a journal (--journal), or of a file that publish --dead-letters wrote (--from). A hook
/// keeps its id, dedupe key and idempotency key; the message tells the replay's id as well.
///
/// A replay from a journal is kept in it: the same command with the same --replay-id goes on after
/// whatever ended it. It pauses itself when many of its hooks in a row die again, and --resume goes
/// on. What dies again is a dead letter once more, which the same replay leaves alone: it takes a
/// new one.
#[derive(Debug, Args)]
#[command(after_help = ENDS, group = ArgGroup::new("what").required(true).args(["journal", "from"]))]
pub(crate) struct Arguments {
    #[command(flatten)]
    topic: Topic,
    /// Send dead letters of the journal in DIR, those for the topic
    #[arg(long, value_name = "DIR")]
    journal: Option<PathBuf>,
    /// Send the dead letters in FILE; - is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["filters", "resume", "pause_after"])]
    from: Option<PathBuf>,
    /// Send at most N a second
    #[arg(long, value_name = "N", default_value_t = ReplayJob::PER_SECOND, value_parser = clap::value_parser!(u32).range(1..))]
    rate: u32,
    /// The replay's id [default: a new one]
    #[arg(long, value_name = "ID", value_parser = replay_id)]
    replay_id: Option<String>,
    /// Go on with this replay, also when it is paused; its filters and rate stay
    #[arg(long, value_name = "ID", conflicts_with_all = ["filters", "replay_id", "rate", "pause_after"])]
    resume: Option<String>,
    /// Pause the replay when N of its hooks in a row died again
    #[arg(long, value_name = "N", default_value_t = ReplayJob::PAUSE_AFTER, value_parser = clap::value_parser!(u32).range(1..))]
    pause_after: u32,
    #[command(flatten)]
    send: SendFlags,
    #[command(flatten)]
    filter: FilterFlags,
    #[command(flatten)]
    pub(crate) telemetry: TelemetryFlags,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, CommandError> {
    let (topic, send) = (&arguments.topic, &arguments.send);
    if let Some(dir) = &arguments.journal {
        let replay = Some(arguments.replay()?);
        return start(topic, send, None, Route::Journal { dir, replay });
    }
    let new_id = || Uuid::now_v7().to_string();
    let replay_id = arguments.replay_id.clone().unwrap_or_else(new_id);
    say(format_args!("pubsink: replay {replay_id}"));
    let route = Route::Direct {
        replay_id: Some(replay_id),
        per_second: Some(arguments.rate),
    };
    let input = arguments.from.as_deref().map(|file| ("--from", file));
    start(topic, send, input, route)
}

/// It travels as an attribute of every message, so it has an attribute's limit.
fn replay_id(text: &str) -> Result<String, String> {
    match text.len() {
        0 => Err("it must not be empty".to_owned()),
        1..=ATTRIBUTE_VALUE_MAX_BYTES => Ok(text.to_owned()),
        len => Err(format!(
            "it has {len} bytes; an attribute of a message takes {ATTRIBUTE_VALUE_MAX_BYTES}"
        )),
    }
}

impl Arguments {
    fn replay(&self) -> Result<Replay, CommandError> {
        let resume = self.resume.is_some();
        let filter = if resume {
            Filter::default()
        } else {
            self.filter.filter(Some(&self.topic.name()?))
        };
        Ok(Replay {
            id: self.resume.clone().or_else(|| self.replay_id.clone()),
            resume,
            filter,
            per_second: self.rate,
            pause_after: self.pause_after,
        })
    }
}
