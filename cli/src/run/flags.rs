//! The flags of commands that send hooks.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use pubsink_core::dispatch::OnDead;
use pubsink_core::options::{OrderingOnFailure, PublisherOptions};
use pubsink_core::retry::RetryPolicy;

use super::headers::{HeaderFlags, Headers};
use crate::credentials::Credentials;
use crate::exit::CommandError;
use crate::runtime::RuntimeFlag;
use crate::topic::PublisherFlags;

/// How often a hook is tried where nothing keeps it.
const MAX_ATTEMPTS: u32 = 5;

/// How hooks are sent, and what is told of them.
#[derive(Debug, Args)]
pub(crate) struct SendFlags {
    /// Write outcomes to FILE, which every run begins anew; - is standard output [default: only a summary and the first
    /// failures, on standard error]
    #[arg(long, value_name = "FILE")]
    pub(super) outcomes: Option<PathBuf>,
    /// Append what failed to FILE, as lines that can be published again [default: kept nowhere,
    /// but for a journal]
    #[arg(long, value_name = "FILE")]
    pub(super) dead_letters: Option<PathBuf>,
    /// Try a hook at most N times, the first one counted [default: 5, or 84 with --journal]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_attempts: Option<u32>,
    /// How long SIGINT and SIGTERM leave to send what was read
    #[arg(long, value_name = "MS", default_value_t = 10_000)]
    shutdown_limit_ms: u64,
    /// What a dead letter of the journal does to the later hooks of its ordering key, where
    /// --ordering-on-failure is hold; refused without [default: skip]
    #[arg(
        long,
        value_name = "skip|stop",
        hide_possible_values = true,
        requires = "journal"
    )]
    on_dead: Option<Dead>,
    /// Check bodies that are larger than --inline-max-bytes in at this store, and send their refs: a
    /// directory, or s3://, gs:// or az://BUCKET/PREFIX [default: such hooks fail]
    // Not parsed by clap, which would repeat what it refuses.
    #[arg(long, value_name = "URL")]
    pub(super) claims: Option<String>,
    #[command(flatten)]
    pub(super) runtime: RuntimeFlag,
    #[command(flatten)]
    pub(super) credentials: Credentials,
    #[command(flatten)]
    pub(super) publisher: PublisherFlags,
    #[command(flatten)]
    headers: HeaderFlags,
}

/// What a dead letter does to the later hooks of its ordering key.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Dead {
    /// They go on
    Skip,
    /// They wait in the journal until the key is resumed
    Stop,
}

/// How hooks are sent and tried, and how long an interrupt leaves them.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) policy: RetryPolicy,
    pub(super) on_dead: OnDead,
    pub(super) shutdown_limit: Duration,
    pub(super) headers: Headers,
}

impl SendFlags {
    /// Refuses flags that would have no effect.
    pub(super) fn check(&self, options: &PublisherOptions) -> Result<(), CommandError> {
        let holds = options.ordering_on_failure() == OrderingOnFailure::Hold;
        if self.on_dead.is_some() && !holds {
            let words = "--on-dead has no effect without --ordering-on-failure hold";
            return Err(CommandError(words.to_owned()));
        }
        Ok(())
    }

    /// `kept`: whether hooks outlive the run, so that more patience costs nothing.
    pub(super) fn settings(&self, kept: bool) -> Settings {
        let policy = RetryPolicy::default();
        let max_attempts = if kept {
            policy.max_attempts
        } else {
            MAX_ATTEMPTS
        };
        Settings {
            policy: RetryPolicy {
                max_attempts: self.max_attempts.unwrap_or(max_attempts),
                ..policy
            },
            on_dead: match self.on_dead {
                None | Some(Dead::Skip) => OnDead::Skip,
                Some(Dead::Stop) => OnDead::Stop,
            },
            shutdown_limit: Duration::from_millis(self.shutdown_limit_ms),
            headers: self.headers.headers(),
        }
    }
}
