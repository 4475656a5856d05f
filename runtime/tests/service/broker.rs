//! A source that does what it is told.

use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::sync::{Arc, Mutex, Once};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use pubsink_runtime::core::subscribe::{
    DeliveryId, LeaseLost, ReceivedMessage, SettleError, Settlement,
};
use pubsink_runtime::subscribe::{Delivery, DeliveryEnd, Settler, Source, SourceEnd};

use crate::support::now;

pub(crate) const SUBSCRIPTION: &str = "projects/p/subscriptions/orders";

/// A subscription in memory: it delivers again at once what is given back. Clones share it.
#[derive(Clone)]
pub(crate) struct Broker(Arc<Shared>);

struct Shared {
    started: Instant,
    script: Script,
    state: Mutex<State>,
}

/// What it is told to do.
pub(crate) struct Script {
    /// The most messages with handlers.
    pub(crate) handlers: usize,
    /// Whether it counts deliveries, and gives up a message after so many.
    pub(crate) dead_letter_after: Option<u32>,
    /// Whether what is given back comes again.
    pub(crate) redelivers: bool,
    /// Whether it ends when every message is done with.
    pub(crate) ends: bool,
    /// What becomes of a settlement. None: nobody knows before it is closed.
    pub(crate) confirms: fn(&str, Settlement) -> Option<Result<(), SettleError>>,
    /// Whether it is ever closed.
    pub(crate) closes: bool,
    /// How it says that it ended.
    pub(crate) end: SourceEnd,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            handlers: 16,
            dead_letter_after: None,
            redelivers: true,
            ends: true,
            confirms: |_, _| Some(Ok(())),
            closes: true,
            end: SourceEnd::Closed,
        }
    }
}

#[derive(Default)]
struct State {
    numbers: u64,
    waiting: VecDeque<ReceivedMessage>,
    deliveries: BTreeMap<String, u32>,
    out: BTreeMap<DeliveryId, (Arc<ReceivedMessage>, DeliveryEnd)>,
    held: Vec<(Arc<ReceivedMessage>, DeliveryEnd)>,
    unconfirmed: Vec<DeliveryEnd>,
    most_out: usize,
    log: Vec<(f64, String, Settlement)>,
    nacks: usize,
    dead: Vec<String>,
    given_back: Vec<String>,
    close_calls: Vec<(f64, Option<f64>)>,
    wakers: Vec<Waker>,
}

/// Somebody listens on every thread from the first test on. A place in the code that is met for
/// the first time while nobody does, and just as a test begins to, is taken for one that nobody
/// ever wants.
fn listen_everywhere() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry());
    });
}

impl Broker {
    pub(crate) fn new(script: Script, messages: impl IntoIterator<Item = ReceivedMessage>) -> Self {
        listen_everywhere();
        let state = State {
            waiting: messages.into_iter().collect(),
            ..State::default()
        };
        Self(Arc::new(Shared {
            started: now(),
            script,
            state: Mutex::new(state),
        }))
    }

    pub(crate) fn publish(&self, message: ReceivedMessage) {
        self.with(|state| state.waiting.push_back(message));
    }

    /// What was said of messages: seconds since the start, id, settlement.
    pub(crate) fn log(&self) -> Vec<(f64, String, Settlement)> {
        self.with(|state| state.log.clone())
    }

    /// The same of one message, without the time.
    pub(crate) fn settlements(&self, id: &str) -> Vec<Settlement> {
        let log = self.log().into_iter();
        log.filter(|(_, of, _)| of == id)
            .map(|(.., settlement)| settlement)
            .collect()
    }

    pub(crate) fn nacks(&self) -> usize {
        self.with(|state| state.nacks)
    }

    pub(crate) fn dead(&self) -> Vec<String> {
        self.with(|state| state.dead.clone())
    }

    /// What went back without having been with a handler.
    pub(crate) fn given_back(&self) -> Vec<String> {
        self.with(|state| state.given_back.clone())
    }

    pub(crate) fn out(&self) -> usize {
        self.with(|state| state.out.len())
    }

    pub(crate) fn most_out(&self) -> usize {
        self.with(|state| state.most_out)
    }

    /// When it was closed, and with which deadline, in seconds since the start.
    pub(crate) fn close_calls(&self) -> Vec<(f64, Option<f64>)> {
        self.with(|state| state.close_calls.clone())
    }

    /// Every message that is out is ours no more.
    pub(crate) fn lose(&self, cause: &LeaseLost) {
        let out = self.with(|state| std::mem::take(&mut state.out));
        for (_, end) in out.values() {
            end.lost(cause);
        }
        self.with(|state| state.out.extend(out));
    }

    /// Settlements that were not confirmed are.
    pub(crate) fn confirm(&self) {
        let ends = self.with(|state| std::mem::take(&mut state.unconfirmed));
        for end in ends {
            end.settled(Ok(()));
        }
        self.with(|_| ());
    }

    fn since(&self) -> f64 {
        (now() - self.0.started).as_secs_f64()
    }

    /// Does something, and wakes whoever waits for something to happen.
    fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.0.state.lock().unwrap();
        let done = work(&mut state);
        let wakers = std::mem::take(&mut state.wakers);
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
        done
    }

    /// The same without waking anybody.
    fn look<T>(&self, cx: &Context<'_>, look: impl FnOnce(&mut State) -> Poll<T>) -> Poll<T> {
        let mut state = self.0.state.lock().unwrap();
        let looked = look(&mut state);
        if looked.is_pending() {
            state.wakers.push(cx.waker().clone());
        }
        looked
    }

    fn nack(&self, message: &Arc<ReceivedMessage>) {
        self.with(|state| {
            state.nacks += 1;
            let id = message.message_id.as_str();
            let deliveries = state.deliveries.get(id).copied();
            if self.0.script.dead_letter_after.is_some()
                && deliveries >= self.0.script.dead_letter_after
            {
                state.dead.push(id.to_owned());
            } else if self.0.script.redelivers && state.close_calls.is_empty() {
                state.waiting.push_back((**message).clone());
            }
        });
    }

    fn hold(&self, message: Arc<ReceivedMessage>, end: DeliveryEnd, pause: Duration) {
        let id = end.id();
        self.with(|state| state.held.push((message, end)));
        let broker = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(pause).await;
            broker.give_back(|end| end.id() == id);
        });
    }

    fn give_back(&self, which: impl Fn(&DeliveryEnd) -> bool) {
        let held: Vec<_> =
            self.with(|state| state.held.extract_if(.., |held| which(&held.1)).collect());
        for (message, end) in held {
            self.nack(&message);
            end.settled(Ok(()));
        }
    }
}

impl Settler for Broker {
    fn settle(&self, delivery: DeliveryId, settlement: Settlement) {
        let since = self.since();
        let (message, end) = self.with(|state| {
            let (message, end) = state.out.remove(&delivery).expect("it is out");
            let id = message.message_id.as_str().to_owned();
            state.log.push((since, id, settlement));
            (message, end)
        });
        if let Settlement::RetryAfter(pause) = settlement {
            match self.with(|state| state.close_calls.is_empty()) {
                true => return self.hold(message, end, pause),
                false => self.nack(&message),
            }
        } else if settlement == Settlement::Retry {
            self.nack(&message);
        }
        match (self.0.script.confirms)(message.message_id.as_str(), settlement) {
            Some(result) => end.settled(result),
            None => self.with(|state| state.unconfirmed.push(end)),
        }
    }
}

impl Source for Broker {
    fn subscription(&self) -> &str {
        SUBSCRIPTION
    }

    async fn next(&mut self) -> Option<Delivery> {
        let this = &*self;
        poll_fn(|cx| {
            this.look(cx, |state| {
                if state.out.len() >= this.0.script.handlers {
                    return Poll::Pending;
                }
                if let Some(message) = state.waiting.pop_front() {
                    return Poll::Ready(Some(this.hand_out(state, message)));
                }
                let is_done = state.out.is_empty() && state.held.is_empty();
                match this.0.script.ends && is_done {
                    true => Poll::Ready(None),
                    false => Poll::Pending,
                }
            })
        })
        .await
    }

    fn close(&mut self, deadline: Option<Instant>) {
        let (since, started) = (self.since(), self.0.started);
        self.with(|state| {
            let deadline = deadline.map(|deadline| (deadline - started).as_secs_f64());
            state.close_calls.push((since, deadline));
            let unhandled = state.waiting.drain(..);
            let ids = unhandled.map(|message| message.message_id.as_str().to_owned());
            state.given_back.extend(ids);
        });
        self.give_back(|_| true);
    }

    async fn closed(&mut self) -> SourceEnd {
        let this = &*self;
        poll_fn(|cx| {
            this.look(cx, |state| {
                let settled = state.out.is_empty() && state.unconfirmed.is_empty();
                match settled && this.0.script.closes {
                    true => Poll::Ready(()),
                    false => Poll::Pending,
                }
            })
        })
        .await;
        self.0.script.end.clone()
    }
}

impl Broker {
    fn hand_out(&self, state: &mut State, mut message: ReceivedMessage) -> Delivery {
        let id = message.message_id.as_str().to_owned();
        let deliveries = state.deliveries.entry(id).or_default();
        *deliveries += 1;
        if self.0.script.dead_letter_after.is_some() {
            message.delivery_attempt = Some(*deliveries);
        }
        state.numbers += 1;
        let id = DeliveryId::new(state.numbers);
        let message = Arc::new(message);
        let settler = Arc::new(self.clone());
        let (delivery, end) = Delivery::new(id, Arc::clone(&message), SUBSCRIPTION, settler);
        state.out.insert(id, (message, end));
        state.most_out = state.most_out.max(state.out.len());
        delivery
    }
}
