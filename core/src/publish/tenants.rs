//! The tenants whose messages are held, numbered.

use std::collections::HashMap;
use std::num::NonZeroU32;

use foldhash::fast::FixedState;

use crate::text::Text;

/// A tenant's number for as long as it has a message that is not settled: what is done for each
/// message asks for the number, and only its admission for the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TenantId(NonZeroU32);

impl TenantId {
    /// Messages without a tenant, which count as one tenant's.
    pub(super) const NONE: Self = Self(NonZeroU32::MIN);

    /// Its place in a table of tenants. Numbers are used again, so such a table has no more places
    /// than there were tenants at a time.
    pub(super) fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// Counts the messages of each tenant. A tenant without any costs nothing.
#[derive(Debug)]
pub(super) struct Tenants {
    /// Only looked up, never iterated; hashed without a random key, so that the core stays
    /// deterministic. Tenants that collide cost time and nothing else.
    numbers: HashMap<Text, TenantId, FixedState>,
    /// By number.
    held: Vec<Held>,
    free: Vec<TenantId>,
    len: usize,
}

#[derive(Debug)]
struct Held {
    /// Empty for [`TenantId::NONE`], which has no name.
    name: Text,
    messages: usize,
}

impl Tenants {
    pub(super) fn new() -> Self {
        let none = Held {
            name: Text::new(""),
            messages: 0,
        };
        Self {
            numbers: HashMap::default(),
            held: vec![none],
            free: Vec::new(),
            len: 0,
        }
    }

    /// How many tenants have a message.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Counts one more message of the tenant, unless it has `max` already.
    pub(super) fn admit(&mut self, name: Option<&Text>, max: usize) -> Option<TenantId> {
        let known = match name {
            None => Some(TenantId::NONE),
            Some(name) => self.numbers.get(name).copied(),
        };
        let id = match known {
            Some(id) if self.held[id.index()].messages >= max => return None,
            None if max == 0 => return None,
            Some(id) => id,
            None => self.number(name?)?,
        };
        let held = &mut self.held[id.index()];
        self.len += usize::from(held.messages == 0);
        held.messages += 1;
        Some(id)
    }

    /// One message of the tenant is settled.
    pub(super) fn release(&mut self, id: TenantId) {
        let held = &mut self.held[id.index()];
        held.messages -= 1;
        if held.messages > 0 {
            return;
        }
        self.len -= 1;
        if id != TenantId::NONE {
            self.numbers.remove(&held.name);
            held.name = Text::new("");
            self.free.push(id);
        }
        if self.len == 0 && self.held.len() > KEEP {
            *self = Self::new();
        }
    }

    /// A number for a tenant that has none. There is always one: four billion tenants do not fit
    /// any memory.
    fn number(&mut self, name: &Text) -> Option<TenantId> {
        let held = Held {
            name: name.clone(),
            messages: 0,
        };
        let id = match self.free.pop() {
            Some(id) => {
                self.held[id.index()] = held;
                id
            }
            None => {
                let number = u32::try_from(self.held.len() + 1).ok();
                let id = TenantId(number.and_then(NonZeroU32::new)?);
                self.held.push(held);
                id
            }
        };
        self.numbers.insert(name.clone(), id);
        Some(id)
    }
}

/// Below this many, unused places are kept for the next burst.
const KEEP: usize = 1_024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_a_tenants_until_its_last_message_is_settled() {
        let (a, b) = (Text::new("a"), Text::new("b"));
        let mut tenants = Tenants::new();
        let first = tenants.admit(Some(&a), 2).unwrap();
        assert_eq!(tenants.admit(Some(&a), 2), Some(first));
        assert_eq!(tenants.admit(Some(&a), 2), None);
        let none = tenants.admit(None, 2).unwrap();
        assert_eq!(none, TenantId::NONE);
        assert_eq!(tenants.len(), 2);
        tenants.release(first);
        assert_eq!(tenants.admit(Some(&a), 2), Some(first));
        tenants.release(first);
        tenants.release(first);
        tenants.release(none);
        assert_eq!((tenants.len(), tenants.numbers.len()), (0, 0));
        // The number is used again, by whoever comes.
        assert_eq!(tenants.admit(Some(&b), 2), Some(first));
        assert_eq!(tenants.held.len(), 2);
    }

    #[test]
    fn an_empty_tenant_name_is_not_the_same_as_no_tenant() {
        let mut tenants = Tenants::new();
        let empty = tenants.admit(Some(&Text::new("")), 1).unwrap();
        assert_ne!(empty, TenantId::NONE);
        assert!(tenants.admit(None, 1).is_some());
        assert_eq!(tenants.admit(None, 1), None);
    }

    #[test]
    fn the_memory_of_many_tenants_is_given_back() {
        let mut tenants = Tenants::new();
        let ids: Vec<_> = (0..2 * KEEP)
            .map(|n| tenants.admit(Some(&Text::new(&n.to_string())), 1).unwrap())
            .collect();
        assert_eq!(tenants.len(), 2 * KEEP);
        ids.into_iter().for_each(|id| tenants.release(id));
        assert_eq!((tenants.len(), tenants.held.len()), (0, 1));
        assert_eq!(tenants.free.capacity(), 0);
    }
}
