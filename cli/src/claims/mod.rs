//! `pubsink claims`: bodies that were too large to travel, handed out from their store.
//!
//! [`store`] is what `publish --claims` checks them in at.

mod accepting;
mod connection;
mod get;
mod output;
mod serve;
mod service;
mod store;
mod tokens;
mod unstalled;

use clap::{Args, Subcommand};
use pubsink_tokio::claims::Claims;

use crate::exit::{CommandError, Exit};
pub(crate) use store::{Store, caught};

/// Hand out bodies that publish --claims has checked in at a claim store.
///
/// A claim store is a directory, or s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or
/// az://CONTAINER/PREFIX. Credentials, accounts and endpoints of a bucket come from the
/// environment: AWS_*, GOOGLE_*, AZURE_*.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 done; 1 a claim could not be had; 2 bad usage or configuration"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(serve::Arguments),
    Get(get::Arguments),
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, CommandError> {
    match &arguments.command {
        Command::Serve(arguments) => serve::run(arguments),
        Command::Get(arguments) => get::run(arguments),
    }
}

/// Where claims lie.
#[derive(Debug, Args)]
struct StoreFlag {
    /// The claim store: a directory, or s3://, gs:// or az://BUCKET/PREFIX
    // Not parsed by clap, which would repeat what it refuses.
    #[arg(long, value_name = "URL")]
    claims: String,
}

impl StoreFlag {
    fn open(&self) -> Result<Claims, CommandError> {
        store::opened(pubsink_tokio::claims::open(&self.claims))
    }
}
