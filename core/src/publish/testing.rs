//! What the unit tests of this module share.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::admission::{Admission, Message};
use super::entry::{Batch, Entry, Kind, Member};
use super::flushes::Flushes;
use super::tenants::{TenantId, Tenants};
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

/// Its tenant is the first there is, or none.
pub(super) fn entry(tag: u32, how: &str, arrival: Instant) -> Entry<u32> {
    entry_of(&mut Tenants::new(), tag, how, arrival)
}

pub(super) fn entry_of(tenants: &mut Tenants, tag: u32, how: &str, arrival: Instant) -> Entry<u32> {
    let admission = admission(1, how);
    let tenant = tenants.admit(admission.tenant(), usize::MAX);
    let (tenant, stretch) = (
        tenant.unwrap_or(TenantId::NONE),
        Flushes::<u32>::new().admit(),
    );
    let kind = Kind::of(&admission);
    let (member, body) = Member::new(tag, admission, tenant, stretch);
    Entry {
        kind,
        arrival,
        member,
        body,
    }
}

pub(super) fn tags(batch: &Batch<u32>) -> Vec<u32> {
    let members = batch.members.iter().flatten();
    members.map(|member| member.tag).collect()
}
