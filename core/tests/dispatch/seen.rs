//! What a simulation saw.

use std::collections::BTreeMap;
use std::time::Duration;

use pubsink_core::claim::ClaimRef;
use pubsink_core::dispatch::{Accepted, BreakerState, EnqueueError, Settled};
use pubsink_core::journal::ReplayJob;

/// What was seen, for tests to look at.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) accepted: Vec<(u64, Result<Accepted, EnqueueError>)>,
    /// When, which sink, which hook, which attempt.
    pub(crate) attempts: Vec<(Duration, String, String, u32)>,
    /// Of each attempt: which sink, which hook, which claim.
    pub(crate) claims: Vec<(String, String, Option<ClaimRef>)>,
    pub(crate) delivered: Vec<(String, String)>,
    pub(crate) settled: Vec<Settled>,
    pub(crate) breakers: Vec<(Duration, String, BreakerState)>,
    pub(crate) journal_errors: Vec<&'static str>,
    pub(crate) replays: Vec<ReplayJob>,
    pub(crate) unknown_sinks: Vec<String>,
    pub(crate) aborted: usize,
    pub(crate) most_rows: usize,
    pub(crate) most_bytes: usize,
    pub(crate) most_counted: BTreeMap<String, usize>,
    pub(crate) steps: usize,
}
