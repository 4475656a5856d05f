//! `pubsink`: webhooks and events to Google Cloud Pub/Sub, from the command line.

#![allow(
    rustdoc::broken_intra_doc_links,
    rustdoc::bare_urls,
    reason = "the comments of arguments are their help, not Markdown"
)]

mod bench;
mod claims;
mod credentials;
mod dead_letters;
mod demo;
mod describe;
mod emulator;
mod exit;
mod filter;
mod groups;
mod interrupt;
mod journal;
mod logs;
mod publish;
mod read_back;
mod replay;
mod run;
mod runtime;
mod say;
mod subscribe;
mod telemetry;
mod token_command;
mod topic;

use clap::{Parser, Subcommand};

use exit::{CommandError, Exit};
use telemetry::TelemetryFlags;

/// Publish webhooks and events to Google Cloud Pub/Sub.
///
/// Start with `pubsink demo`, which needs neither an account nor a network. Then run
/// `pubsink emulator --topic hooks` in one terminal, and publish to it from another with
/// `--project local` and its address in PUBSUB_EMULATOR_HOST. `subscribe` receives what was
/// published.
///
/// With `publish --journal DIR` hooks are kept on disk until they are delivered; `journal`,
/// `dead-letters` and `replay` look at what is in DIR and send again what was given up.
///
/// Set PUBSINK_LOG (for example to debug) to see what goes on inside.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, after_help = exit::CODES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Demo(demo::Arguments),
    Publish(Box<publish::Arguments>),
    Replay(Box<replay::Arguments>),
    Subscribe(Box<subscribe::Arguments>),
    DeadLetters(dead_letters::Arguments),
    Journal(journal::Arguments),
    Claims(claims::Arguments),
    Describe(describe::Arguments),
    Emulator(emulator::Arguments),
    Bench(bench::Arguments),
}

impl Command {
    /// What it is asked to show of itself. Those that are done in a moment are not asked.
    fn telemetry(&self) -> Option<&TelemetryFlags> {
        match self {
            Self::Publish(arguments) => Some(&arguments.telemetry),
            Self::Replay(arguments) => Some(&arguments.telemetry),
            Self::Subscribe(arguments) => Some(&arguments.telemetry),
            Self::Bench(arguments) => Some(&arguments.telemetry),
            Self::Demo(_)
            | Self::DeadLetters(_)
            | Self::Journal(_)
            | Self::Claims(_)
            | Self::Describe(_)
            | Self::Emulator(_) => None,
        }
    }

    fn run(&self) -> Result<Exit, CommandError> {
        match self {
            Self::Demo(arguments) => demo::run(arguments),
            Self::Publish(arguments) => publish::run(arguments),
            Self::Replay(arguments) => replay::run(arguments),
            Self::Subscribe(arguments) => subscribe::run(arguments),
            Self::DeadLetters(arguments) => dead_letters::run(arguments),
            Self::Journal(arguments) => journal::run(arguments),
            Self::Claims(arguments) => claims::run(arguments),
            Self::Describe(arguments) => describe::run(arguments),
            Self::Emulator(arguments) => emulator::run(arguments),
            Self::Bench(arguments) => bench::run(arguments),
        }
    }
}

fn main() -> Exit {
    let command = Arguments::parse().command;
    let telemetry = command.telemetry().map(TelemetryFlags::start).transpose();
    let done = telemetry.and_then(|telemetry| {
        let telemetry = telemetry.unwrap_or_default();
        logs::to_stderr(telemetry.spans());
        let done = command.run();
        groups::end_all();
        telemetry.end();
        done
    });
    done.unwrap_or_else(|CommandError(message)| {
        say::say(format_args!("pubsink: {message}"));
        Exit::Usage
    })
}
