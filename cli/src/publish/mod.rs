//! `pubsink publish`: hooks from lines of JSON to a topic, an outcome for each.

mod attempts;
mod lines;
mod progress;
mod report;
mod run;
mod window;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use pubsink_core::retry::RetryPolicy;
use pubsink_tokio::Tokio;

use crate::credentials::Credentials;
use crate::exit::{CommandError, Exit};
use crate::interrupt::Interrupt;
use crate::topic::{PublisherFlags, Topic};

/// Input: one hook a line. Keys: id, source_id, tenant_id, received_at, method, path, headers
/// (an object or a list of pairs), content_type, dedupe_key, and body (text) or body_base64. An
/// absent id is made up, an absent received_at is now, an absent source_id is "cli".
///
/// Every input line gets one outcome, written as soon as it is known; `line` says which it is of.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    topic: Topic,
    #[command(flatten)]
    credentials: Credentials,
    /// Read hooks from FILE, - is standard input
    #[arg(long, value_name = "FILE", default_value = "-")]
    input: PathBuf,
    /// Write outcomes to FILE, - is standard output [default: only a summary and the first
    /// failures, on standard error]
    #[arg(long, value_name = "FILE")]
    outcomes: Option<PathBuf>,
    /// Append what failed to FILE: lines that can be published again
    #[arg(long, value_name = "FILE")]
    dead_letters: Option<PathBuf>,
    /// Try a hook at most N times, the first one counted
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    max_attempts: u32,
    /// How long SIGINT and SIGTERM leave to send what was read
    #[arg(long, value_name = "MS", default_value_t = 10_000)]
    shutdown_limit_ms: u64,
    #[command(flatten)]
    publisher: PublisherFlags,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, CommandError> {
    let (options, emulator) = arguments.topic.options();
    let options = arguments.publisher.apply(options)?;
    let mut tokens = arguments.credentials.provider()?;
    if emulator && tokens.take().is_some() {
        eprintln!("pubsink: no token is sent to the emulator of PUBSUB_EMULATOR_HOST");
    }
    let settings = run::Settings {
        policy: RetryPolicy {
            max_attempts: arguments.max_attempts,
            ..RetryPolicy::default()
        },
        shutdown_limit: Duration::from_millis(arguments.shutdown_limit_ms),
    };
    let outcomes = report::Outcomes::open(arguments.outcomes.as_deref())?;
    let dead_letters = report::DeadLetters::open(arguments.dead_letters.as_deref())?;
    let (lines, size) = lines::open(&arguments.input)?;
    let report = report::Report::new(outcomes, dead_letters, progress::Progress::new(size));
    let interrupt = Interrupt::listen()?;
    tokio_runtime()?.block_on(async {
        let runtime = Tokio::current().map_err(|error| CommandError(error.to_string()))?;
        let publisher = pubsink_tokio::publisher(options);
        let publisher = match tokens {
            Some(tokens) => publisher.token_provider(tokens).spawn(),
            None => publisher.spawn(),
        };
        let publisher = publisher.map_err(|error| CommandError(error.to_string()))?;
        Ok(run::run(runtime, publisher, settings, lines, report, interrupt).await)
    })
}

/// One thread drives all: encoding is the only work, and it is little.
pub(crate) fn tokio_runtime() -> Result<tokio::runtime::Runtime, CommandError> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CommandError::new("cannot start the runtime", error))
}
