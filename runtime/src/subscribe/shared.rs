//! What a subscription, its handles, its deliveries and its driver share: the machine, behind one
//! lock.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use pubsink_core::publish::Step;
use pubsink_core::subscribe::{
    DeliveryId, Settlement, StreamId, SubscribeEvent, SubscribeGauges, SubscribeInput,
    SubscribeOutput, SubscribeWait, Subscriber, SubscriberOptions,
};
use pubsink_core::text::Text;
use pubsink_core::wire::subscribe::Unreadable;

use super::delivery::{Delivery, DeliveryEnd, Settler};
use super::source::SourceEnd;
use super::tasks::TaskId;
use crate::after::{After, with};
use crate::metrics::{SubscribeMetrics, SubscribeTally};

/// The machine and whoever waits for it. The lock is held for moments and never across an await.
pub(super) struct Shared {
    pub(super) options: Arc<SubscriberOptions>,
    name: Text,
    clock: Box<dyn Fn() -> Instant + Send + Sync>,
    pub(super) metrics: SubscribeMetrics,
    state: Mutex<State>,
}

struct State {
    machine: Subscriber,
    /// What is to be handed out. To the machine a handler has it already, so there are as many as
    /// it lets be with handlers.
    ready: VecDeque<Delivery>,
    /// Nothing more is handed out.
    closing: bool,
    /// The driver has something to look at.
    notified: bool,
    driver: Option<Waker>,
    /// Whoever waits for the next delivery.
    taker: Option<Waker>,
    /// Whoever waits for the end.
    closer: Option<Waker>,
    /// The streams that wait until they may be read.
    readers: BTreeMap<StreamId, Waker>,
    /// Tasks that ended since the driver last looked.
    tasks_ended: Vec<TaskId>,
    /// The driver ended: nothing more is done.
    end: Option<SourceEnd>,
}

/// What one look at the machine gave.
pub(super) struct Turn {
    /// Tasks that ended before these actions.
    pub(super) ended: Vec<TaskId>,
    /// What is to be handed out no more. Dropping it gives it back, which takes the lock.
    pub(super) returned: VecDeque<Delivery>,
    pub(super) until: Option<Instant>,
    pub(super) closed: bool,
    pub(super) tally: SubscribeTally,
}

/// What the driver has to do.
pub(super) enum Action {
    /// What the machine says. Never [`SubscribeOutput::Deliver`].
    Do(SubscribeOutput),
    /// Keep the other end of what was handed out.
    Keep(DeliveryEnd),
}

impl Action {
    /// What the machine says.
    pub(super) fn output(&self) -> Option<&SubscribeOutput> {
        match self {
            Self::Do(output) => Some(output),
            Self::Keep(_) => None,
        }
    }
}

impl Shared {
    pub(super) fn new(
        options: Arc<SubscriberOptions>,
        clock: impl Fn() -> Instant + Send + Sync + 'static,
        seed: u64,
    ) -> Self {
        let machine = Subscriber::new(Arc::clone(&options), clock(), seed);
        Self {
            name: options.subscription_name().into(),
            metrics: SubscribeMetrics::new(options.subscription_name()),
            options,
            clock: Box::new(clock),
            state: Mutex::new(State {
                machine,
                ready: VecDeque::new(),
                closing: false,
                notified: false,
                driver: None,
                taker: None,
                closer: None,
                readers: BTreeMap::new(),
                tasks_ended: Vec::new(),
                end: None,
            }),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn now(&self) -> Instant {
        (self.clock)()
    }

    /// Something happened that the machine has to know, if it is still there.
    pub(super) fn input(&self, input: SubscribeInput) {
        self.happened(None, input);
    }

    /// Messages came that could not be read.
    pub(super) fn unreadable(&self, messages: Vec<Unreadable>) {
        if !messages.is_empty() {
            self.input(SubscribeInput::Unreadable(messages));
        }
    }

    /// A task ended, with what it came to.
    pub(super) fn task_ended(&self, task: TaskId, input: SubscribeInput) {
        self.happened(Some(task), input);
    }

    fn happened(&self, task: Option<TaskId>, input: SubscribeInput) {
        let now = self.now();
        // What nobody wants any more is dropped by us, not under the lock.
        let _unwanted = self.with(|state, after| {
            if state.end.is_some() {
                return Some(input);
            }
            state.tasks_ended.extend(task);
            state.input(now, input, after);
            None
        });
    }

    /// The next delivery; none where there will be no more.
    pub(super) fn poll_ready(&self, cx: &mut Context<'_>) -> Poll<Option<Delivery>> {
        self.with(|state, after| {
            if state.closing || state.end.is_some() {
                return Poll::Ready(None);
            }
            if let Some(delivery) = state.ready.pop_front() {
                return Poll::Ready(Some(delivery));
            }
            after.drop(state.taker.replace(cx.waker().clone()));
            Poll::Pending
        })
    }

    /// Hands out nothing more; what was not taken goes back.
    pub(super) fn close(&self, deadline: Option<Instant>) {
        let now = self.now();
        let returned = self.with(|state, after| {
            if state.end.is_some() {
                return VecDeque::new();
            }
            state.input(now, SubscribeInput::Close { deadline }, after);
            state.stop(after)
        });
        // It is settled by being dropped, which takes the lock.
        drop(returned);
    }

    /// Resolves once the driver ended.
    pub(super) fn poll_end(&self, cx: &mut Context<'_>) -> Poll<SourceEnd> {
        self.with(|state, after| match &state.end {
            Some(end) => Poll::Ready(end.clone()),
            None => {
                after.drop(state.closer.replace(cx.waker().clone()));
                Poll::Pending
            }
        })
    }

    /// Resolves once the next response of a stream may be read.
    pub(super) fn poll_reads(&self, stream: StreamId, cx: &mut Context<'_>) -> Poll<()> {
        self.with(|state, after| {
            if state.machine.reads(stream) {
                after.drop(state.readers.remove(&stream));
                return Poll::Ready(());
            }
            let waker = cx.waker().clone();
            after.drop(state.readers.insert(stream, waker));
            Poll::Pending
        })
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

    pub(super) fn gauges(&self) -> (SubscribeGauges, bool) {
        self.with(|state, _| (state.machine.gauges(), state.end.is_none()))
    }

    /// Polls the machine until it waits. What it wants done is added to `actions`.
    pub(super) fn turn(self: &Arc<Self>, actions: &mut Vec<Action>) -> Turn {
        let now = self.now();
        self.with(|state, after| {
            state.notified = false;
            let mut turn = Turn {
                ended: std::mem::take(&mut state.tasks_ended),
                returned: VecDeque::new(),
                until: None,
                closed: false,
                tally: SubscribeTally::default(),
            };
            loop {
                match state.machine.poll(now) {
                    Step::Do(SubscribeOutput::Deliver { delivery, message }) => {
                        let settler = Arc::clone(self) as Arc<dyn Settler>;
                        let name = self.name.clone();
                        let (delivery, end) = Delivery::new(delivery, message, name, settler);
                        actions.push(Action::Keep(end));
                        match state.closing {
                            true => turn.returned.push_back(delivery),
                            false => state.ready.push_back(delivery),
                        }
                    }
                    Step::Do(output) => {
                        // It closes by itself.
                        if let SubscribeOutput::Event(SubscribeEvent::GaveUp(_)) = &output {
                            turn.returned.extend(state.stop(after));
                        }
                        actions.push(Action::Do(output));
                    }
                    Step::Wait(until, reason) => {
                        turn.until = until;
                        turn.closed = reason == SubscribeWait::Closed;
                        let machine = &state.machine;
                        turn.tally.holds(|| (machine.gauges(), machine.oldest()));
                        state.wake(after);
                        return turn;
                    }
                }
            }
        })
    }

    /// The driver ends. Whoever still waits is told.
    pub(super) fn end(&self) {
        let (returned, left) = self.with(|state, after| {
            let left = (!state.machine.is_closed()).then(|| state.machine.gauges());
            state.end = Some(match (&left, state.machine.ended_because()) {
                (None, Some(reason)) => SourceEnd::GaveUp(reason),
                (None, None) => SourceEnd::Closed,
                (Some(_), _) => SourceEnd::Lost(GONE.into()),
            });
            after.wake.extend(state.closer.take());
            after.drop(state.driver.take());
            let readers = std::mem::take(&mut state.readers);
            after.drop(readers.into_values());
            (state.stop(after), left)
        });
        drop(returned);
        self.metrics.ended();
        if let Some(left) = left {
            tracing::warn!(
                subscription = self.name.as_str(),
                outstanding = left.outstanding,
                unconfirmed = left.unconfirmed,
                "the subscription's driver ended before it was closed"
            );
        }
    }

    /// Does something under the lock, and what may run foreign code after it.
    fn with<T>(&self, work: impl FnOnce(&mut State, &mut After) -> T) -> T {
        with(&self.state, work)
    }
}

const GONE: &str = "the subscription's driver has ended (its runtime shut down?)";

impl Settler for Shared {
    fn settle(&self, delivery: DeliveryId, settlement: Settlement) {
        self.input(SubscribeInput::Settle {
            delivery,
            settlement,
        });
    }

    fn longest_pause(&self, delivery: DeliveryId) -> Option<Duration> {
        let now = self.now();
        self.with(|state, _| state.machine.longest_pause(now, delivery))
    }
}

impl State {
    fn input(&mut self, now: Instant, input: SubscribeInput, after: &mut After) {
        if let Err(misuse) = self.machine.handle(now, input) {
            after.fault = Some(misuse.to_string());
        }
        // The driver is woken once for all that happens before it looks.
        self.notified = true;
        after.wake.extend(self.driver.take());
    }

    /// Hands out nothing more. The caller drops what comes back, after the lock.
    fn stop(&mut self, after: &mut After) -> VecDeque<Delivery> {
        self.closing = true;
        after.wake.extend(self.taker.take());
        std::mem::take(&mut self.ready)
    }

    /// Wakes those who can go on.
    fn wake(&mut self, after: &mut After) {
        if !self.ready.is_empty() {
            after.wake.extend(self.taker.take());
        }
        let may = |stream: &&StreamId| self.machine.reads(**stream);
        let may: Vec<_> = self.readers.keys().filter(may).copied().collect();
        let wakers = may.iter().filter_map(|stream| self.readers.remove(stream));
        after.wake.extend(wakers);
    }
}
