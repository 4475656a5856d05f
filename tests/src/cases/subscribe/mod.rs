//! What services do with the messages of a subscription, over both wires.
//!
//! The reports' failures of subscribers are here as far as they can be met on a real wire within
//! seconds. Each has its twin on simulated time beside the machine, with more messages and for longer.

mod closing;
mod cuts;
mod leases;
mod long_handlers;
mod panics;
mod per_id;
mod replies;
mod retries;
mod round_trip;

use crate::harness::case::Case;

/// Every case of subscribing.
pub(super) const CASES: [&[Case]; 9] = [
    round_trip::CASES,
    leases::CASES,
    per_id::CASES,
    retries::CASES,
    closing::CASES,
    replies::CASES,
    panics::CASES,
    long_handlers::CASES,
    cuts::CASES,
];
