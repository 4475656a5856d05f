//! Waiting in a slot.

use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use crate::after::lock;
use crate::slots::{SlotId, Slots};

/// What has slots behind its lock.
pub(crate) trait Slotted {
    /// What comes into them.
    type Done;

    /// Takes what came into the slot, or keeps `cx` to be woken.
    fn poll_slot(&self, slot: SlotId, cx: &mut Context<'_>) -> Poll<Self::Done>;

    /// Nobody waits in the slot any more.
    fn abandon(&self, slot: SlotId);
}

/// [`Slotted::poll_slot`] where the slots are behind a lock.
pub(crate) fn poll_slot<S, D>(
    state: &Mutex<S>,
    slots: impl FnOnce(&mut S) -> &mut Slots<D>,
    slot: SlotId,
    cx: &mut Context<'_>,
) -> Poll<D> {
    let (done, replaced) = slots(&mut lock(state)).poll(slot, cx);
    // Dropping it can drop a whole task.
    drop(replaced);
    done
}

/// Waits in a slot, and leaves it when dropped.
#[derive(Debug)]
pub(crate) struct Waiter<S: Slotted> {
    shared: Arc<S>,
    slot: Option<SlotId>,
}

impl<S: Slotted> Waiter<S> {
    pub(crate) fn new(shared: &Arc<S>, slot: SlotId) -> Self {
        Self {
            shared: Arc::clone(shared),
            slot: Some(slot),
        }
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<S::Done> {
        let Some(slot) = self.slot else {
            // Polled after it was ready.
            return Poll::Pending;
        };
        let done = self.shared.poll_slot(slot, cx);
        if done.is_ready() {
            self.slot = None;
        }
        done
    }
}

impl<S: Slotted> Drop for Waiter<S> {
    fn drop(&mut self) {
        if let Some(slot) = self.slot {
            self.shared.abandon(slot);
        }
    }
}
