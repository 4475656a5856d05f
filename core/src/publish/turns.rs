//! A queue that takes turns between tenants.

use std::collections::VecDeque;

use super::tenants::TenantId;

/// First in, first out for each tenant; one of each in turn across tenants. No tenant counts as
/// one tenant.
#[derive(Debug)]
pub(super) struct Turns<E> {
    /// Each tenant's entries, in order, by its number.
    queues: Vec<VecDeque<E>>,
    /// The tenants that have entries; the front one is next.
    turns: VecDeque<TenantId>,
    /// The room of a queue that ran empty, for the next one that fills.
    spare: VecDeque<E>,
}

impl<E> Turns<E> {
    pub(super) fn new() -> Self {
        Self {
            queues: Vec::new(),
            turns: VecDeque::new(),
            spare: VecDeque::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// Puts `entry` behind the others of `tenant`.
    pub(super) fn push(&mut self, tenant: TenantId, entry: E) {
        let at = tenant.index();
        if at >= self.queues.len() {
            self.queues.resize_with(at + 1, VecDeque::new);
        }
        let queue = &mut self.queues[at];
        if queue.is_empty() {
            self.turns.push_back(tenant);
            std::mem::swap(queue, &mut self.spare);
        }
        queue.push_back(entry);
    }

    /// Puts `entry` behind the others of `tenant`, which has the next turn where it has none.
    pub(super) fn push_next(&mut self, tenant: TenantId, entry: E) {
        let first = self.waiting_of(tenant) == 0;
        self.push(tenant, entry);
        if first {
            self.turns.rotate_right(1);
        }
    }

    /// How many entries of `tenant` wait.
    pub(super) fn waiting_of(&self, tenant: TenantId) -> usize {
        self.queues.get(tenant.index()).map_or(0, VecDeque::len)
    }

    /// Whether entries of other tenants than `tenant` wait.
    pub(super) fn has_others(&self, tenant: TenantId) -> bool {
        self.turns.len() > usize::from(self.waiting_of(tenant) > 0)
    }

    /// The entry whose turn it is.
    pub(super) fn peek(&self) -> Option<&E> {
        self.queues.get(self.turns.front()?.index())?.front()
    }

    /// Takes the entry whose turn it is; the next turn is another tenant's.
    pub(super) fn pop(&mut self) -> Option<E> {
        let mut taken = None;
        self.take_while(|_| true, |entry| taken = Some(entry), 1);
        taken
    }

    /// Takes entries in their turns, at most `max`, as long as `fits` says yes to the next: it is
    /// asked once for each. Gives each to `into`.
    pub(super) fn take_while(
        &mut self,
        mut fits: impl FnMut(&E) -> bool,
        mut into: impl FnMut(E),
        mut max: usize,
    ) {
        while let Some(&tenant) = self.turns.front() {
            let Some(queue) = self.queues.get_mut(tenant.index()) else {
                return;
            };
            // Whoever is alone has every turn.
            let run = if self.turns.len() == 1 {
                max
            } else {
                max.min(1)
            };
            let next = queue.iter().take(run);
            let count = next.take_while(|entry| fits(entry)).count();
            if count == 0 {
                return;
            }
            max -= count;
            queue.drain(..count).for_each(&mut into);
            self.turns.pop_front();
            if !queue.is_empty() {
                self.turns.push_back(tenant);
            } else {
                self.recycle(tenant);
            }
            if count < run {
                return;
            }
        }
    }

    /// Keeps the room of a queue that ran empty. A tenant with nothing waiting has none.
    fn recycle(&mut self, tenant: TenantId) {
        let empty = std::mem::take(&mut self.queues[tenant.index()]);
        if (self.spare.capacity()..=KEEP).contains(&empty.capacity()) {
            self.spare = empty;
        }
        if self.turns.is_empty() && self.queues.len() > KEEP {
            self.queues = Vec::new();
            self.turns = VecDeque::new();
        }
    }
}

/// Room for more than this many is given back once it is not used.
const KEEP: usize = 4_096;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::publish::tenants::Tenants;
    use crate::text::Text;

    fn queue(entries: &[(&str, u32)]) -> Turns<u32> {
        let (mut queue, mut tenants) = (Turns::new(), Tenants::new());
        for (tenant, entry) in entries {
            queue.push(id(&mut tenants, tenant), *entry);
        }
        queue
    }

    fn id(tenants: &mut Tenants, tenant: &str) -> TenantId {
        let tenant = (!tenant.is_empty()).then(|| Text::new(tenant));
        tenants.admit(tenant.as_ref(), usize::MAX).unwrap()
    }

    fn drain(mut queue: Turns<u32>) -> Vec<u32> {
        let mut order = Vec::new();
        while let Some(next) = queue.peek().copied() {
            assert_eq!(queue.pop(), Some(next));
            order.push(next);
        }
        assert!(queue.is_empty() && queue.queues.iter().all(|queue| queue.capacity() == 0));
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
        let (mut queue, mut tenants) = (Turns::new(), Tenants::new());
        let (a, b) = (id(&mut tenants, "a"), id(&mut tenants, "b"));
        [1, 2, 3].into_iter().for_each(|entry| queue.push(a, entry));
        assert_eq!(queue.pop(), Some(1));
        queue.push(b, 9);
        assert_eq!(drain(queue), [2, 9, 3]);
    }

    #[test]
    fn taking_stops_at_the_first_that_does_not_fit_whoevers_it_is() {
        let all = [("a", 1), ("b", 2), ("a", 3), ("a", 4), ("a", 5)];
        for (below, max, expected) in [
            (5, 9, vec![1, 2, 3, 4]),
            (3, 9, vec![1, 2]),
            (9, 3, vec![1, 2, 3]),
            (9, 5, vec![1, 2, 3, 4, 5]),
            (1, 9, vec![]),
            (9, 0, vec![]),
        ] {
            let (mut queue, mut taken, mut asked) = (queue(&all), Vec::new(), 0);
            let fits = |entry: &u32| {
                asked += 1;
                *entry < below
            };
            queue.take_while(fits, |entry| taken.push(entry), max);
            assert_eq!(taken, expected);
            assert!(asked <= taken.len() + 1);
            let rest: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
            assert_eq!([taken, rest].concat(), [1, 2, 3, 4, 5]);
        }
    }

    #[test]
    fn a_queue_that_ran_empty_leaves_its_room_to_the_next_unless_it_is_large() {
        let mut queue = Turns::new();
        for (entries, kept) in [(10, true), (KEEP + 1, false)] {
            (0..entries).for_each(|entry| queue.push(TenantId::NONE, entry));
            while queue.pop().is_some() {}
            assert_eq!(queue.spare.capacity() >= entries, kept);
        }
    }

    #[test]
    fn room_for_many_tenants_is_given_back() {
        let (mut queue, mut tenants) = (Turns::new(), Tenants::new());
        for tenant in 0..=KEEP {
            queue.push(id(&mut tenants, &tenant.to_string()), 0);
        }
        while queue.pop().is_some() {}
        assert_eq!((queue.queues.capacity(), queue.turns.capacity()), (0, 0));
    }
}
