//! Stopping a service, and what was left then.

use std::sync::Mutex;
use std::task::{Context, Poll};
use std::time::Instant;

use std::sync::Arc;

use pubsink_core::text::Text;

use super::running::Signal;
use crate::after::with;
use crate::slots::{SlotId, Slots};
use crate::subscribe::SourceEnd;
use crate::waiter::{Slotted, poll_slot};

/// How a service ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Stopped {
    /// How each of its subscriptions ended, in their order.
    pub subscriptions: Vec<SubscriptionEnd>,
}

impl Stopped {
    /// Whether nothing was left: every handler came to its end, and it is known of every
    /// settlement whether it counts.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        let mut ends = self.subscriptions.iter();
        ends.all(|end| end.end == SourceEnd::Closed && end.abandoned + end.unconfirmed == 0)
    }
}

/// How a subscription of a service ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SubscriptionEnd {
    /// Its name.
    pub subscription: Text,
    /// Why it handed out no more.
    pub end: SourceEnd,
    /// Handlings that were stopped before their end, over all its time. Their messages come again.
    pub abandoned: usize,
    /// Settlements of which it was not known in time whether they count. Their messages may come
    /// again.
    pub unconfirmed: usize,
}

/// What a handle asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stop {
    /// None: handlers have the time they take.
    pub(super) deadline: Option<Instant>,
}

/// What handles and loops share.
#[derive(Debug)]
pub(super) struct Control {
    signals: Vec<Arc<Signal>>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    stop: Option<Stop>,
    ended: Option<Stopped>,
    waiting: Slots<Stopped>,
}

impl Control {
    pub(super) fn new(signals: Vec<Arc<Signal>>) -> Self {
        Self {
            signals,
            state: Mutex::default(),
        }
    }

    /// Stops it, or gives it less time than it has.
    pub(super) fn ask(&self, deadline: Option<Instant>) {
        with(&self.state, |state, _| {
            let sooner = match state.stop.and_then(|stop| stop.deadline) {
                Some(known) => deadline
                    .map_or(known, |deadline| deadline.min(known))
                    .into(),
                None => deadline,
            };
            state.stop = Some(Stop { deadline: sooner });
        });
        for signal in &self.signals {
            signal.wake();
        }
    }

    pub(super) fn stop(&self) -> Option<Stop> {
        with(&self.state, |state, _| state.stop)
    }

    /// A slot for how it ends; how it ended, where it has.
    pub(super) fn wait(&self) -> Result<SlotId, Stopped> {
        with(&self.state, |state, _| match &state.ended {
            Some(stopped) => Err(stopped.clone()),
            None => Ok(state.waiting.open()),
        })
    }

    pub(super) fn is_alive(&self) -> bool {
        with(&self.state, |state, _| state.ended.is_none())
    }

    /// It ended. The first word stays.
    pub(super) fn ended(&self, stopped: &Stopped) {
        with(&self.state, |state, after| {
            if state.ended.is_some() {
                return;
            }
            state.ended = Some(stopped.clone());
            for slot in state.waiting.waiting() {
                after.wake.extend(state.waiting.fill(slot, stopped.clone()));
            }
        });
    }
}

impl Slotted for Control {
    type Done = Stopped;

    fn poll_slot(&self, slot: SlotId, cx: &mut Context<'_>) -> Poll<Stopped> {
        poll_slot(&self.state, |state| &mut state.waiting, slot, cx)
    }

    fn abandon(&self, slot: SlotId) {
        with(&self.state, |state, after| {
            after.drop(state.waiting.abandon(slot));
        });
    }
}
