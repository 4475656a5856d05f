//! What every reply means, for one message and for several.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail like tests"
)]

#[path = "publisher/classification/exchanges.rs"]
mod exchanges;
#[path = "publisher/classification/grpc.rs"]
mod grpc;
#[path = "publisher/classification/hostile.rs"]
mod hostile;
#[path = "publisher/classification/secrets.rs"]
mod secrets;
#[path = "publisher/sim/mod.rs"]
mod sim;
#[path = "publisher/classification/table.rs"]
mod table;
#[path = "publisher/classification/throttle.rs"]
mod throttle;
