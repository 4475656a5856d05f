//! What the handles, the driver and its tasks share: the machine, behind one lock.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use pubsink_core::failure::{Class, Failure};
#[cfg(not(feature = "test-util"))]
pub(crate) use pubsink_core::publish::Publisher as Machine;
use pubsink_core::publish::{
    Admission, Gauges, Input, Output, PublishRequest, RequestId, Step, WaitReason,
};
use pubsink_core::reason::{Reason, TransportKind};
#[cfg(feature = "test-util")]
pub(crate) use pubsink_core::testing::trace::Tapped as Machine;
use pubsink_core::token::Token;

use crate::slots::{Done, SlotId, Slots};

/// The machine and whoever waits for it. The lock is held for moments and never across an await.
#[derive(Debug)]
pub(crate) struct Shared {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    machine: Machine<SlotId>,
    slots: Slots,
    /// The driver has something to look at.
    notified: bool,
    driver: Option<Waker>,
    /// Tasks that answered since the driver last looked.
    answered: Vec<RequestId>,
    /// The driver ended: nothing more is sent.
    ended: bool,
}

/// What the driver has to do.
#[derive(Debug)]
pub(crate) enum Action {
    Authorize(RequestId, Option<Token>),
    Send(PublishRequest),
    Cancel(RequestId),
}

/// What one look at the machine gave.
#[derive(Debug)]
pub(crate) struct Turn {
    /// Tasks that ended before these actions.
    pub(crate) answered: Vec<RequestId>,
    pub(crate) actions: Vec<Action>,
    pub(crate) until: Option<Instant>,
    pub(crate) closed: bool,
}

impl Shared {
    pub(crate) fn new(machine: Machine<SlotId>) -> Self {
        Self {
            state: Mutex::new(State {
                machine,
                slots: Slots::default(),
                notified: false,
                driver: None,
                answered: Vec::new(),
                ended: false,
            }),
        }
    }

    /// Admits a message, or refuses it at once.
    pub(crate) fn admit(&self, now: Instant, admission: Admission) -> Result<SlotId, Failure> {
        let mut state = self.lock();
        if state.ended {
            return Err(driver_ended());
        }
        let slot = state.slots.open();
        if let Err((slot, failure)) = state.machine.try_admit(now, slot, admission) {
            state.slots.close(slot);
            return Err(failure);
        }
        state.notify();
        Ok(slot)
    }

    /// Opens a slot that is filled once everything admitted so far is settled; none is needed
    /// when the driver has ended.
    pub(crate) fn flush(&self, now: Instant) -> Option<SlotId> {
        let mut state = self.lock();
        if state.ended {
            return None;
        }
        let slot = state.slots.open();
        state.input(now, Input::Flush { tag: slot });
        Some(slot)
    }

    pub(crate) fn close(&self, now: Instant, deadline: Option<Instant>) {
        self.lock().input(now, Input::Close { deadline });
    }

    pub(crate) fn poll_slot(&self, slot: SlotId, cx: &mut Context<'_>) -> Poll<Done> {
        self.lock().slots.poll(slot, cx)
    }

    pub(crate) fn abandon(&self, slot: SlotId) {
        self.lock().slots.abandon(slot);
    }

    pub(crate) fn gauges(&self) -> (Gauges, bool) {
        let state = self.lock();
        (state.machine.gauges(), !state.ended)
    }

    /// A task of request `id` ended with `input`.
    pub(crate) fn answer(&self, now: Instant, id: RequestId, input: Input<SlotId>) {
        let mut state = self.lock();
        state.answered.push(id);
        state.input(now, input);
    }

    /// Resolves once something happened since the last turn.
    pub(crate) fn poll_notified(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        if std::mem::take(&mut state.notified) {
            return Poll::Ready(());
        }
        state.driver = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Polls the machine until it waits, and hands out what it settled.
    pub(crate) fn turn(&self, now: Instant) -> Turn {
        let mut wakers = Vec::new();
        let mut state = self.lock();
        let turn = state.turn(now, &mut wakers);
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
        turn
    }

    /// The driver ends. Whatever is still held is settled, as well as is known.
    pub(crate) fn end(&self, now: Instant) {
        let mut wakers = Vec::new();
        let mut state = self.lock();
        state.ended = true;
        let unsettled = state.machine.gauges().messages;
        state.input(
            now,
            Input::Close {
                deadline: Some(now),
            },
        );
        state.turn(now, &mut wakers);
        drop(state);
        if unsettled > 0 {
            tracing::warn!(
                unsettled,
                "the publisher's driver ended before all messages were settled"
            );
        }
        wakers.into_iter().for_each(Waker::wake);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The machine does not panic; if it did, its callers still want their outcomes.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn input(&mut self, now: Instant, input: Input<SlotId>) {
        if let Err(misuse) = self.machine.handle(now, input) {
            tracing::error!(%misuse, "a fault of the driver");
        }
        self.notify();
    }

    /// Wakes the driver, once for all that happens before it looks.
    fn notify(&mut self) {
        self.notified = true;
        if let Some(driver) = self.driver.take() {
            driver.wake();
        }
    }

    fn turn(&mut self, now: Instant, wakers: &mut Vec<Waker>) -> Turn {
        self.notified = false;
        let answered = std::mem::take(&mut self.answered);
        let mut actions = Vec::new();
        loop {
            let output = match self.machine.poll(now) {
                Step::Do(output) => output,
                Step::Wait(until, reason) => {
                    return Turn {
                        answered,
                        actions,
                        until,
                        closed: reason == WaitReason::Closed,
                    };
                }
            };
            match output {
                Output::Authorize { request, refused } => {
                    actions.push(Action::Authorize(request, refused));
                }
                Output::Send(request) => actions.push(Action::Send(request)),
                Output::Cancel(request) => actions.push(Action::Cancel(request)),
                Output::Settled { tag, outcome } => {
                    wakers.extend(self.slots.fill(tag, Done::Settled(outcome)));
                }
                Output::Flushed { tag } => wakers.extend(self.slots.fill(tag, Done::Flushed)),
                other => tracing::error!(?other, "an output this driver does not know"),
            }
        }
    }
}

/// What a message gets when nobody is there to send it.
pub(crate) fn driver_ended() -> Failure {
    Failure::new(
        Class::Transient,
        Reason::Transport {
            transport: TransportKind::Closed,
            detail: "the publisher's driver has ended (its runtime shut down?)".into(),
        },
    )
}
