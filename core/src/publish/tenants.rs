//! A queue that takes turns between tenants.

use std::collections::{HashMap, VecDeque};

use foldhash::fast::FixedState;

use crate::text::Text;

/// First in, first out for each tenant; one of each in turn across tenants. No tenant counts as
/// one tenant. A tenant with nothing waiting costs nothing.
#[derive(Debug)]
pub(super) struct TenantQueue<E> {
    /// Each tenant's entries, in order. Only looked up, never iterated; hashed without a random key,
    /// so that the core stays deterministic. Tenants that collide cost time and nothing else.
    waiting: HashMap<Option<Text>, VecDeque<E>, FixedState>,
    /// The tenants that have entries; the front one is next.
    turns: VecDeque<Option<Text>>,
}

impl<E> TenantQueue<E> {
    pub(super) fn new() -> Self {
        Self {
            waiting: HashMap::default(),
            turns: VecDeque::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// Puts `entry` behind the others of `tenant`.
    pub(super) fn push(&mut self, tenant: Option<Text>, entry: E) {
        let queue = self.waiting.entry(tenant.clone()).or_default();
        if queue.is_empty() {
            self.turns.push_back(tenant);
        }
        queue.push_back(entry);
    }

    /// The entry whose turn it is.
    pub(super) fn peek(&self) -> Option<&E> {
        self.waiting.get(self.turns.front()?)?.front()
    }

    /// Takes the entry whose turn it is; the next turn is another tenant's.
    pub(super) fn pop(&mut self) -> Option<E> {
        let tenant = self.turns.pop_front()?;
        let queue = self.waiting.get_mut(&tenant)?;
        let entry = queue.pop_front()?;
        if queue.is_empty() {
            self.waiting.remove(&tenant);
        } else {
            self.turns.push_back(tenant);
        }
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(entries: &[(&str, u32)]) -> TenantQueue<u32> {
        let mut queue = TenantQueue::new();
        for (tenant, entry) in entries {
            let tenant = (!tenant.is_empty()).then(|| Text::new(tenant));
            queue.push(tenant, *entry);
        }
        queue
    }

    fn drain(mut queue: TenantQueue<u32>) -> Vec<u32> {
        let mut order = Vec::new();
        while let Some(next) = queue.peek().copied() {
            assert_eq!(queue.pop(), Some(next));
            order.push(next);
        }
        assert!(queue.is_empty() && queue.waiting.is_empty() && queue.turns.is_empty());
        order
    }

    #[test]
    fn tenants_take_turns_and_each_keeps_its_order() {
        let queue = queue(&[("a", 1), ("a", 2), ("a", 3), ("b", 4), ("", 5), ("b", 6)]);
        assert_eq!(drain(queue), [1, 4, 5, 2, 6, 3]);
    }

    #[test]
    fn one_tenant_alone_is_served_in_order() {
        assert_eq!(drain(queue(&[("a", 1), ("a", 2), ("a", 3)])), [1, 2, 3]);
    }

    #[test]
    fn a_tenant_that_comes_late_waits_one_turn() {
        let mut queue = queue(&[("a", 1), ("a", 2), ("a", 3)]);
        assert_eq!(queue.pop(), Some(1));
        queue.push(Some(Text::new("b")), 9);
        assert_eq!(drain(queue), [2, 9, 3]);
    }

    #[test]
    fn an_empty_tenant_name_is_not_the_same_as_no_tenant() {
        let mut queue = TenantQueue::new();
        queue.push(None, 1);
        queue.push(None, 2);
        queue.push(Some(Text::new("")), 3);
        assert_eq!(drain(queue), [1, 3, 2]);
    }
}
