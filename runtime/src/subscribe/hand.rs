//! What a delivery, its lease and whoever drives it share.

use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use pubsink_core::subscribe::{DeliveryId, LeaseLost, SettleError};
use pubsink_core::text::Text;

use crate::after::{After, with};
use crate::slots::{SlotId, Slots};
use crate::waiter::{Slotted, poll_slot};

/// One message in hand, without the message: whoever waits to hear what became of it keeps nothing
/// else. The lock is held for moments; who is woken is woken after it.
#[derive(Debug)]
pub(crate) struct Hand {
    pub(crate) id: DeliveryId,
    pub(crate) subscription: Text,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    lost: Option<LeaseLost>,
    /// Those who wait for the lease to be lost.
    watching: Slots<LeaseLost>,
    settled: Settled,
}

/// What became of the settlement.
#[derive(Debug, Default)]
enum Settled {
    #[default]
    Unknown,
    Awaited(Waker),
    Known(Result<(), SettleError>),
}

impl Hand {
    pub(crate) fn new(id: DeliveryId, subscription: Text) -> Self {
        Self {
            id,
            subscription,
            state: Mutex::default(),
        }
    }

    pub(super) fn lost(&self) -> Option<LeaseLost> {
        self.with(|state, _| state.lost.clone())
    }

    /// A slot that is filled when the lease is lost; the cause, where it is.
    pub(super) fn watch(&self) -> Result<SlotId, LeaseLost> {
        self.with(|state, _| match &state.lost {
            Some(cause) => Err(cause.clone()),
            None => Ok(state.watching.open()),
        })
    }

    /// The lease is lost. The first cause stays; nothing is lost of what is settled.
    pub(super) fn lose(&self, cause: &LeaseLost) {
        self.with(|state, after| {
            if state.lost.is_some() || matches!(state.settled, Settled::Known(_)) {
                return;
            }
            state.lost = Some(cause.clone());
            for slot in state.watching.waiting() {
                after.wake.extend(state.watching.fill(slot, cause.clone()));
            }
        });
    }

    /// It is known what became of the settlement. The first word stays.
    pub(super) fn settled(&self, result: Result<(), SettleError>) {
        self.with(|state, after| {
            if matches!(state.settled, Settled::Known(_)) {
                return;
            }
            let known = Settled::Known(result);
            if let Settled::Awaited(waker) = std::mem::replace(&mut state.settled, known) {
                after.wake.push(waker);
            }
        });
    }

    pub(super) fn poll_settled(&self, cx: &mut Context<'_>) -> Poll<Result<(), SettleError>> {
        self.with(|state, after| {
            if let Settled::Known(result) = &state.settled {
                return Poll::Ready(result.clone());
            }
            let awaited = Settled::Awaited(cx.waker().clone());
            if let Settled::Awaited(replaced) = std::mem::replace(&mut state.settled, awaited) {
                after.drop(Some(replaced));
            }
            Poll::Pending
        })
    }

    fn with<T>(&self, work: impl FnOnce(&mut State, &mut After) -> T) -> T {
        with(&self.state, work)
    }
}

impl Slotted for Hand {
    type Done = LeaseLost;

    fn poll_slot(&self, slot: SlotId, cx: &mut Context<'_>) -> Poll<LeaseLost> {
        poll_slot(&self.state, |state| &mut state.watching, slot, cx)
    }

    fn abandon(&self, slot: SlotId) {
        self.with(|state, after| after.drop(state.watching.abandon(slot)));
    }
}
