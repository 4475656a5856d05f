//! What the unit tests of this module share.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::admission::{Admission, Message};
use super::entry::Entry;
use super::flushes::Flushes;
use crate::options::{PublisherOptions, PublisherOptionsBuilder};

/// `ms` after the beginning of simulated time.
pub(super) fn at(ms: u64) -> Instant {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    #[expect(
        clippy::disallowed_methods,
        reason = "simulated time has to begin somewhere"
    )]
    let origin = *ORIGIN.get_or_init(Instant::now);
    origin + Duration::from_millis(ms)
}

pub(super) fn builder() -> PublisherOptionsBuilder {
    PublisherOptions::builder("proj", "hooks")
}

/// A message of `size` bytes; `how` names its tenant, its ordering key or both, as `tenant/key`,
/// and ends in `!` where it is direct.
pub(super) fn admission(size: usize, how: &str) -> Admission {
    let direct = how.ends_with('!');
    let (tenant, key) = how.trim_end_matches('!').split_once('/').unwrap();
    let message = Message {
        ordering_key: key.into(),
        tenant: (!tenant.is_empty()).then(|| tenant.into()),
        ..Message::new(vec![b'x'; size])
    };
    Admission::message(message, &builder().batch(!direct).build().unwrap()).unwrap()
}

pub(super) fn entry(tag: u32, how: &str, arrival: Instant) -> Entry<u32> {
    Entry {
        tag,
        admission: admission(1, how),
        stretch: Flushes::<u32>::new().admit(),
        arrival,
    }
}

pub(super) fn tags(entries: &[Entry<u32>]) -> Vec<u32> {
    entries.iter().map(|entry| entry.tag).collect()
}
