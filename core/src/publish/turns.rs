//! A queue that takes turns between tenants.

use std::collections::VecDeque;

use super::tenants::TenantId;

/// First in, first out for each tenant; one of each in turn across tenants. No tenant counts as
/// one tenant.
///
/// All entries lie in one place, and each knows the next one of its tenant. In a queue for each
/// tenant they would lie in as many places as there are tenants, of which no cache holds thousands.
#[derive(Debug)]
pub(super) struct Turns<E> {
    entries: Vec<Slot<E>>,
    /// Places without an entry: the one that was left first is filled next, so that entries lie in
    /// about the order they came.
    free: Chain,
    /// Each tenant's entries, in order, by its number.
    queues: Vec<Chain>,
    /// The tenants that have entries; the front one is next.
    turns: VecDeque<TenantId>,
}

/// A place, and the one that comes behind it.
#[derive(Debug)]
struct Slot<E> {
    entry: Option<E>,
    next: u32,
}

/// Places one behind the other. There are never so many that they need larger numbers: no memory
/// would hold them.
#[derive(Debug, Clone, Copy, Default)]
struct Chain {
    len: u32,
    first: u32,
    last: u32,
}

impl<E> Turns<E> {
    pub(super) fn new() -> Self {
        Self {
            entries: Vec::new(),
            free: Chain::default(),
            queues: Vec::new(),
            turns: VecDeque::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// Puts `entry` behind the others of `tenant`.
    pub(super) fn push(&mut self, tenant: TenantId, entry: E) {
        let place = self.place(entry);
        let at = tenant.index();
        if at >= self.queues.len() {
            self.queues.resize(at + 1, Chain::default());
        }
        let queue = &mut self.queues[at];
        if queue.len == 0 {
            self.turns.push_back(tenant);
        }
        queue.push(place, &mut self.entries);
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
        let queue = self.queues.get(tenant.index());
        queue.map_or(0, |queue| queue.len as usize)
    }

    /// Whether entries of other tenants than `tenant` wait.
    pub(super) fn has_others(&self, tenant: TenantId) -> bool {
        self.turns.len() > usize::from(self.waiting_of(tenant) > 0)
    }

    /// The entry whose turn it is.
    pub(super) fn peek(&self) -> Option<&E> {
        self.first_of(*self.turns.front()?)
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
        max: usize,
    ) {
        for _ in 0..max {
            let Some(&tenant) = self.turns.front() else {
                break;
            };
            if !self.first_of(tenant).is_some_and(&mut fits) {
                break;
            }
            if let Some(entry) = self.take_first(tenant) {
                into(entry);
            }
            // Whoever is alone has every turn.
            if self.waiting_of(tenant) == 0 {
                self.turns.pop_front();
            } else {
                self.turns.rotate_left(1);
            }
        }
        self.give_back();
    }

    fn first_of(&self, tenant: TenantId) -> Option<&E> {
        let queue = self.queues.get(tenant.index());
        let queue = queue.filter(|queue| queue.len > 0)?;
        self.entries.get(queue.first as usize)?.entry.as_ref()
    }

    fn take_first(&mut self, tenant: TenantId) -> Option<E> {
        let place = self.queues.get_mut(tenant.index())?.pop(&self.entries)?;
        let entry = self.entries.get_mut(place as usize)?.entry.take();
        self.free.push(place, &mut self.entries);
        entry
    }

    /// Puts `entry` in a place of its own.
    fn place(&mut self, entry: E) -> u32 {
        let entry = Some(entry);
        if let Some(place) = self.free.pop(&self.entries) {
            self.entries[place as usize].entry = entry;
            return place;
        }
        self.entries.push(Slot { entry, next: 0 });
        u32::try_from(self.entries.len() - 1).unwrap_or(u32::MAX)
    }

    /// Where nothing waits, what comes next is put from the front again, and room for much is given
    /// back.
    fn give_back(&mut self) {
        if !self.is_empty() {
            return;
        }
        if self.entries.len().max(self.queues.len()) > KEEP {
            *self = Self::new();
        } else {
            self.entries.clear();
            self.free = Chain::default();
        }
    }
}

impl Chain {
    fn push<E>(&mut self, place: u32, entries: &mut [Slot<E>]) {
        if self.len == 0 {
            self.first = place;
        } else {
            entries[self.last as usize].next = place;
        }
        self.last = place;
        self.len += 1;
    }

    fn pop<E>(&mut self, entries: &[Slot<E>]) -> Option<u32> {
        self.len = self.len.checked_sub(1)?;
        let first = self.first;
        self.first = entries[first as usize].next;
        Some(first)
    }
}

/// Room for more than so many entries, or tenants, is given back once there are none.
const KEEP: usize = 1_024;

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
        assert!(queue.is_empty() && queue.entries.is_empty());
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
    fn places_are_used_again_in_the_order_they_were_left() {
        let (mut queue, mut tenants) = (Turns::new(), Tenants::new());
        let (a, b) = (id(&mut tenants, "a"), id(&mut tenants, "b"));
        for round in 0..100 {
            queue.push(a, 2 * round);
            queue.push(b, 2 * round + 1);
            // One of each is always left.
            if round > 0 {
                let taken = [queue.pop(), queue.pop()];
                assert_eq!(taken, [Some(2 * round - 2), Some(2 * round - 1)]);
            }
        }
        assert_eq!(queue.entries.len(), 4);
        assert_eq!(drain(queue), [198, 199]);
    }

    #[test]
    fn room_for_many_entries_or_tenants_is_given_back_and_room_for_few_is_kept() {
        for (tenants, entries, kept) in [(1, 100, true), (1, KEEP + 1, false), (KEEP + 1, 1, false)]
        {
            let (mut queue, mut ids) = (Turns::new(), Tenants::new());
            for tenant in 0..tenants {
                let tenant = id(&mut ids, &tenant.to_string());
                (0..entries).for_each(|entry| queue.push(tenant, entry));
            }
            while queue.pop().is_some() {}
            let room = [
                queue.entries.capacity(),
                queue.queues.capacity(),
                queue.turns.capacity(),
            ];
            assert_eq!(room.map(|room| room > 0), [kept; 3]);
        }
    }
}
