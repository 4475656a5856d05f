//! The publisher's options, each checked when they are built.

mod compression;
mod endpoint;
mod names;
mod ordering;
mod wire;

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use http::Uri;

pub use compression::Compression;
pub(crate) use endpoint::URL_MAX_BYTES;
pub use endpoint::{DEFAULT_ENDPOINT, Endpoint};
pub use names::{ProjectId, SubscriptionId, TopicId};
pub(crate) use names::{UNRESERVED, subscription_path};
pub use ordering::{OrderingKey, OrderingOnFailure};
pub use wire::Wire;

use crate::envelope::Envelope;
use crate::limits::ORDERING_KEY_MAX_BYTES;

/// A topic publisher's options. Built by [`PublisherOptions::builder`]; every value is in range.
#[derive(Debug, Clone)]
pub struct PublisherOptions {
    project: ProjectId,
    topic: TopicId,
    endpoint: Endpoint,
    topic_name: String,
    publish_url: Uri,
    settings: Settings,
}

/// The options that are not names. See [`PublisherOptionsBuilder`] for what each does.
#[derive(Debug, Clone)]
struct Settings {
    wire: Wire,
    compression: Compression,
    ordering_key: OrderingKey,
    ordering_on_failure: OrderingOnFailure,
    max_stopped_keys: usize,
    inline_max_bytes: usize,
    max_message_bytes: usize,
    timeout: Duration,
    batch: bool,
    batch_linger: Duration,
    batch_max_entries: usize,
    batch_max_bytes: usize,
    batch_queue_max: usize,
    batch_queue_bytes: usize,
    batch_queue_tenant: usize,
    batch_max_inflight: usize,
    sink_concurrency: usize,
    trace_context: bool,
}

impl PublisherOptions {
    /// Options for topic `topic` (its short id) of `project`, all at their defaults.
    #[must_use]
    pub fn builder(project: &str, topic: &str) -> PublisherOptionsBuilder {
        PublisherOptionsBuilder {
            project: project.to_owned(),
            topic: topic.to_owned(),
            endpoint: Ok(DEFAULT_ENDPOINT.to_owned()),
            settings: Settings {
                wire: Wire::Rest,
                compression: Compression::Off,
                ordering_key: OrderingKey::None,
                ordering_on_failure: OrderingOnFailure::Continue,
                max_stopped_keys: 1_024,
                inline_max_bytes: 65_536,
                max_message_bytes: 10_000_000,
                timeout: Duration::from_secs(5),
                batch: true,
                batch_linger: Duration::from_millis(20),
                batch_max_entries: 1_000,
                batch_max_bytes: 7_500_000,
                batch_queue_max: 4_096,
                batch_queue_bytes: 128 * 1024 * 1024,
                batch_queue_tenant: 1_024,
                batch_max_inflight: 8,
                sink_concurrency: 8,
                trace_context: false,
            },
        }
    }

    /// The project.
    #[must_use]
    pub fn project(&self) -> &ProjectId {
        &self.project
    }

    /// The topic.
    #[must_use]
    pub fn topic(&self) -> &TopicId {
        &self.topic
    }

    /// The endpoint.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// `projects/P/topics/T`.
    #[must_use]
    pub fn topic_name(&self) -> &str {
        &self.topic_name
    }

    /// Where publish requests go.
    #[must_use]
    pub fn publish_url(&self) -> &Uri {
        &self.publish_url
    }
}

/// Sets options and checks them all at once.
#[derive(Debug, Clone)]
pub struct PublisherOptionsBuilder {
    project: String,
    topic: String,
    endpoint: Result<String, OptionError>,
    settings: Settings,
}

impl PublisherOptionsBuilder {
    /// The base URL. Default `https://pubsub.googleapis.com`; for ordering keys use a locational
    /// one (`https://us-east1-pubsub.googleapis.com`).
    #[must_use]
    pub fn endpoint(mut self, url: &str) -> Self {
        self.endpoint = Ok(url.to_owned());
        self
    }

    /// The endpoint of an emulator, `host:port`, as `PUBSUB_EMULATOR_HOST` holds it. The variable
    /// itself is never read here.
    #[must_use]
    pub fn emulator(mut self, host: &str) -> Self {
        self.endpoint = Endpoint::emulator(host).map(|endpoint| endpoint.as_str().to_owned());
        self
    }

    /// One ordering key for every hook. Default none. It orders only with an ordering-enabled
    /// subscription through one regional endpoint, and a key carries about 1 MB/s.
    #[must_use]
    pub fn ordering_key(mut self, key: &str) -> Self {
        self.settings.ordering_key = OrderingKey::Fixed(key.to_owned());
        self
    }

    /// The ordering key as a function of the hook; an empty string means none.
    #[must_use]
    pub fn ordering_key_with(
        mut self,
        key: impl Fn(&Envelope) -> String + Send + Sync + 'static,
    ) -> Self {
        self.settings.ordering_key = OrderingKey::FromEnvelope(Arc::new(key));
        self
    }

    /// Checks every option.
    ///
    /// # Errors
    ///
    /// [`OptionError`] naming the first option that is out of range, its value and its range.
    pub fn build(self) -> Result<PublisherOptions, OptionError> {
        let project = ProjectId::new(&self.project)?;
        let topic = TopicId::new(&self.topic)?;
        let endpoint = Endpoint::new(&self.endpoint?)?;
        self.settings.check()?;
        let url = match self.settings.wire {
            Wire::Rest => {
                let path = names::topic_path(&project, &topic);
                format!("{endpoint}/v1/{path}:publish")
            }
            Wire::Grpc => format!("{endpoint}/google.pubsub.v1.Publisher/Publish"),
        };
        let publish_url = url
            .parse()
            .map_err(|_| OptionError::new("endpoint", &url, "a shorter URL"))?;
        Ok(PublisherOptions {
            // Once: every admission measures it.
            topic_name: format!("projects/{project}/topics/{topic}"),
            project,
            topic,
            endpoint,
            publish_url,
            settings: self.settings,
        })
    }
}

/// Declares the plain options once: a setter, a getter, both with the option's documentation.
macro_rules! plain_options {
    ($builder:ident, $options:ident: $($(#[$doc:meta])* $name:ident: $type:ty;)*) => {
        impl $builder {
            $($(#[$doc])* #[must_use] pub fn $name(mut self, value: $type) -> Self {
                self.settings.$name = value;
                self
            })*
        }
        impl $options {
            $($(#[$doc])* #[must_use] pub fn $name(&self) -> $type {
                self.settings.$name
            })*
        }
    };
}
pub(crate) use plain_options;

plain_options! {
    PublisherOptionsBuilder, PublisherOptions:
    /// How to speak to Pub/Sub. Default REST. gRPC sends the same messages in fewer bytes, at much
    /// the same CPU here; over REST a request needs no HTTP/2.
    wire: Wire;
    /// Whether the bodies of requests are compressed. Default off. What counts as their size, for every
    /// limit, is what they are before.
    compression: Compression;
    /// What a failed message does to the later ones of its ordering key. Default: they go on.
    ordering_on_failure: OrderingOnFailure;
    /// The most ordering keys that are remembered as stopped, with
    /// [`OrderingOnFailure::Hold`]. Default 1,024, at least 1. A stopped key costs its name and the
    /// reason it failed for, at most 10 KB. When one more fails, every ordering key is stopped
    /// until all are resumed: it could not be told any more which of them is whole.
    max_stopped_keys: usize;
    /// The largest body that travels in the message; a larger one needs a claim.
    /// Default 65,536 bytes, at least 1.
    inline_max_bytes: usize;
    /// The most data, attributes and ordering key of one message, in bytes.
    /// Default and maximum 10,000,000 (Pub/Sub's own limit), at least 1.
    max_message_bytes: usize;
    /// How long connecting may take, and how long the reply may take after that.
    /// Default 5 s, at least 1 ms.
    timeout: Duration;
    /// Whether messages may share requests. Default true; without it each is a request of its own.
    batch: bool;
    /// How long a batch waits for company after its first message came.
    /// Default 20 ms, 1 to 60,000 ms: longer means fuller requests and later messages.
    batch_linger: Duration;
    /// The most messages of one request. Default and maximum 1,000 (Pub/Sub's own limit).
    batch_max_entries: usize;
    /// The most bytes of data, before base64, of one request.
    /// Default and maximum 7,500,000, which is 10 MB as base64. A message that is larger leaves alone.
    ///
    /// Messages of 16 KiB take less memory, and some less CPU, in requests of some 500,000, which a
    /// processor's caches hold. What is in flight bounds what can be sent, though: at
    /// most [`batch_max_inflight`](Self::batch_max_inflight) requests in a round trip.
    batch_max_bytes: usize;
    /// The most messages held until they are settled. Default 4,096, at least 1.
    batch_queue_max: usize;
    /// The most bytes of messages held until they are settled. Default 128 MiB, at least 1.
    batch_queue_bytes: usize;
    /// The most messages of one tenant held until they are settled. Default 1,024, at least 1.
    /// Messages without a tenant count as one tenant's: where none has one, this is the ceiling.
    batch_queue_tenant: usize;
    /// The most batched requests in flight at once. Default 8, at least 1.
    batch_max_inflight: usize;
    /// The most direct deliveries in flight at once, one request each. Default 8, at least 1.
    sink_concurrency: usize;
    /// Whether the trace that a hook came with travels with its message: its W3C headers
    /// `traceparent` and `tracestate`, where they are well-formed, as attributes of these names.
    /// Default false. An attempt's [own trace](crate::delivery::DeliveryContext::trace_context)
    /// comes before it.
    trace_context: bool;
}

impl PublisherOptions {
    /// The ordering key of hooks.
    #[must_use]
    pub fn ordering_key(&self) -> &OrderingKey {
        &self.settings.ordering_key
    }
}

impl Settings {
    fn check(&self) -> Result<(), OptionError> {
        let any = 1..=usize::MAX;
        check("max_stopped_keys", self.max_stopped_keys, any.clone())?;
        check("inline_max_bytes", self.inline_max_bytes, any.clone())?;
        check("max_message_bytes", self.max_message_bytes, 1..=10_000_000)?;
        check_millis("timeout", self.timeout, 1..=u64::MAX)?;
        check_millis("batch_linger", self.batch_linger, 1..=60_000)?;
        check("batch_max_entries", self.batch_max_entries, 1..=1_000)?;
        check("batch_max_bytes", self.batch_max_bytes, 1..=7_500_000)?;
        check("batch_queue_max", self.batch_queue_max, any.clone())?;
        check("batch_queue_bytes", self.batch_queue_bytes, any.clone())?;
        check("batch_queue_tenant", self.batch_queue_tenant, any.clone())?;
        check("batch_max_inflight", self.batch_max_inflight, any.clone())?;
        check("sink_concurrency", self.sink_concurrency, any)?;
        self.compression.check()?;
        match &self.ordering_key {
            OrderingKey::Fixed(key) if key.len() > ORDERING_KEY_MAX_BYTES => {
                let value = format!("{} bytes long", key.len());
                let range = format!("at most {ORDERING_KEY_MAX_BYTES} bytes long");
                Err(OptionError::new("ordering_key", &value, &range))
            }
            OrderingKey::Fixed(_) | OrderingKey::None | OrderingKey::FromEnvelope(_) => Ok(()),
        }
    }
}

pub(crate) fn check(
    option: &'static str,
    value: usize,
    range: RangeInclusive<usize>,
) -> Result<(), OptionError> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(OptionError::new(
        option,
        &value.to_string(),
        &words(&range, &usize::MAX),
    ))
}

pub(crate) fn check_millis(
    option: &'static str,
    value: Duration,
    range: RangeInclusive<u64>,
) -> Result<(), OptionError> {
    let millis = u64::try_from(value.as_millis()).unwrap_or(u64::MAX);
    if range.contains(&millis) {
        return Ok(());
    }
    let value = format!("{} ms", value.as_secs_f64() * 1000.0);
    Err(OptionError::new(
        option,
        &value,
        &format!("{} ms", words(&range, &u64::MAX)),
    ))
}

fn words<N: fmt::Display + PartialEq>(range: &RangeInclusive<N>, no_end: &N) -> String {
    if range.end() == no_end {
        return format!("at least {}", range.start());
    }
    format!("{} to {}", range.start(), range.end())
}

/// An option that is out of range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("option {option} is {value:?}; it must be {expected}")]
#[non_exhaustive]
pub struct OptionError {
    /// The option.
    pub option: &'static str,
    /// The value that was refused.
    pub value: String,
    /// What it must be.
    pub expected: String,
}

impl OptionError {
    pub(crate) fn new(option: &'static str, value: &str, expected: &str) -> Self {
        Self {
            option,
            value: value.to_owned(),
            expected: expected.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests;
