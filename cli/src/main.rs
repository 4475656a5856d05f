//! `pubsink`: webhooks and events to Google Cloud Pub/Sub, from the command line.

#![allow(
    rustdoc::broken_intra_doc_links,
    rustdoc::bare_urls,
    reason = "the comments of arguments are their help, not Markdown"
)]

mod bench;
mod credentials;
mod dead_letters;
mod demo;
mod describe;
mod emulator;
mod exit;
mod filter;
mod interrupt;
mod journal;
mod publish;
mod pull;
mod replay;
mod run;
mod runtime;
mod say;
mod token_command;
mod topic;

use std::io::IsTerminal as _;

use clap::{Parser, Subcommand};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use exit::{CommandError, Exit};

/// Publish webhooks and events to Google Cloud Pub/Sub.
///
/// Start with `pubsink demo`, which needs neither an account nor a network. Then run
/// `pubsink emulator --topic hooks` in one terminal, and publish to it from another with
/// `--project local` and its address in PUBSUB_EMULATOR_HOST.
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
    DeadLetters(dead_letters::Arguments),
    Journal(journal::Arguments),
    Describe(describe::Arguments),
    Emulator(emulator::Arguments),
    Bench(bench::Arguments),
}

fn main() -> Exit {
    log_to_stderr();
    let done = match Arguments::parse().command {
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Publish(arguments) => publish::run(&arguments),
        Command::Replay(arguments) => replay::run(&arguments),
        Command::DeadLetters(arguments) => dead_letters::run(&arguments),
        Command::Journal(arguments) => journal::run(&arguments),
        Command::Describe(arguments) => describe::run(&arguments),
        Command::Emulator(arguments) => emulator::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
    };
    token_command::end_all();
    done.unwrap_or_else(|CommandError(message)| {
        say::say(format_args!("pubsink: {message}"));
        Exit::Usage
    })
}

/// Logs by `PUBSINK_LOG`, warnings by default.
fn log_to_stderr() {
    let filter = EnvFilter::builder()
        .with_env_var("PUBSINK_LOG")
        .with_default_directive(LevelFilter::WARN.into())
        .from_env_lossy();
    // curl's failures are outcomes here, and its details may hold a token. What dispatch warns of
    // is said by the command itself.
    let off = ["isahc=off", "pubsink_runtime::dispatch::tell=off"];
    let off = off.into_iter().filter_map(|off| off.parse().ok());
    let filter = off.fold(filter, EnvFilter::add_directive);
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        // It would panic where standard error is closed.
        .log_internal_errors(false)
        .init();
}
