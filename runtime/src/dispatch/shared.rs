//! What the handles, the driver and its tasks share: the machine, behind one lock.

use std::sync::Mutex;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use pubsink_core::dispatch::{
    BreakerState, DispatchGauges, DispatchInput, DispatchOutput, DispatchWait, Dispatcher,
    EnqueueError, Hook,
};
use pubsink_core::publish::Step;
use pubsink_core::text::Text;

use super::acceptance::Done;
use super::tasks::TaskId;
use crate::after::{After, with};
use crate::metrics::{DispatchMetrics, DispatchTally};
use crate::slots::{SlotId, Slots};
use crate::waiter::{Slotted, poll_slot};

/// The machine and whoever waits for it. The lock is held for moments and never across an await.
pub(super) struct Shared {
    pub(super) metrics: DispatchMetrics,
    state: Mutex<State>,
}

struct State {
    machine: Dispatcher<SlotId>,
    slots: Slots<Done>,
    /// The driver has something to look at.
    notified: bool,
    driver: Option<Waker>,
    /// Attempts and check-ins that ended since the driver last looked.
    tasks_ended: Vec<TaskId>,
    /// The driver ended: nothing more is done.
    ended: bool,
}

/// What one look at the machine gave.
pub(super) struct Turn {
    /// Attempts and check-ins that ended before these outputs.
    pub(super) ended: Vec<TaskId>,
    /// Without those that tell somebody who waits: he was told.
    pub(super) outputs: Vec<DispatchOutput<SlotId>>,
    /// The time of the turn, unix milliseconds.
    pub(super) unix_ms: i64,
    pub(super) until: Option<Instant>,
    pub(super) closed: bool,
}

impl Shared {
    pub(super) fn new(machine: Dispatcher<SlotId>, metrics: DispatchMetrics) -> Self {
        Self {
            metrics,
            state: Mutex::new(State {
                machine,
                slots: Slots::default(),
                notified: false,
                driver: None,
                tasks_ended: Vec::new(),
                ended: false,
            }),
        }
    }

    /// Takes a hook, or refuses it at once.
    pub(super) fn enqueue(&self, now: Instant, hook: Hook) -> Result<SlotId, EnqueueError> {
        let enqueued = self.with(|state, after| {
            if state.ended {
                return Err(EnqueueError::Closed);
            }
            let slot = state.slots.open();
            if let Err((slot, error)) = state.machine.try_enqueue(now, slot, hook) {
                state.slots.close(slot);
                return Err(error);
            }
            state.notify(after);
            Ok(slot)
        });
        if let Err(error) = &enqueued {
            self.metrics.refused(error);
        }
        enqueued
    }

    /// A slot for the answer to a call; none when there is nobody to make it.
    pub(super) fn open(&self) -> Option<SlotId> {
        self.with(|state, _| (!state.ended).then(|| state.slots.open()))
    }

    /// What a call came to, for whoever made it, and what the machine has to know of it.
    pub(super) fn answer(
        &self,
        now: Instant,
        slot: SlotId,
        done: Done,
        input: Option<DispatchInput<SlotId>>,
    ) {
        self.with(|state, after| {
            // Every slot was filled when the driver ended, and may be somebody else's by now.
            if state.ended {
                return;
            }
            if let Some(input) = input {
                state.input(now, input, after);
            }
            after.wake.extend(state.slots.fill(slot, done));
        });
    }

    /// Something happened that the machine has to know, if it is still there.
    pub(super) fn input(&self, now: Instant, input: DispatchInput<SlotId>) {
        self.happened(now, None, input);
    }

    /// An attempt or a check-in ended, with what it came to.
    pub(super) fn task_ended(&self, now: Instant, task: TaskId, input: DispatchInput<SlotId>) {
        self.happened(now, Some(task), input);
    }

    fn happened(&self, now: Instant, task: Option<TaskId>, input: DispatchInput<SlotId>) {
        // What nobody wants any more is dropped by us, not under the lock.
        let _unwanted = self.with(|state, after| {
            if state.ended {
                return Some(input);
            }
            state.tasks_ended.extend(task);
            state.input(now, input, after);
            None
        });
    }

    pub(super) fn gauges(&self) -> (DispatchGauges, bool) {
        self.with(|state, _| (state.machine.gauges(), !state.ended))
    }

    pub(super) fn breakers(&self) -> Vec<(Text, BreakerState)> {
        self.with(|state, _| state.machine.breakers())
    }

    /// Resolves once something happened since the last turn.
    pub(super) fn poll_notified(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.with(|state, after| {
            if std::mem::take(&mut state.notified) {
                return Poll::Ready(());
            }
            after.drop(state.driver.replace(cx.waker().clone()));
            Poll::Pending
        })
    }

    /// Polls the machine until it waits, and tells those who wait for it.
    pub(super) fn turn(&self, now: Instant) -> Turn {
        let (turn, tally) = self.with(|state, after| state.turn(now, after));
        self.metrics.turn(&tally, &turn.outputs);
        turn
    }

    /// The driver ends. Whoever still waits is told.
    pub(super) fn end(&self, now: Instant) {
        let (left, (_turn, tally)) = self.with(|state, after| {
            let left = (!state.machine.is_closed()).then(|| state.machine.gauges());
            let deadline = Some(now);
            state.input(now, DispatchInput::Close { deadline }, after);
            // Tells those that the machine can tell more than that. What else it wants done is
            // dropped by the caller, not under the lock.
            let turn = state.turn(now, after);
            state.ended = true;
            for slot in state.slots.waiting() {
                after.wake.extend(state.slots.fill(slot, Done::Closed));
            }
            after.drop(state.driver.take());
            (left, turn)
        });
        self.metrics.ended(&tally);
        if let Some(left) = left.filter(|left| left.intake + left.rows > 0) {
            tracing::warn!(
                hooks = left.intake,
                rows = left.rows,
                "the dispatcher's driver ended before it was closed"
            );
        }
    }

    /// Does something under the lock, and what may run foreign code after it.
    fn with<T>(&self, work: impl FnOnce(&mut State, &mut After) -> T) -> T {
        with(&self.state, work)
    }
}

impl Slotted for Shared {
    type Done = Done;

    fn poll_slot(&self, slot: SlotId, cx: &mut Context<'_>) -> Poll<Done> {
        poll_slot(&self.state, |state| &mut state.slots, slot, cx)
    }

    fn abandon(&self, slot: SlotId) {
        self.with(|state, after| after.drop(state.slots.abandon(slot)));
    }
}

impl State {
    fn input(&mut self, now: Instant, input: DispatchInput<SlotId>, after: &mut After) {
        if let Err(misuse) = self.machine.handle(now, input) {
            after.fault = Some(misuse.to_string());
        }
        after.drop(self.machine.take_let_go());
        self.notify(after);
    }

    /// Wakes the driver, once for all that happens before it looks.
    fn notify(&mut self, after: &mut After) {
        self.notified = true;
        after.wake.extend(self.driver.take());
    }

    fn turn(&mut self, now: Instant, after: &mut After) -> (Turn, DispatchTally) {
        self.notified = false;
        let mut tally = DispatchTally::default();
        let ended = std::mem::take(&mut self.tasks_ended);
        let mut outputs = Vec::new();
        loop {
            match self.machine.poll(now) {
                Step::Do(DispatchOutput::Accepted { tag, result }) => {
                    tally.accepted(&result);
                    let done = Done::Accepted(result);
                    after.wake.extend(self.slots.fill(tag, done));
                }
                Step::Do(output) => outputs.push(output),
                Step::Wait(until, reason) => {
                    after.drop(self.machine.take_let_go());
                    let machine = &self.machine;
                    tally.holds(|| (machine.gauges(), machine.oldest_due_age(now)));
                    let turn = Turn {
                        ended,
                        outputs,
                        unix_ms: self.machine.unix_ms(now),
                        until,
                        closed: reason == DispatchWait::Closed,
                    };
                    return (turn, tally);
                }
            }
        }
    }
}
