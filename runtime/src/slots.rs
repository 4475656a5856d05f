//! Where outcomes wait for whoever awaits them: slots that are used again, not a channel for
//! each message.

use std::task::{Context, Poll, Waker};

/// A slot's number. Four billion would not fit any memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SlotId(u32);

impl SlotId {
    fn new(index: usize) -> Self {
        Self(u32::try_from(index).unwrap_or(u32::MAX))
    }

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A slot for a `D`.
#[derive(Debug)]
enum Slot<D> {
    Free,
    /// Nothing came yet; whoever waits is woken.
    Waiting(Option<Waker>),
    Done(D),
    /// Nobody waits any more.
    Abandoned,
}

/// All slots of a machine.
#[derive(Debug)]
pub(crate) struct Slots<D> {
    slots: Vec<Slot<D>>,
    free: Vec<SlotId>,
}

impl<D> Default for Slots<D> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
        }
    }
}

/// Below this many, unused slots are kept for the next burst.
const KEEP: usize = 8_192;

impl<D> Slots<D> {
    /// A slot to wait in.
    pub(crate) fn open(&mut self) -> SlotId {
        let slot = Slot::Waiting(None);
        if let Some(id) = self.free.pop() {
            self.slots[id.index()] = slot;
            return id;
        }
        self.slots.push(slot);
        SlotId::new(self.slots.len() - 1)
    }

    /// Puts the outcome into the slot; gives back whom to wake.
    pub(crate) fn fill(&mut self, id: SlotId, done: D) -> Option<Waker> {
        match std::mem::replace(&mut self.slots[id.index()], Slot::Done(done)) {
            Slot::Waiting(waker) => waker,
            Slot::Abandoned => {
                self.close(id);
                None
            }
            Slot::Free | Slot::Done(_) => None,
        }
    }

    /// Takes the outcome, or keeps `cx` to be woken. Gives back the waker that it replaces.
    pub(crate) fn poll(&mut self, id: SlotId, cx: &mut Context<'_>) -> (Poll<D>, Option<Waker>) {
        let slot = &mut self.slots[id.index()];
        if let Slot::Waiting(waker) = slot {
            let known = waker.as_ref();
            let replaced = match known.is_some_and(|known| known.will_wake(cx.waker())) {
                true => None,
                false => waker.replace(cx.waker().clone()),
            };
            return (Poll::Pending, replaced);
        }
        let slot = std::mem::replace(slot, Slot::Free);
        self.freed(id);
        match slot {
            Slot::Done(done) => (Poll::Ready(done), None),
            // A slot is opened by one future, which reads it once.
            Slot::Free | Slot::Abandoned | Slot::Waiting(_) => (Poll::Pending, None),
        }
    }

    /// Nobody waits any more; gives back whom it would have woken. A message goes on its way all
    /// the same.
    pub(crate) fn abandon(&mut self, id: SlotId) -> Option<Waker> {
        let slot = &mut self.slots[id.index()];
        match slot {
            Slot::Waiting(waker) => {
                let waker = waker.take();
                *slot = Slot::Abandoned;
                return waker;
            }
            Slot::Done(_) => self.close(id),
            Slot::Free | Slot::Abandoned => {}
        }
        None
    }

    /// The slots that somebody may still wait in.
    pub(crate) fn waiting(&self) -> Vec<SlotId> {
        let slots = self.slots.iter().enumerate();
        slots
            .filter(|(_, slot)| matches!(slot, Slot::Waiting(_)))
            .map(|(index, _)| SlotId::new(index))
            .collect()
    }

    /// Frees a slot that nobody waits in.
    pub(crate) fn close(&mut self, id: SlotId) {
        self.slots[id.index()] = Slot::Free;
        self.freed(id);
    }

    fn freed(&mut self, id: SlotId) {
        self.free.push(id);
        if self.free.len() == self.slots.len() && self.slots.len() > KEEP {
            *self = Self::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Flushed;

    fn poll(slots: &mut Slots<Flushed>, id: SlotId) -> Poll<Flushed> {
        slots.poll(id, &mut Context::from_waker(Waker::noop())).0
    }

    #[test]
    fn a_slot_is_used_again_once_it_was_read() {
        let mut slots = Slots::default();
        let first = slots.open();
        assert!(poll(&mut slots, first).is_pending());
        assert!(slots.fill(first, Flushed).is_some());
        assert!(poll(&mut slots, first).is_ready());
        assert_eq!(slots.open(), first);
        assert_eq!(slots.slots.len(), 1);
    }

    #[test]
    fn an_abandoned_slot_is_freed_when_its_outcome_comes_and_not_before() {
        let mut slots = Slots::default();
        let early = slots.open();
        slots.abandon(early);
        assert_ne!(slots.open(), early);
        assert!(slots.fill(early, Flushed).is_none());
        assert_eq!(slots.open(), early);
    }

    #[test]
    fn an_outcome_nobody_reads_frees_its_slot() {
        let mut slots = Slots::default();
        let late = slots.open();
        slots.fill(late, Flushed);
        slots.abandon(late);
        assert_eq!(slots.open(), late);
    }

    #[test]
    fn the_memory_of_a_large_burst_is_given_back() {
        let mut slots = Slots::default();
        let all: Vec<_> = (0..=KEEP).map(|_| slots.open()).collect();
        for id in all {
            slots.fill(id, Flushed);
            assert!(poll(&mut slots, id).is_ready());
        }
        assert_eq!(slots.slots.capacity(), 0);
    }
}
