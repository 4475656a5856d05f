//! The bytes of a request.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail like tests"
)]

#[path = "publisher/bodies/grpc.rs"]
mod grpc;
#[path = "publisher/bodies/gzip.rs"]
mod gzip;
#[path = "publisher/bodies/head.rs"]
mod head;
#[path = "publisher/bodies/pinned.rs"]
mod pinned;
#[path = "publisher/bodies/properties.rs"]
mod properties;
#[path = "publisher/sim/mod.rs"]
mod sim;
