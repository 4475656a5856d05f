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
mod writer;

use std::path::PathBuf;
use std::thread;
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
use crate::token_command;
use crate::topic::{PublisherFlags, Topic};

/// How much longer than an interrupt's limit a run that still gets on may take.
const STALLED: Duration = Duration::from_secs(5);

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
    let outcomes = outcomes::Destination::open(outcomes)?;
    let dead_letters = dead_letters::DeadLetters::open(dead_letters)?;
    files::check_apart(input.file(), outcomes.file(), dead_letters.file())?;
    let interrupt = Interrupt::listen()?;
    if input.is_typed() {
        say("pubsink: reading hooks from the terminal, one a line of JSON; Ctrl-D ends them");
    }
    let work = Publishing {
        settings,
        input,
        outcomes,
        dead_letters,
        interrupt,
    };
    arguments.runtime.run(Tasks::Aside, options, tokens, work)
}

/// Ends the process after an interrupt's limit even where standard error or the dead letters are
/// a pipe that nobody reads, so that not even words about it can be written.
fn end_in_any_case(interrupt: &Interrupt, limit: Duration) {
    let interrupt = interrupt.clone();
    thread::spawn(move || {
        interrupt.wait();
        thread::sleep(limit.saturating_add(STALLED));
        token_command::end_all();
        std::process::exit(Exit::Interrupted.code().into());
    });
}

/// Publishing, once there is a publisher.
struct Publishing {
    settings: run::Settings,
    input: lines::Input,
    outcomes: outcomes::Destination,
    dead_letters: dead_letters::DeadLetters,
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
        let (settings, interrupt) = (self.settings, self.interrupt);
        let quiet = self.input.is_typed() || self.outcomes.is_seen();
        let progress = progress::Progress::new(self.input.size(), quiet);
        // Nothing can be wrong with the usage any more: what is there may be overwritten.
        let outcomes = self.outcomes.start(&progress)?;
        let report = report::Report::new(outcomes, self.dead_letters, progress);
        end_in_any_case(&interrupt, settings.shutdown_limit);
        let lines = self.input.read();
        Ok(run::run(runtime, publisher, settings, lines, report, interrupt).await)
    }
}
