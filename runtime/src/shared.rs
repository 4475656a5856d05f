//! What the handles, the driver and its tasks share: the machine, behind one lock.

use std::sync::Mutex;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use pubsink_core::failure::{Class, Delivered, Diagnostics, Failure, MessageId, Outcome};
#[cfg(not(feature = "test-util"))]
pub(crate) use pubsink_core::publish::Publisher as Machine;
use pubsink_core::publish::{
    Admission, Gauges, Input, Output, PublishRequest, RequestId, Step, WaitReason,
};
use pubsink_core::reason::{Reason, StoppedKey, TransportKind};
#[cfg(feature = "test-util")]
pub(crate) use pubsink_core::testing::trace::Tapped as Machine;
use pubsink_core::token::Token;

use crate::after::{After, let_go, lock, wake, with};
use crate::buffers::Buffers;
use crate::delivery::Done;
use crate::metrics::{PublishMetrics, PublishTally};
use crate::slots::{SlotId, Slots};
use crate::together::Groups;
use crate::waiter::{Slotted, poll_slot};

/// The machine and whoever waits for it. The lock is held for moments and never across an await.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) metrics: PublishMetrics,
    pub(crate) buffers: Buffers,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    machine: Machine<Mark>,
    slots: Slots<Done>,
    groups: Groups,
    /// The driver has something to look at, since then.
    notified: Option<Instant>,
    driver: Option<Waker>,
    /// Tasks that answered since the driver last looked.
    answered: Vec<RequestId>,
    /// It was shut down: whatever comes is refused for that.
    shut_down: bool,
    /// The driver ended: nothing more is sent.
    ended: bool,
}

/// What the machine knows a message or a flush by: the slot of its outcome, and where that is of
/// several messages its place among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    slot: SlotId,
    place: u32,
}

impl From<SlotId> for Mark {
    fn from(slot: SlotId) -> Self {
        Self { slot, place: 0 }
    }
}

/// Why a message was refused, and the message where there was one.
pub(crate) type Refusal = Box<(Failure, Option<Admission>)>;

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
    pub(crate) fn new(machine: Machine<Mark>) -> Self {
        Self {
            metrics: PublishMetrics::new(machine.options().topic_name()),
            buffers: Buffers::default(),
            state: Mutex::new(State {
                machine,
                slots: Slots::default(),
                groups: Groups::default(),
                notified: None,
                driver: None,
                answered: Vec::new(),
                shut_down: false,
                ended: false,
            }),
        }
    }

    /// Admits a message, or refuses it at once.
    ///
    /// All that come before the driver looks count as having come with the first: a clock is read
    /// once for a burst. None of them lingers longer for it.
    pub(crate) fn admit(
        &self,
        now: impl FnOnce() -> Instant,
        admission: Admission,
    ) -> Result<SlotId, Failure> {
        // Not in a closure, which would move the message once more.
        let mut state = lock(&self.state);
        if state.ended {
            let failure = state.gone();
            drop(state);
            let_go(admission);
            return Err(failure);
        }
        let now = state.notified.unwrap_or_else(now);
        let slot = state.slots.open();
        if let Err(refused) = state.machine.try_admit(now, slot.into(), admission) {
            state.slots.close(slot);
            drop(state);
            let_go(refused.admission);
            return Err(refused.failure);
        }
        let driver = state.notify(now);
        drop(state);
        if let Some(driver) = driver {
            wake(driver);
        }
        Ok(slot)
    }

    /// Opens a slot for the outcomes of messages that join it.
    pub(crate) fn begin(&self) -> SlotId {
        let mut state = lock(&self.state);
        let slot = state.slots.open();
        state.groups.begin(slot);
        slot
    }

    /// Admits some messages of a group. Those that are refused have their outcome at once: these
    /// are they, to be dropped by the caller, not under the lock.
    pub(crate) fn join(
        &self,
        now: impl FnOnce() -> Instant,
        slot: SlotId,
        admissions: impl Iterator<Item = Result<Admission, Failure>>,
    ) -> Vec<Refusal> {
        let mut refused = Vec::new();
        let mut state = lock(&self.state);
        let now = state.notified.unwrap_or_else(now);
        for admission in admissions {
            let place = state.groups.join(slot);
            let admitted = match admission {
                Ok(admission) => state.try_admit(now, Mark { slot, place }, admission),
                Err(failure) => Err(Box::new((failure, None))),
            };
            if let Err(refusal) = admitted {
                state.groups.set(slot, place, Err(refusal.0.clone()));
                refused.push(refusal);
            }
        }
        let driver = state.notify(now);
        drop(state);
        if let Some(driver) = driver {
            wake(driver);
        }
        refused
    }

    /// No more messages join.
    pub(crate) fn seal(&self, slot: SlotId) {
        self.with(|state, after| {
            if let Some(outcomes) = state.groups.seal(slot) {
                state.fill(slot, Done::All(outcomes), after);
            }
        });
    }

    /// Opens a slot that is filled once everything admitted so far is settled; none is needed
    /// when the driver has ended.
    pub(crate) fn flush(&self, now: Instant) -> Option<SlotId> {
        self.with(|state, after| state.flush(now, after))
    }

    /// A flush of everything there will ever be: nothing is taken after it.
    pub(crate) fn shut_down(&self, now: Instant, deadline: Option<Instant>) -> Option<SlotId> {
        self.with(|state, after| {
            let slot = state.flush(now, after);
            state.shut_down = true;
            state.input(now, Input::Close { deadline }, after);
            slot
        })
    }

    pub(crate) fn close(&self, now: Instant) {
        let close = Input::Close { deadline: None };
        self.with(|state, after| state.input(now, close, after));
    }

    pub(crate) fn resume(&self, now: Instant, key: &str) {
        let resume = Input::Resume { key: key.into() };
        self.with(|state, after| state.input(now, resume, after));
    }

    pub(crate) fn resume_all(&self, now: Instant) {
        self.with(|state, after| state.input(now, Input::ResumeAll, after));
    }

    pub(crate) fn stopped_keys(&self) -> Vec<StoppedKey> {
        self.with(|state, _| state.machine.stopped_keys().cloned().collect())
    }

    pub(crate) fn gauges(&self) -> (Gauges, bool) {
        self.with(|state, _| (state.machine.gauges(), !state.ended))
    }

    /// A task of request `id` ended with `input`.
    pub(crate) fn answer(&self, now: Instant, id: RequestId, input: Input<Mark>) {
        self.with(|state, after| {
            state.answered.push(id);
            state.input(now, input, after);
        });
    }

    /// Resolves once something happened since the last turn.
    pub(crate) fn poll_notified(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.with(|state, after| {
            if state.notified.take().is_some() {
                return Poll::Ready(());
            }
            after.drop(state.driver.replace(cx.waker().clone()));
            Poll::Pending
        })
    }

    /// Polls the machine until it waits, and hands out what it settled.
    pub(crate) fn turn(&self, now: Instant) -> Turn {
        let (turn, tally) = self.with(|state, after| state.turn(now, after));
        self.metrics.turn(&tally);
        turn
    }

    /// The driver ends. Whatever is still held is settled, as well as is known.
    pub(crate) fn end(&self, now: Instant) {
        let (unsettled, (turn, tally)) = self.with(|state, after| {
            state.ended = true;
            let unsettled = state.machine.gauges().messages;
            let close = Input::Close {
                deadline: Some(now),
            };
            state.input(now, close, after);
            let turn = state.turn(now, after);
            after.drop(state.driver.take());
            (unsettled, turn)
        });
        // Requests that it still wanted sent.
        let_go(turn);
        self.metrics.ended(&tally);
        if unsettled > 0 {
            tracing::warn!(
                unsettled,
                "the publisher's driver ended before all messages were settled"
            );
        }
    }

    /// Does something under the lock, and what may run foreign code after it: wakers and log
    /// subscribers are the user's, and may call back.
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
    fn flush(&mut self, now: Instant, after: &mut After) -> Option<SlotId> {
        if self.ended {
            return None;
        }
        let slot = self.slots.open();
        self.input(now, Input::Flush { tag: slot.into() }, after);
        Some(slot)
    }

    fn try_admit(&mut self, now: Instant, mark: Mark, admission: Admission) -> Result<(), Refusal> {
        if self.ended {
            return Err(Box::new((self.gone(), Some(admission))));
        }
        let admitted = self.machine.try_admit(now, mark, admission);
        admitted.map_err(|refused| Box::new((refused.failure, Some(refused.admission))))
    }

    /// Why nobody is there any more who would send anything.
    fn gone(&self) -> Failure {
        match self.shut_down {
            true => closed("the publisher is closed"),
            false => driver_ended(),
        }
    }

    fn input(&mut self, now: Instant, input: Input<Mark>, after: &mut After) {
        if let Err(misuse) = self.machine.handle(now, input) {
            after.fault = Some(misuse.to_string());
        }
        after.drop(self.machine.take_unsent());
        after.wake.extend(self.notify(now));
    }

    /// The driver, to be woken once for all that happens before it looks.
    fn notify(&mut self, now: Instant) -> Option<Waker> {
        if self.notified.is_some() {
            return None;
        }
        self.notified = Some(now);
        self.driver.take()
    }

    fn stored(&mut self, mark: Mark, id: MessageId, after: &mut After) {
        if self.groups.has(mark.slot) {
            self.set(mark, Ok(Delivered::new(id, Diagnostics::default())), after);
        } else {
            self.fill(mark.slot, Done::Stored(id), after);
        }
    }

    fn settled(&mut self, mark: Mark, outcome: Outcome, after: &mut After) {
        if self.groups.has(mark.slot) {
            self.set(mark, outcome, after);
        } else {
            self.fill(mark.slot, outcome.into(), after);
        }
    }

    /// The outcome of one of several messages.
    fn set(&mut self, mark: Mark, outcome: Outcome, after: &mut After) {
        if let Some(all) = self.groups.set(mark.slot, mark.place, outcome) {
            self.fill(mark.slot, Done::All(all), after);
        }
    }

    fn fill(&mut self, slot: SlotId, done: Done, after: &mut After) {
        after.wake.extend(self.slots.fill(slot, done));
    }

    fn turn(&mut self, now: Instant, after: &mut After) -> (Turn, PublishTally) {
        self.notified = None;
        let mut tally = PublishTally::default();
        let answered = std::mem::take(&mut self.answered);
        let mut actions = Vec::new();
        loop {
            while let Some((mark, id)) = self.machine.poll_stored() {
                tally.stored();
                self.stored(mark, id, after);
            }
            let output = match self.machine.poll(now) {
                Step::Do(output) => output,
                Step::Wait(until, reason) => {
                    after.drop(self.machine.take_unsent());
                    let machine = &self.machine;
                    tally.holds(|| machine.gauges());
                    let turn = Turn {
                        answered,
                        actions,
                        until,
                        closed: reason == WaitReason::Closed,
                    };
                    return (turn, tally);
                }
            };
            match output {
                Output::Authorize { request, refused } => {
                    actions.push(Action::Authorize(request, refused));
                }
                Output::Send(request) => actions.push(Action::Send(request)),
                Output::Cancel(request) => actions.push(Action::Cancel(request)),
                Output::Settled { tag, outcome } => {
                    tally.settled(&outcome);
                    self.settled(tag, outcome, after);
                }
                Output::Flushed { tag } => {
                    self.fill(tag.slot, Done::Flushed, after);
                }
                other => after.fault = Some(format!("an output it does not know: {other:?}")),
            }
        }
    }
}

/// What a message gets when nobody is there to send it.
pub(crate) fn driver_ended() -> Failure {
    closed("the publisher's driver has ended (its runtime shut down?)")
}

fn closed(detail: &str) -> Failure {
    let reason = Reason::Transport {
        transport: TransportKind::Closed,
        detail: detail.into(),
    };
    Failure::new(Class::Transient, reason)
}
