//! `pubsink publish`: hooks from lines of JSON to a topic, an outcome for each.

mod attempts;
mod dead_letters;
mod files;
mod lines;
mod outcomes;
mod progress;
mod read_ahead;
mod report;
mod run;
mod window;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use pubsink_core::retry::RetryPolicy;
use pubsink_tokio::Publisher;
use pubsink_tokio::seam::{Runtime, Transport};

use crate::credentials::Credentials;
use crate::exit::{CODES, CommandError, Exit};
use crate::interrupt::Interrupt;
use crate::runtime::{RuntimeFlag, Tasks, Work};
use crate::say::say;
use crate::topic::{PublisherFlags, Topic};

/// Publish hooks, one a line of JSON, and report the outcome of each.
///
/// A line, for example:
/// {"id":"1","source_id":"github","headers":{"X-GitHub-Event":"push"},"body":"{}"}
///
/// Keys, all optional: id (made up where absent), source_id ("cli"), tenant_id, received_at (unix
/// milliseconds; now), method, path, headers (an object or a list of [name, value] pairs),
/// content_type, dedupe_key, and body (text) or body_base64. Blank lines are passed over.
///
/// Every other line gets one outcome, a line of JSON written as soon as it is known; its `line`
/// says which input line it is of.
#[derive(Debug, Args)]
#[command(after_help = CODES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    topic: Topic,
    /// Read hooks from FILE; - is standard input
    #[arg(long, value_name = "FILE", default_value = "-")]
    input: PathBuf,
    /// Write outcomes to FILE; - is standard output [default: only a summary and the first
    /// failures, on standard error]
    #[arg(long, value_name = "FILE")]
    outcomes: Option<PathBuf>,
    /// Append what failed to FILE, as lines that can be published again [default: kept nowhere]
    #[arg(long, value_name = "FILE")]
    dead_letters: Option<PathBuf>,
    /// Try a hook at most N times, the first one counted
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    max_attempts: u32,
    /// How long SIGINT and SIGTERM leave to send what was read
    #[arg(long, value_name = "MS", default_value_t = 10_000)]
    shutdown_limit_ms: u64,
    #[command(flatten)]
    credentials: Credentials,
    #[command(flatten)]
    runtime: RuntimeFlag,
    #[command(flatten)]
    publisher: PublisherFlags,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, CommandError> {
    let (options, emulator) = arguments.topic.options()?;
    let options = arguments.publisher.apply(options)?;
    let mut tokens = arguments.credentials.provider()?;
    if emulator && tokens.take().is_some() {
        say("pubsink: no token is sent to the emulator of PUBSUB_EMULATOR_HOST");
    }
    let settings = run::Settings {
        policy: RetryPolicy {
            max_attempts: arguments.max_attempts,
            ..RetryPolicy::default()
        },
        shutdown_limit: Duration::from_millis(arguments.shutdown_limit_ms),
    };
    let input = lines::Input::open(&arguments.input)?;
    let (outcomes, dead_letters) = (
        arguments.outcomes.as_deref(),
        arguments.dead_letters.as_deref(),
    );
    files::check_apart(&input, outcomes, dead_letters)?;
    let outcomes = outcomes::Outcomes::open(outcomes)?;
    let dead_letters = dead_letters::DeadLetters::open(dead_letters)?;
    let progress = progress::Progress::new(input.size(), input.is_typed() || outcomes.are_seen());
    let report = report::Report::new(outcomes, dead_letters, progress);
    let interrupt = Interrupt::listen()?;
    if input.is_typed() {
        say("pubsink: reading hooks from the terminal, one a line of JSON; Ctrl-D ends them");
    }
    let lines = input.read();
    let work = Publishing {
        settings,
        lines,
        report,
        interrupt,
    };
    arguments.runtime.run(Tasks::Aside, options, tokens, work)
}

/// Publishing, once there is a publisher.
struct Publishing {
    settings: run::Settings,
    lines: lines::Lines,
    report: report::Report,
    interrupt: Interrupt,
}

impl Work for Publishing {
    type Done = Exit;

    async fn run<R: Runtime, T: Transport>(
        self,
        runtime: R,
        _client: T,
        publisher: Publisher,
    ) -> Result<Exit, CommandError> {
        let (settings, lines, report) = (self.settings, self.lines, self.report);
        Ok(run::run(runtime, publisher, settings, lines, report, self.interrupt).await)
    }
}
