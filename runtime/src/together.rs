//! The outcomes of messages that are published together, until all of them are known.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Instant;

use pubsink_core::failure::{Failure, Outcome};
use pubsink_core::publish::Admission;

use crate::after::let_go;
use crate::delivery::Deliveries;
use crate::shared::{Shared, driver_ended};
use crate::slots::SlotId;

/// Groups of messages, by the slot that all of a group's outcomes go to.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    groups: Vec<Option<Box<Group>>>,
    open: usize,
}

#[derive(Debug)]
struct Group {
    outcomes: Vec<Option<Outcome>>,
    /// Outcomes that are missing, and one more for as long as messages join.
    missing: usize,
}

impl Groups {
    /// A group that messages join until it is sealed.
    pub(crate) fn begin(&mut self, slot: SlotId) {
        let at = slot.index();
        if at >= self.groups.len() {
            self.groups.resize_with(at + 1, || None);
        }
        self.groups[at] = Some(Box::new(Group {
            outcomes: Vec::new(),
            missing: 1,
        }));
        self.open += 1;
    }

    /// One more message joins: its place in the group.
    pub(crate) fn join(&mut self, slot: SlotId) -> u32 {
        let Some(group) = self.group(slot) else {
            return 0;
        };
        group.missing += 1;
        group.outcomes.push(None);
        u32::try_from(group.outcomes.len() - 1).unwrap_or(u32::MAX)
    }

    /// No more messages join. All outcomes, where none is missing.
    pub(crate) fn seal(&mut self, slot: SlotId) -> Option<Box<[Outcome]>> {
        self.group(slot)?.missing -= 1;
        self.end(slot)
    }

    /// Whether the outcomes of a slot's messages go to a group.
    pub(crate) fn has(&self, slot: SlotId) -> bool {
        matches!(self.groups.get(slot.index()), Some(Some(_)))
    }

    /// An outcome is known. All of them, where none is missing.
    pub(crate) fn set(
        &mut self,
        slot: SlotId,
        place: u32,
        outcome: Outcome,
    ) -> Option<Box<[Outcome]>> {
        let group = self.group(slot)?;
        if let Some(known) = group.outcomes.get_mut(place as usize) {
            *known = Some(outcome);
            group.missing -= 1;
        }
        self.end(slot)
    }

    fn group(&mut self, slot: SlotId) -> Option<&mut Group> {
        self.groups.get_mut(slot.index())?.as_deref_mut()
    }

    fn end(&mut self, slot: SlotId) -> Option<Box<[Outcome]>> {
        if self.group(slot)?.missing > 0 {
            return None;
        }
        let group = self.groups.get_mut(slot.index())?.take()?;
        self.open -= 1;
        if self.open == 0 {
            self.groups = Vec::new();
        }
        let outcomes = group.outcomes.into_iter();
        Some(
            outcomes
                .map(|outcome| outcome.unwrap_or_else(|| Err(driver_ended())))
                .collect(),
        )
    }
}

/// How many messages are admitted under one lock: it is held for moments.
const RUN: usize = 64;

/// Admits messages, some at a time, whose outcomes come together. The messages are asked for
/// without a lock: making one may be the user's code.
pub(crate) fn admit(
    shared: &Arc<Shared>,
    now: impl Fn() -> Instant,
    admissions: impl IntoIterator<Item = Result<Admission, Failure>>,
) -> Deliveries {
    let slot = shared.begin();
    let deliveries = Deliveries::new(shared, slot);
    let _sealing = Sealing(shared, slot);
    let mut admissions = admissions.into_iter().fuse();
    let mut run = Vec::new();
    loop {
        let asked = || run.extend(admissions.by_ref().take(RUN));
        let asked = catch_unwind(AssertUnwindSafe(asked));
        if run.is_empty() && asked.is_ok() {
            return deliveries;
        }
        for refusal in shared.join(&now, slot, run.drain(..)) {
            shared.metrics.refused(&refusal.0);
            let_go(refusal);
        }
        // Those that were made before the one that panicked go on their way.
        if let Err(panic) = asked {
            resume_unwind(panic);
        }
    }
}

/// Seals a group, also where making one of its messages panics.
struct Sealing<'a>(&'a Shared, SlotId);

impl Drop for Sealing<'_> {
    fn drop(&mut self) {
        self.0.seal(self.1);
    }
}

#[cfg(test)]
mod tests {
    use pubsink_core::failure::Class;
    use pubsink_core::options::PublisherOptions;
    use pubsink_core::publish::Message;

    use super::*;
    use crate::shared::Machine;
    use crate::slots::Slots;
    use crate::waiter::Slotted as _;

    fn outcome(transient: bool) -> Outcome {
        let mut failure = driver_ended();
        if !transient {
            failure.class = Class::Permanent;
        }
        Err(failure)
    }

    fn classes(outcomes: Option<Box<[Outcome]>>) -> Option<Vec<bool>> {
        let transient = |outcome: &Outcome| matches!(outcome, Err(failure) if failure.class == Class::Transient);
        outcomes.map(|all| all.iter().map(transient).collect())
    }

    #[test]
    fn all_are_known_once_none_is_missing_and_no_more_join_whichever_is_last() {
        let (mut slots, mut groups) = (Slots::<()>::default(), Groups::default());
        let (first, second) = (slots.open(), slots.open());
        groups.begin(first);
        groups.begin(second);
        let places = [groups.join(first), groups.join(first)];
        assert_eq!(classes(groups.set(first, places[1], outcome(false))), None);
        assert_eq!(classes(groups.seal(first)), None);
        assert!(groups.has(first) && groups.has(second));
        let all = groups.set(first, places[0], outcome(true));
        assert_eq!(classes(all), Some(vec![true, false]));
        assert!(!groups.has(first));

        let place = groups.join(second);
        assert_eq!(classes(groups.set(second, place, outcome(true))), None);
        assert_eq!(classes(groups.seal(second)), Some(vec![true]));
        assert_eq!(groups.groups.capacity(), 0);
    }

    #[test]
    fn a_group_that_nobody_joined_is_known_at_once() {
        let (mut slots, mut groups) = (Slots::<()>::default(), Groups::default());
        let slot = slots.open();
        groups.begin(slot);
        assert_eq!(classes(groups.seal(slot)), Some(Vec::new()));
        assert_eq!(classes(groups.seal(slot)), None);
    }

    /// The slot that is opened next. It is free again after this.
    fn next_slot(shared: &Shared) -> SlotId {
        let slot = shared.begin();
        shared.seal(slot);
        shared.abandon(slot);
        slot
    }

    #[test]
    fn a_slot_is_free_once_its_outcomes_are_known_and_nobody_waits_for_them() {
        let options = PublisherOptions::builder("p", "hooks").build().unwrap();
        let machine = Machine::new(Arc::new(options.clone()), false, 1);
        let shared = Arc::new(Shared::new(machine));
        let publish = |count, panics| {
            let admissions = (0..count).map(|number| {
                assert!(number < panics, "no more");
                Admission::message(Message::new("one"), &options)
            });
            admit(&shared, Instant::now, admissions)
        };
        let free = next_slot(&shared);
        drop(publish(0, 0));
        assert_eq!(next_slot(&shared), free);
        catch_unwind(AssertUnwindSafe(|| publish(1, 0))).unwrap_err();
        assert_eq!(next_slot(&shared), free);

        drop(publish(100, 100));
        let second = next_slot(&shared);
        assert_ne!(second, free);
        catch_unwind(AssertUnwindSafe(|| publish(100, 70))).unwrap_err();
        assert_ne!(next_slot(&shared), second);
        assert_eq!(shared.gauges().0.messages, 170);

        shared.end(Instant::now());
        let slots = [shared.begin(), shared.begin()];
        assert!(slots.contains(&free) && slots.contains(&second));
    }
}
