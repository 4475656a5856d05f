//! The first line of a trace: what the machine was made of.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::line::nanos;
use crate::options::{OptionError, OrderingOnFailure, PublisherOptions, Wire};

/// The version of the form.
pub(super) const VERSION: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Setup {
    pub(super) pubsink_trace: u32,
    pub(super) authorize: bool,
    pub(super) seed: u64,
    options: Options,
}

/// The options that the machine knows; what a hook becomes is in the admissions.
#[derive(Debug, Serialize, Deserialize)]
struct Options {
    project: String,
    topic: String,
    endpoint: String,
    /// Traces from before there was gRPC have none, and neither has REST.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    grpc: bool,
    timeout_ns: u64,
    batch: bool,
    batch_linger_ns: u64,
    batch_max_entries: usize,
    batch_max_bytes: usize,
    batch_queue_max: usize,
    batch_queue_bytes: usize,
    batch_queue_tenant: usize,
    batch_max_inflight: usize,
    sink_concurrency: usize,
    /// With `OrderingOnFailure::Hold`: the most stopped keys. Traces from before there was that
    /// option have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hold_max_stopped_keys: Option<usize>,
}

impl Setup {
    pub(super) fn new(options: &PublisherOptions, authorize: bool, seed: u64) -> Self {
        let options = Options {
            project: options.project().to_string(),
            topic: options.topic().to_string(),
            endpoint: options.endpoint().as_str().to_owned(),
            grpc: options.wire() == Wire::Grpc,
            timeout_ns: nanos(options.timeout()),
            batch: options.batch(),
            batch_linger_ns: nanos(options.batch_linger()),
            batch_max_entries: options.batch_max_entries(),
            batch_max_bytes: options.batch_max_bytes(),
            batch_queue_max: options.batch_queue_max(),
            batch_queue_bytes: options.batch_queue_bytes(),
            batch_queue_tenant: options.batch_queue_tenant(),
            batch_max_inflight: options.batch_max_inflight(),
            sink_concurrency: options.sink_concurrency(),
            hold_max_stopped_keys: match options.ordering_on_failure() {
                OrderingOnFailure::Hold => Some(options.max_stopped_keys()),
                OrderingOnFailure::Continue => None,
            },
        };
        Self {
            pubsink_trace: VERSION,
            authorize,
            seed,
            options,
        }
    }

    pub(super) fn options(&self) -> Result<PublisherOptions, OptionError> {
        let options = &self.options;
        let mut builder = PublisherOptions::builder(&options.project, &options.topic);
        if let Some(max) = options.hold_max_stopped_keys {
            builder = builder
                .ordering_on_failure(OrderingOnFailure::Hold)
                .max_stopped_keys(max);
        }
        if options.grpc {
            builder = builder.wire(Wire::Grpc);
        }
        builder
            .endpoint(&options.endpoint)
            .timeout(Duration::from_nanos(options.timeout_ns))
            .batch(options.batch)
            .batch_linger(Duration::from_nanos(options.batch_linger_ns))
            .batch_max_entries(options.batch_max_entries)
            .batch_max_bytes(options.batch_max_bytes)
            .batch_queue_max(options.batch_queue_max)
            .batch_queue_bytes(options.batch_queue_bytes)
            .batch_queue_tenant(options.batch_queue_tenant)
            .batch_max_inflight(options.batch_max_inflight)
            .sink_concurrency(options.sink_concurrency)
            .build()
    }
}
