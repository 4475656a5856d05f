//! `pubsink bench`: publishes many messages and measures it.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bytes::Bytes;
use clap::{Args, ValueEnum};
use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use pubsink_core::attributes::Attributes;
use pubsink_core::delivery::DeliveryContext;
use pubsink_core::envelope::Envelope;
use pubsink_core::publish::Message;
use pubsink_core::token::Token;
use pubsink_tokio::seam::{Runtime, Transport};
use pubsink_tokio::{Delivery, Publisher};

use crate::exit::{CommandError, Exit};
use crate::runtime::{RuntimeFlag, Tasks, Work};
use crate::say::{print, say};
use crate::telemetry::TelemetryFlags;
use crate::topic::{GzipFlags, Topic, WireFlag, build};

/// The most messages, and bytes of bodies, that are not confirmed at a time.
const UNCONFIRMED_MAX: usize = 10_000;
const UNCONFIRMED_MAX_BYTES: usize = 64 * 1024 * 1024;
/// How many different bodies there are: enough that nothing can be cached by accident.
const BODIES: usize = 256;
/// How many bytes they take in all, but that each has its size: larger ones overlap.
const BODIES_MAX_BYTES: usize = 64 * 1024 * 1024;

/// Publish many messages and measure it.
///
/// Waits for every confirmation, then prints `messages_per_s=… cpu_s_per_million=… rss_mib=…`:
/// confirmed messages over the wall time of the publishes, user and system CPU seconds of this
/// process in that time per million messages, and its peak resident memory. Where any message
/// fails there are no figures. No credentials are sent.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 all confirmed; 1 some failed; 2 bad usage or configuration")]
pub(crate) struct Arguments {
    #[command(flatten)]
    topic: Topic,
    /// How many messages
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    messages: u64,
    /// How large each body is
    #[arg(long, value_name = "BYTES", default_value_t = 1_024, value_parser = clap::value_parser!(u32).range(..=10_000_000))]
    size: u32,
    /// What each message is
    #[arg(long, value_enum, default_value_t = Payload::Raw)]
    payload: Payload,
    #[command(flatten)]
    wire: WireFlag,
    #[command(flatten)]
    gzip: GzipFlags,
    #[command(flatten)]
    runtime: RuntimeFlag,
    #[command(flatten)]
    pub(crate) telemetry: TelemetryFlags,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Payload {
    /// The body as it is, with 6 attributes of 140 bytes in all
    Raw,
    /// A hook with that body
    Hook,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, CommandError> {
    let (options, _) = arguments.topic.options()?;
    // One tenant, bounded by this command's own window.
    let options = arguments.gzip.apply(arguments.wire.apply(options));
    let options = options
        .batch_queue_max(UNCONFIRMED_MAX)
        .batch_queue_tenant(UNCONFIRMED_MAX)
        .inline_max_bytes(usize::MAX);
    let options = build(options)?;
    let size = usize::try_from(arguments.size).unwrap_or(usize::MAX);
    let work = Measuring {
        source: Source::new(arguments.payload, size, arguments.messages),
        messages: arguments.messages,
    };
    let tokens = None::<Token>;
    arguments.runtime.run(Tasks::Here, options, tokens, work)
}

/// The measurement, once there is a publisher.
struct Measuring {
    source: Source,
    messages: u64,
}

impl Work for Measuring {
    type Done = Exit;

    async fn run<R: Runtime, T: Transport>(
        self,
        _runtime: R,
        _client: T,
        publisher: Publisher,
    ) -> Result<Exit, CommandError> {
        let started = (Instant::now(), cpu()?);
        let failures = publish(&publisher, &self.source, self.messages).await;
        let (wall, cpu) = (started.0.elapsed(), cpu()?.saturating_sub(started.1));
        if let Some(first) = &failures.first {
            say(format_args!(
                "pubsink: {} messages failed; the first: {first}",
                failures.count
            ));
            return Ok(Exit::Failed);
        }
        print(figures(self.messages, wall, cpu)?)?;
        Ok(Exit::Delivered)
    }
}

/// Publishes all messages; what failed.
async fn publish(publisher: &Publisher, source: &Source, messages: u64) -> Failures {
    let by_bytes = UNCONFIRMED_MAX_BYTES / source.body(0).len().max(1);
    let window = by_bytes.clamp(1, UNCONFIRMED_MAX);
    let mut unconfirmed = VecDeque::<Delivery>::with_capacity(window);
    let mut failures = Failures::default();
    for number in 0..messages {
        if unconfirmed.len() == window
            && let Some(oldest) = unconfirmed.pop_front()
        {
            failures.count(oldest.await);
        }
        unconfirmed.push_back(source.send(publisher, number));
    }
    for delivery in unconfirmed {
        failures.count(delivery.await);
    }
    failures
}

#[derive(Default)]
struct Failures {
    count: u64,
    first: Option<String>,
}

impl Failures {
    fn count(&mut self, outcome: pubsink_core::failure::Outcome) {
        if let Err(failure) = outcome {
            self.count += 1;
            self.first.get_or_insert_with(|| failure.to_string());
        }
    }
}

/// Makes messages.
struct Source {
    payload: Payload,
    bodies: Vec<Bytes>,
    attributes: Attributes,
}

impl Source {
    fn new(payload: Payload, size: usize, messages: u64) -> Self {
        Self {
            payload,
            bodies: bodies(size, messages),
            // 140 bytes of names and values, shaped like a hook's.
            attributes: [
                ("ankusa_id", "019ad465-4e4c-7650-a69e-0d37f2a74de4"),
                ("ankusa_source_id", "git"),
                ("ankusa_tenant_id", "acme"),
                ("ankusa_message_version", "1"),
                ("content_type", "application/json"),
                ("zone", "b"),
            ]
            .into_iter()
            .collect(),
        }
    }

    fn body(&self, number: u64) -> Bytes {
        let index = number % self.bodies.len() as u64;
        self.bodies[usize::try_from(index).unwrap_or_default()].clone()
    }

    fn send(&self, publisher: &Publisher, number: u64) -> Delivery {
        match self.payload {
            Payload::Raw => {
                let mut message = Message::new(self.body(number));
                message.attributes = self.attributes.clone();
                publisher.publish(message)
            }
            Payload::Hook => publisher.deliver(&self.hook(number), &DeliveryContext::batched()),
        }
    }

    fn hook(&self, number: u64) -> Envelope {
        Envelope {
            id: format!("019ad465-4e4c-7650-a69e-{number:012x}"),
            source_id: "bench".to_owned(),
            tenant_id: None,
            received_at: 1_764_500_000_000,
            method: "POST".to_owned(),
            path: "/hooks/bench".to_owned(),
            headers: vec![
                (
                    "Content-Type".to_owned(),
                    Bytes::from_static(b"application/json"),
                ),
                (
                    "X-Bench-Event".to_owned(),
                    Bytes::from_static(b"message.sent"),
                ),
            ],
            content_type: Some("application/json".to_owned()),
            body: self.body(number),
            dedupe_key: None,
        }
    }
}

/// As many random bodies as are used.
fn bodies(size: usize, messages: u64) -> Vec<Bytes> {
    let count = usize::try_from(messages).unwrap_or(BODIES).clamp(1, BODIES);
    let length = (count * size).min(BODIES_MAX_BYTES.max(size + count));
    let mut random = vec![0; length];
    fastrand::Rng::with_seed(1).fill(&mut random);
    let random = Bytes::from(random);
    // One behind the other where there is room.
    let step = (length - size).checked_div(count - 1).unwrap_or_default();
    let starts = (0..count).map(|index| index * step);
    starts
        .map(|start| random.slice(start..start + size))
        .collect()
}

fn usage() -> Result<Usage, CommandError> {
    getrusage(UsageWho::RUSAGE_SELF)
        .map_err(|error| CommandError::new("cannot read this process's usage", error))
}

/// User and system time of this process so far.
fn cpu() -> Result<Duration, CommandError> {
    let usage = usage()?;
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(Duration::from_micros(
        u64::try_from(micros).unwrap_or_default(),
    ))
}

#[expect(clippy::cast_precision_loss, reason = "figures for a person")]
fn figures(messages: u64, wall: Duration, cpu: Duration) -> Result<String, CommandError> {
    let per_second = messages as f64 / wall.as_secs_f64();
    let cpu_per_million = cpu.as_secs_f64() / messages as f64 * 1e6;
    // Linux counts kibibytes, the BSDs and macOS bytes.
    let unit = if cfg!(target_os = "linux") {
        1024.0
    } else {
        1.0
    };
    let rss_mib = usage()?.max_rss() as f64 * unit / 1024.0 / 1024.0;
    Ok(format!(
        "messages_per_s={per_second:.0} cpu_s_per_million={cpu_per_million:.2} rss_mib={rss_mib:.1}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_messages_are_as_the_help_says() {
        let source = Source::new(Payload::Raw, 100, 1_000);
        assert!(source.bodies.iter().all(|body| body.len() == 100));
        assert_eq!(source.bodies.len(), 256);
        let bytes = source
            .attributes
            .iter()
            .map(|(name, value)| name.len() + value.len());
        assert_eq!((source.attributes.len(), bytes.sum::<usize>()), (6, 140));
    }

    #[test]
    fn bodies_are_different_and_no_more_than_are_used() {
        for (size, messages, count) in [(0, 5, 5), (100, 1, 1), (100, 7, 7), (1_000_000, 300, 256)]
        {
            let bodies = bodies(size, messages);
            assert!(bodies.iter().all(|body| body.len() == size));
            assert_eq!(bodies.len(), count);
            let different: std::collections::HashSet<_> = bodies.iter().collect();
            assert_eq!(different.len(), if size == 0 { 1 } else { count });
        }
    }
}
