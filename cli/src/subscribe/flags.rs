//! The flags that name a subscription, and what is done with its messages.

use std::time::Duration;

use clap::{Args, ValueEnum};
use http::Uri;
use pubsink_core::options::{OptionError, PublisherOptions};
use pubsink_core::subscribe::{SubscriberOptions, Wire};

use super::forward;
use crate::exit::CommandError;
use crate::topic::{Place, Topic};

/// What is received, and how.
#[derive(Debug, Args)]
pub(super) struct Subscription {
    /// The project's id
    #[arg(long, value_name = "P")]
    project: String,
    /// The subscription's short id
    #[arg(long, value_name = "S")]
    subscription: String,
    /// The service's URL [default: PUBSUB_EMULATOR_HOST where that is set, else
    /// https://pubsub.googleapis.com]
    #[arg(long, value_name = "URL")]
    endpoint: Option<String>,
    /// How to speak to Pub/Sub
    #[arg(long, value_enum, default_value_t = WireName::Grpc)]
    wire: WireName,
    /// The most messages that are handled at a time; of one ordering key it is one
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1_024))]
    workers: u32,
    /// The most messages in hand: waiting, being handled, or held until they are tried again
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..))]
    max_outstanding: u32,
    /// The subscription is exactly-once: a message is handled once its lease is confirmed, and acked
    /// once that is. Over gRPC the subscription says so itself, over REST only this does
    #[arg(long)]
    exactly_once: bool,
    /// How often the subscription's dead-letter policy delivers a message: one that fails for the
    /// last time goes back at once, for the policy to take it, and is not held for a pause
    /// [default: what fails is held for a pause, each time]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(5..=100))]
    max_delivery_attempts: Option<u32>,
    /// How long to go on trying where the subscription is not found, or access to it refused
    #[arg(long, value_name = "MS", default_value_t = 60_000)]
    config_patience_ms: u64,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum WireName {
    /// Messages are streamed as they come
    Grpc,
    /// Messages are pulled
    Rest,
}

impl Subscription {
    /// Options for it, and whether it is an emulator's, named by `PUBSUB_EMULATOR_HOST`. Where so
    /// many are handled and no more, others are left to others.
    pub(super) fn options(
        &self,
        count: Option<u32>,
    ) -> Result<(SubscriberOptions, bool), CommandError> {
        let options = SubscriberOptions::builder(&self.project, &self.subscription);
        let (options, emulator) = match Place::of(self.endpoint.as_deref())? {
            Place::Default => (options, false),
            Place::Url(url) => (options.endpoint(url), false),
            Place::Emulator(host) => (options.emulator(&host), true),
        };
        let most = |value: u32| {
            let most = count.map_or(value, |count| count.min(value));
            usize::try_from(most).unwrap_or(usize::MAX)
        };
        let options = options
            .wire(match self.wire {
                WireName::Grpc => Wire::Grpc,
                WireName::Rest => Wire::Rest,
            })
            .handlers(most(self.workers))
            .max_outstanding(most(self.max_outstanding))
            .exactly_once(self.exactly_once)
            .max_delivery_attempts(self.max_delivery_attempts)
            .config_patience(Duration::from_millis(self.config_patience_ms));
        let options = options
            .build()
            .map_err(|error| refused(&error, error.option))?;
        Ok((options, emulator))
    }

    /// Options for replies to `topic`, at the same place.
    pub(super) fn replies(&self, topic: &str) -> Result<PublisherOptions, CommandError> {
        let topic = Topic {
            project: self.project.clone(),
            topic: topic.to_owned(),
            endpoint: self.endpoint.clone(),
        };
        let (options, _) = topic.options()?;
        options.build().map_err(|error| match error.option {
            "topic" => refused(&error, "reply-topic"),
            option => refused(&error, option),
        })
    }
}

/// What is wrong, said of its flag.
fn refused(error: &OptionError, flag: &str) -> CommandError {
    let OptionError {
        value, expected, ..
    } = error;
    CommandError(format!("--{flag} is {value:?}; it must be {expected}"))
}

/// What is done with each message.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(super) struct ActionFlags {
    /// Write each message to standard output as a line of JSON; this is the default
    #[arg(long)]
    print: bool,
    /// Run CMD by the shell for each message, with the data as its input. It has
    /// PUBSINK_MESSAGE_ID, PUBSINK_ORDERING_KEY, PUBSINK_DELIVERY_ATTEMPT and, for each attribute,
    /// PUBSINK_ATTRIBUTE_NAME in its environment
    #[arg(long, value_name = "CMD")]
    exec: Option<String>,
    /// Post the data of each message to URL, with its attributes as headers
    /// x-pubsub-attribute-NAME
    #[arg(long, value_name = "URL", value_parser = forward::url)]
    forward: Option<Uri>,
}

/// The same, checked.
#[derive(Debug)]
pub(super) enum Work {
    Print,
    Exec { command: String, replies: bool },
    Forward { url: Uri, replies: bool },
}

impl ActionFlags {
    pub(super) fn work(&self, replies: bool) -> Result<Work, CommandError> {
        match (&self.exec, &self.forward) {
            (Some(command), _) => Ok(Work::Exec {
                command: command.clone(),
                replies,
            }),
            (None, Some(url)) => Ok(Work::Forward {
                url: url.clone(),
                replies,
            }),
            (None, None) if replies => Err(CommandError(
                "--reply-topic needs --exec or --forward, whose output is the reply".to_owned(),
            )),
            (None, None) => Ok(Work::Print),
        }
    }
}
