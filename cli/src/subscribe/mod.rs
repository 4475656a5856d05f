//! `pubsink subscribe`: the messages of a subscription to standard output, a command or a URL.
//!
//! [`Arguments`] are what is asked for, [`connect`] opens it on a runtime, [`Serving`] runs it as a
//! service with one [`Handler`](handler::Handler), and [`Tally`](tally::Tally) counts.

mod connect;
mod exec;
mod flags;
mod forward;
mod handler;
mod line;
mod print;
mod serving;
mod tally;

use clap::Args;

use crate::credentials::Credentials;
use crate::exit::{CommandError, Exit};
use crate::interrupt::Interrupt;
use crate::runtime::RuntimeFlag;
use crate::say::say;
use crate::telemetry::TelemetryFlags;
use connect::Tokens;
pub(crate) use connect::{Opening, on_smol, on_tokio};
use flags::{ActionFlags, Subscription};
use serving::Serving;

/// Receive the messages of a subscription, and settle each by what is done with it.
///
/// With --print, the default, each message is a line of JSON on standard output and is acked once
/// that is written: message_id, publish_time, ordering_key, delivery_attempt, attributes, and data
/// (text) or data_base64. With --exec each is the input of a command, acked where that succeeds;
/// with --forward it is posted to a URL, acked where that answers 2xx. What is not acked comes
/// again, after a pause that grows.
///
/// Delivery is at least once: a message may come twice.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 --count was reached, or it was asked to end, and all it had in \
                  hand was settled; 1 standard output, or a settlement at the end, failed; 2 bad \
                  usage or configuration, such as a subscription that is not there; 3 interrupted \
                  with messages in hand, which come again"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    subscription: Subscription,
    #[command(flatten)]
    action: ActionFlags,
    /// Publish what a command prints, or a URL answers, to this topic of the project, before the
    /// message is acked; the topic's short id [default: no replies]
    #[arg(long, value_name = "T")]
    reply_topic: Option<String>,
    /// End once so many messages are acked; no more are handled [default: only a signal ends it]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    count: Option<u32>,
    /// Send the trace of its message with each reply, as the attributes traceparent and tracestate;
    /// where spans are exported, that of the span in which the message was handled
    #[arg(long, requires = "reply_topic")]
    trace_context: bool,
    /// The pause before a message comes again that failed once; it doubles up to a minute
    #[arg(long, value_name = "MS", default_value_t = 1_000)]
    retry_base_ms: u64,
    /// How long SIGINT and SIGTERM leave to what is in hand
    #[arg(long, value_name = "MS", default_value_t = 10_000)]
    shutdown_limit_ms: u64,
    #[command(flatten)]
    credentials: Credentials,
    #[command(flatten)]
    runtime: RuntimeFlag,
    #[command(flatten)]
    pub(crate) telemetry: TelemetryFlags,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, CommandError> {
    let (options, emulator) = arguments.subscription.options(arguments.count)?;
    let replies = (arguments.reply_topic.as_deref())
        .map(|topic| arguments.subscription.replies(topic))
        .transpose()?;
    let work = arguments.action.work(replies.is_some())?;
    let max_attempts = options.max_delivery_attempts();
    let mut tokens = arguments.credentials.provider()?;
    if emulator && tokens.take().is_some() {
        say("pubsink: no token is sent to the emulator of PUBSUB_EMULATOR_HOST");
    }
    arguments.runtime.serve(Opening {
        options,
        replies,
        tokens: tokens.map(Tokens::new),
        serving: Serving {
            work,
            count: arguments.count,
            max_attempts,
            trace_context: arguments.trace_context,
            retry_base: std::time::Duration::from_millis(arguments.retry_base_ms),
            shutdown_limit: std::time::Duration::from_millis(arguments.shutdown_limit_ms),
            interrupt: Interrupt::listen()?,
        },
    })
}
