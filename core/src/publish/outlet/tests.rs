use super::*;
use crate::publish::flushes::Flushes;
use crate::publish::tenants::Tenants;
use crate::publish::testing::{admission, at, builder, entry_of, tags};
use std::collections::VecDeque;
use std::time::Duration;

use proptest::prelude::*;

/// An outlet, and the tenants of its messages.
struct Queue(Outlet<u32>, Tenants);

impl Queue {
    fn new(lingers: bool) -> Self {
        let options = builder().batch_max_entries(3).build().unwrap();
        let limits = BatchLimits::batched(&options);
        Self(Outlet::new(limits, lingers), Tenants::new())
    }

    fn push(&mut self, tag: u32, tenant: &str, ms: u64) {
        let entry = entry_of(&mut self.1, tag, &format!("{tenant}/"), at(ms));
        self.0.push(entry.arrival, entry.member, entry.body);
    }

    fn due(&self) -> Option<Instant> {
        self.0.due(&Linger::new(Duration::from_millis(20)))
    }

    fn take(&mut self) -> Vec<u32> {
        tags(&self.0.take())
    }
}

#[test]
fn it_is_due_a_linger_after_the_oldest_or_at_once_when_full() {
    let mut queue = Queue::new(true);
    assert_eq!(queue.due(), None);
    queue.push(1, "a", 5);
    queue.push(2, "a", 9);
    assert_eq!(queue.due(), Some(at(25)));
    queue.push(3, "b", 10);
    assert_eq!(queue.due(), Some(at(5)));
    queue.push(4, "c", 11);
    // In turns: a's second message is left, and it is older than c's would be.
    assert_eq!(queue.take(), [1, 3, 4]);
    assert_eq!(queue.due(), Some(at(29)));
    assert_eq!(queue.take(), [2]);
    assert!(queue.take().is_empty());
    assert_eq!(queue.due(), None);
}

#[test]
fn without_a_linger_it_is_due_at_once() {
    let mut queue = Queue::new(false);
    queue.push(1, "", 7);
    assert_eq!(queue.due(), Some(at(7)));
}

/// A message that waits: its tag, its size and when it came.
type Waiting = (u32, usize, u64);

/// What an outlet is to do, message by message: tenants take turns, and the first that does not fit
/// ends a request.
#[derive(Default)]
struct Model {
    /// The next turn first.
    turns: VecDeque<(u8, VecDeque<Waiting>)>,
}

impl Model {
    fn push(&mut self, tenant: u8, message: Waiting) {
        match self.turns.iter_mut().find(|(other, _)| *other == tenant) {
            Some((_, queue)) => queue.push_back(message),
            None => self.turns.push_back((tenant, [message].into())),
        }
    }

    fn take(&mut self, entries: usize, bytes: usize) -> Vec<u32> {
        let (mut taken, mut filled) = (Vec::new(), 0);
        while let Some((tenant, mut queue)) = self.turns.pop_front() {
            let (tag, size, _) = queue[0];
            if taken.len() == entries || (!taken.is_empty() && filled + size > bytes) {
                self.turns.push_front((tenant, queue));
                break;
            }
            filled += size;
            taken.push(tag);
            queue.pop_front();
            if !queue.is_empty() {
                self.turns.push_back((tenant, queue));
            }
        }
        taken
    }

    fn oldest(&self) -> Option<Instant> {
        let waiting = self.turns.iter().flat_map(|(_, queue)| queue);
        waiting.map(|(_, _, ms)| at(*ms)).min()
    }
}

proptest! {
    /// However often a tenant is alone, and is not.
    #[test]
    fn messages_leave_as_if_each_had_waited_for_its_turn(
        entries in 1_usize..5,
        steps in prop::collection::vec((0_u8..12, 1_usize..6, 0_u64..2), 0..200),
    ) {
        let options = builder().batch_max_entries(entries).batch_max_bytes(10).build().unwrap();
        let mut outlet = Outlet::new(BatchLimits::batched(&options), false);
        let (mut model, mut tenants, mut now) = (Model::default(), Tenants::new(), 0);
        for (tag, (step, size, passed)) in (0..).zip(steps) {
            now += passed;
            // Most messages are one tenant's, so that it often has some requests' worth.
            let tenant = match step {
                0..6 => 0,
                6..9 => step - 5,
                _ => {
                    prop_assert_eq!(tags(&outlet.take()), model.take(entries, 10));
                    continue;
                }
            };
            let admission = admission(size, &format!("{tenant}/"));
            let id = tenants.admit(admission.tenant(), usize::MAX).unwrap();
            let (member, body) = Member::new(tag, admission, id, Flushes::<u32>::new().admit());
            outlet.push(at(now), member, body);
            model.push(tenant, (tag, size, now));
            prop_assert_eq!(outlet.due(&Linger::new(Duration::ZERO)), model.oldest());
        }
        while !model.turns.is_empty() {
            prop_assert_eq!(tags(&outlet.take()), model.take(entries, 10));
            prop_assert_eq!(outlet.due(&Linger::new(Duration::ZERO)), model.oldest());
        }
        prop_assert_eq!(outlet.take().len(), 0);
    }
}
