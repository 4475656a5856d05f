//! What a publisher holds, from admission to settlement, and how much it may.

use super::tenants::{TenantId, Tenants};
use crate::options::PublisherOptions;
use crate::reason::{Ceiling, Reason};
use crate::text::Text;

/// Counts what is held against the three ceilings.
#[derive(Debug)]
pub(super) struct Ceilings {
    max_entries: usize,
    max_bytes: usize,
    max_tenant: usize,
    entries: usize,
    bytes: usize,
    tenants: Tenants,
}

impl Ceilings {
    pub(super) fn new(options: &PublisherOptions) -> Self {
        Self {
            max_entries: options.batch_queue_max(),
            max_bytes: options.batch_queue_bytes(),
            max_tenant: options.batch_queue_tenant(),
            entries: 0,
            bytes: 0,
            tenants: Tenants::new(),
        }
    }

    /// Counts one more message of `tenant`, or says which ceiling it would pass.
    ///
    /// A message larger than the ceiling itself is taken when nothing else is held: refused, it
    /// could never be sent.
    pub(super) fn admit(
        &mut self,
        tenant: Option<&Text>,
        bytes: usize,
    ) -> Result<TenantId, Reason> {
        let full = |ceiling, max| Err(Reason::BatchQueueFull { ceiling, max });
        if self.entries >= self.max_entries {
            return full(Ceiling::Entries, self.max_entries);
        }
        if self.entries > 0 && self.bytes.saturating_add(bytes) > self.max_bytes {
            return full(Ceiling::Bytes, self.max_bytes);
        }
        let Some(tenant) = self.tenants.admit(tenant, self.max_tenant) else {
            return full(Ceiling::Tenant, self.max_tenant);
        };
        self.entries += 1;
        self.bytes += bytes;
        Ok(tenant)
    }

    /// One message of `tenant` is settled.
    pub(super) fn release(&mut self, tenant: TenantId, bytes: usize) {
        self.tenants.release(tenant);
        self.entries -= 1;
        self.bytes -= bytes;
    }

    pub(super) fn entries(&self) -> usize {
        self.entries
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn tenants(&self) -> usize {
        self.tenants.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ceilings(entries: usize, bytes: usize, tenant: usize) -> Ceilings {
        let options = PublisherOptions::builder("p", "hooks")
            .batch_queue_max(entries)
            .batch_queue_bytes(bytes)
            .batch_queue_tenant(tenant);
        Ceilings::new(&options.build().unwrap())
    }

    fn refused(result: Result<TenantId, Reason>) -> Ceiling {
        match result {
            Err(Reason::BatchQueueFull { ceiling, .. }) => ceiling,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_ceiling_refuses_what_passes_it_and_takes_again_after_a_release() {
        let (a, b) = (Text::new("a"), Text::new("b"));
        let mut held = ceilings(3, 10, 2);
        held.admit(Some(&a), 4).unwrap();
        let first = held.admit(Some(&a), 4).unwrap();
        assert_eq!(refused(held.admit(Some(&a), 1)), Ceiling::Tenant);
        assert_eq!(refused(held.admit(None, 3)), Ceiling::Bytes);
        held.admit(None, 2).unwrap();
        assert_eq!(refused(held.admit(Some(&b), 0)), Ceiling::Entries);
        held.release(first, 4);
        held.admit(Some(&a), 4).unwrap();
        assert_eq!((held.entries(), held.bytes(), held.tenants()), (3, 10, 2));
    }

    #[test]
    fn a_refusal_counts_nothing_and_an_idle_tenant_costs_nothing() {
        let mut held = ceilings(8, 100, 1);
        let none = held.admit(None, 60).unwrap();
        assert!(held.admit(Some(&Text::new("a")), 60).is_err());
        assert_eq!((held.entries(), held.bytes(), held.tenants()), (1, 60, 1));
        held.release(none, 60);
        assert_eq!((held.entries(), held.bytes(), held.tenants()), (0, 0, 0));
    }

    #[test]
    fn a_message_over_the_ceiling_is_taken_alone() {
        let mut held = ceilings(8, 100, 8);
        held.admit(None, 500).unwrap();
        assert_eq!(refused(held.admit(None, 1)), Ceiling::Bytes);
    }
}
