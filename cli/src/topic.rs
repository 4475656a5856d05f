//! The flags that name a topic and set a publisher's options.

use std::time::Duration;

use clap::{Args, ValueEnum};
use pubsink_core::envelope::Envelope;
use pubsink_core::options::{
    Compression, Endpoint, OptionError, OrderingOnFailure, PublisherOptions,
    PublisherOptionsBuilder, Wire,
};

use crate::exit::CommandError;

const EMULATOR_HOST: &str = "PUBSUB_EMULATOR_HOST";

/// Where to publish.
#[derive(Debug, Args)]
pub(crate) struct Topic {
    /// The project's id
    #[arg(long, value_name = "P")]
    pub(crate) project: String,
    /// The topic's short id
    #[arg(long, value_name = "T")]
    pub(crate) topic: String,
    /// The service's URL [default: PUBSUB_EMULATOR_HOST where that is set, else
    /// https://pubsub.googleapis.com]
    #[arg(long, value_name = "URL")]
    pub(crate) endpoint: Option<String>,
}

impl Topic {
    /// Its full name, `projects/P/topics/T`.
    pub(crate) fn name(&self) -> Result<String, CommandError> {
        let (options, _) = self.options()?;
        Ok(build(options)?.topic_name().to_owned())
    }

    /// Options for the topic, and whether it is an emulator's, named by `PUBSUB_EMULATOR_HOST`.
    pub(crate) fn options(&self) -> Result<(PublisherOptionsBuilder, bool), CommandError> {
        let options = PublisherOptions::builder(&self.project, &self.topic);
        Ok(match Place::of(self.endpoint.as_deref())? {
            Place::Default => (options, false),
            Place::Url(url) => (options.endpoint(url), false),
            Place::Emulator(host) => (options.emulator(&host), true),
        })
    }
}

/// Where the service is.
pub(crate) enum Place<'a> {
    /// Where it always is.
    Default,
    /// Where `--endpoint` says.
    Url(&'a str),
    /// It is the emulator, at host:port, that `PUBSUB_EMULATOR_HOST` names.
    Emulator(String),
}

impl<'a> Place<'a> {
    /// What `--endpoint` says, else the variable.
    pub(crate) fn of(endpoint: Option<&'a str>) -> Result<Self, CommandError> {
        if let Some(url) = endpoint {
            return Ok(Self::Url(url));
        }
        let host = std::env::var_os(EMULATOR_HOST).unwrap_or_default();
        if host.is_empty() {
            return Ok(Self::Default);
        }
        // What is set, however wrong, must never lead to the real service.
        let wrong = |expected: &str| {
            CommandError(format!("{EMULATOR_HOST} must be host:port, or {expected}"))
        };
        let host = host.to_str().ok_or_else(|| wrong("at least text"))?;
        match Endpoint::emulator(host) {
            Ok(_) => Ok(Self::Emulator(host.to_owned())),
            Err(OptionError { expected, .. }) => Err(wrong(expected.as_ref())),
        }
    }
}

/// One flag for each of the publisher's options.
#[derive(Debug, Args)]
#[command(next_help_heading = "Publisher options")]
pub(crate) struct PublisherFlags {
    #[command(flatten)]
    wire: WireFlag,
    #[command(flatten)]
    gzip: GzipFlags,
    /// One ordering key for every hook; none by default
    #[arg(long, value_name = "K", conflicts_with = "ordering_key_header")]
    ordering_key: Option<String>,
    /// Take the ordering key from this header of the hook; none where it is missing
    #[arg(long, value_name = "NAME")]
    ordering_key_header: Option<String>,
    /// What follows for a key when a hook of it fails: continue, or hold the rest back [default:
    /// continue]
    #[arg(long, value_name = "WHAT", hide_possible_values = true)]
    ordering_on_failure: Option<OnFailure>,
    /// The most keys remembered as stopped; when one more fails, all are [default: 1024]
    #[arg(long, value_name = "N")]
    max_stopped_keys: Option<usize>,
    /// The largest body that travels in the message [default: 65536]
    #[arg(long, value_name = "BYTES")]
    inline_max_bytes: Option<usize>,
    /// The most data, attributes and ordering key of one message [default: 10000000]
    #[arg(long, value_name = "BYTES")]
    max_message_bytes: Option<usize>,
    /// How long connecting may take, and the reply after it [default: 5000]
    #[arg(long, value_name = "MS")]
    timeout_ms: Option<u64>,
    /// Send each hook in a request of its own
    #[arg(long)]
    no_batch: bool,
    /// How long a batch waits for company [default: 20]
    #[arg(long, value_name = "MS")]
    batch_linger_ms: Option<u64>,
    /// The most hooks of one request [default: 1000]
    #[arg(long, value_name = "N")]
    batch_max_entries: Option<usize>,
    /// The most bytes of data, before base64, of one request [default: 7500000]
    #[arg(long, value_name = "BYTES")]
    batch_max_bytes: Option<usize>,
    /// The most hooks held until they are settled [default: 4096]
    #[arg(long, value_name = "N")]
    batch_queue_max: Option<usize>,
    /// The most bytes of hooks held until they are settled [default: 134217728]
    #[arg(long, value_name = "BYTES")]
    batch_queue_bytes: Option<usize>,
    /// The most hooks of one tenant held until they are settled [default: 1024]
    #[arg(long, value_name = "N")]
    batch_queue_tenant: Option<usize>,
    /// The most batched requests in flight [default: 8]
    #[arg(long, value_name = "N")]
    batch_max_inflight: Option<usize>,
    /// The most unbatched requests in flight [default: 8]
    #[arg(long, value_name = "N")]
    sink_concurrency: Option<usize>,
    /// Send the trace that a hook came with, its headers traceparent and tracestate, as attributes
    /// of its message
    #[arg(long)]
    trace_context: bool,
}

impl PublisherFlags {
    /// Sets what was given, and checks it all.
    pub(crate) fn apply(
        &self,
        options: PublisherOptionsBuilder,
    ) -> Result<PublisherOptions, CommandError> {
        type Builder = PublisherOptionsBuilder;
        fn set<V>(options: Builder, value: Option<V>, set: fn(Builder, V) -> Builder) -> Builder {
            match value {
                Some(value) => set(options, value),
                None => options,
            }
        }
        let ms = |value: Option<u64>| value.map(Duration::from_millis);
        let on_failure = self.ordering_on_failure.map(OrderingOnFailure::from);
        let options = set(options, on_failure, Builder::ordering_on_failure);
        let options = set(options, self.max_stopped_keys, Builder::max_stopped_keys);
        let options = set(options, self.inline_max_bytes, Builder::inline_max_bytes);
        let options = set(options, self.max_message_bytes, Builder::max_message_bytes);
        let options = set(options, ms(self.timeout_ms), Builder::timeout);
        let options = self.gzip.apply(self.wire.apply(options));
        let options = options
            .batch(!self.no_batch)
            .trace_context(self.trace_context);
        let options = set(options, ms(self.batch_linger_ms), Builder::batch_linger);
        let options = set(options, self.batch_max_entries, Builder::batch_max_entries);
        let options = set(options, self.batch_max_bytes, Builder::batch_max_bytes);
        let options = set(options, self.batch_queue_max, Builder::batch_queue_max);
        let options = set(options, self.batch_queue_bytes, Builder::batch_queue_bytes);
        let options = set(
            options,
            self.batch_queue_tenant,
            Builder::batch_queue_tenant,
        );
        let options = set(
            options,
            self.batch_max_inflight,
            Builder::batch_max_inflight,
        );
        let mut options = set(options, self.sink_concurrency, Builder::sink_concurrency);
        if let Some(key) = &self.ordering_key {
            options = options.ordering_key(key);
        }
        if let Some(name) = self.ordering_key_header.clone() {
            options = options.ordering_key_with(move |envelope| header(envelope, &name));
        }
        build(options)
    }
}

/// The wire that is published over.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct WireFlag {
    /// How to speak to Pub/Sub
    #[arg(long, value_enum, default_value_t = WireName::Rest)]
    wire: WireName,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum WireName {
    /// JSON, over HTTP/1.1
    Rest,
    /// gRPC: protobuf, over HTTP/2, in three quarters of the bytes
    Grpc,
}

impl WireFlag {
    pub(crate) fn apply(self, options: PublisherOptionsBuilder) -> PublisherOptionsBuilder {
        options.wire(match self.wire {
            WireName::Rest => Wire::Rest,
            WireName::Grpc => Wire::Grpc,
        })
    }
}

/// Which requests are compressed.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct GzipFlags {
    /// Compress requests of more than BYTES by gzip; those that get no smaller are sent as they are
    /// [default: none are compressed]
    #[arg(long, value_name = "BYTES")]
    gzip_above: Option<usize>,
    /// How much work goes into compressing, from 1, the least, to 9 [default: 1]
    #[arg(long, value_name = "N", requires = "gzip_above")]
    gzip_level: Option<u8>,
}

impl GzipFlags {
    pub(crate) fn apply(self, options: PublisherOptionsBuilder) -> PublisherOptionsBuilder {
        let Some(above) = self.gzip_above else {
            return options;
        };
        let level = self.gzip_level.unwrap_or(Compression::GZIP_LEVEL);
        options.compression(Compression::Gzip { above, level })
    }
}

/// What a failed hook does to the later ones of its ordering key.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum OnFailure {
    /// They go on; the failed one, tried again, is stored behind them
    Continue,
    /// They fail too, unsent; each hook of a key is tried once
    Hold,
}

impl From<OnFailure> for OrderingOnFailure {
    fn from(on_failure: OnFailure) -> Self {
        match on_failure {
            OnFailure::Continue => Self::Continue,
            OnFailure::Hold => Self::Hold,
        }
    }
}

/// Checks the options; what is wrong is said of the flag.
pub(crate) fn build(options: PublisherOptionsBuilder) -> Result<PublisherOptions, CommandError> {
    options.build().map_err(|error| {
        let flag = error.option.replace('_', "-");
        let unit = if matches!(error.option, "timeout" | "batch_linger") {
            "-ms"
        } else {
            ""
        };
        let OptionError {
            value, expected, ..
        } = error;
        CommandError(format!(
            "--{flag}{unit} is {value:?}; it must be {expected}"
        ))
    })
}

/// The first header of that name, where it is text.
fn header(envelope: &Envelope, name: &str) -> String {
    let mut headers = envelope.headers.iter();
    let found = headers.find(|(known, _)| known.eq_ignore_ascii_case(name));
    let value = found.and_then(|(_, value)| std::str::from_utf8(value).ok());
    value.unwrap_or_default().to_owned()
}
