//! A subscriber on simulated time: a server with real leases, a network that can fail, handlers
//! that do as they are told.

mod serving;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use pubsink_core::failure::MessageId;
use pubsink_core::publish::Step;
use pubsink_core::subscribe::{
    CallFailure, CallId, DeliveryId, ReceivedMessage, Settlement, StreamAnswer, StreamEnd,
    StreamId, SubscribeEvent, SubscribeInput, SubscribeOutput, SubscribeWait, Subscriber,
    SubscriberOptions, SubscriberOptionsBuilder,
};

use crate::network::{Network, What, good, ms, secs};
use crate::seen::{Handled, Seen};
use crate::server::Server;
use crate::watch::Watch;

/// How long a handler takes, and what it says. Asked with the message and how often it was handled.
pub(crate) type Script =
    Box<dyn FnMut(Duration, &ReceivedMessage, usize) -> (Duration, Settlement)>;

pub(crate) struct Sim {
    pub(crate) machine: Subscriber,
    pub(crate) options: Arc<SubscriberOptions>,
    pub(crate) server: Server,
    pub(crate) network: Network,
    pub(crate) script: Script,
    /// How long a stream's response takes.
    pub(crate) latency: Duration,
    pub(crate) stream_batch: usize,
    /// Streams say what the subscription is.
    pub(crate) properties: bool,
    pub(crate) heartbeat: Option<Duration>,
    /// A stream ends once our half is closed.
    pub(crate) ends: bool,
    /// How long a pull waits for messages.
    pub(crate) pull_waits: Duration,
    /// The subscription's own ack deadline, in seconds.
    pub(crate) ack_deadline: u16,
    pub(crate) seen: Seen,
    pub(crate) watch: Watch,
    /// When it was closed.
    pub(crate) closed: Option<Duration>,
    start: Instant,
    now: Instant,
    events: BTreeMap<(Instant, u64), Event>,
    serial: u64,
    streams: BTreeMap<StreamId, Stream>,
    pulls: Vec<(CallId, usize, Instant)>,
    cancelled: BTreeSet<CallId>,
    by_delivery: BTreeMap<DeliveryId, usize>,
    /// How often each message was handled.
    times: BTreeMap<String, usize>,
}

type Event = Box<dyn FnOnce(&mut Sim)>;

/// The server's side of a stream, and what of it is on its way.
#[derive(Default)]
struct Stream {
    ack_deadline: u16,
    open: bool,
    coming: usize,
    unread: VecDeque<StreamAnswer>,
    end: Option<StreamEnd>,
}

/// After what time a server notices that nobody waits for a pull any more.
const NOTICED: Duration = Duration::from_millis(100);

pub(crate) fn options() -> SubscriberOptionsBuilder {
    SubscriberOptions::builder("p", "sub")
}

pub(crate) fn message(id: &str) -> ReceivedMessage {
    let ack_id = format!("{id}#0").as_str().into();
    let id = MessageId::from_utf8(id).unwrap();
    ReceivedMessage::new(ack_id, id, "data")
}

/// Handlers that take this long and ack.
pub(crate) fn acks_after(takes: Duration) -> Script {
    Box::new(move |_, _, _| (takes, Settlement::Ack))
}

impl Sim {
    pub(crate) fn new(options: SubscriberOptionsBuilder, script: Script) -> Self {
        Self::seeded(options, script, 7)
    }

    pub(crate) fn seeded(options: SubscriberOptionsBuilder, script: Script, seed: u64) -> Self {
        #[allow(clippy::disallowed_methods, reason = "any instant will do")]
        let start = Instant::now();
        let options = Arc::new(options.build().unwrap());
        Self {
            machine: Subscriber::new(Arc::clone(&options), start, seed),
            server: Server::default(),
            network: good(),
            script,
            latency: ms(1),
            stream_batch: 100,
            properties: false,
            heartbeat: None,
            ends: true,
            pull_waits: secs(90),
            ack_deadline: 10,
            seen: Seen::default(),
            watch: Watch::new(&options),
            options,
            closed: None,
            start,
            now: start,
            events: BTreeMap::new(),
            serial: 0,
            streams: BTreeMap::new(),
            pulls: Vec::new(),
            cancelled: BTreeSet::new(),
            by_delivery: BTreeMap::new(),
            times: BTreeMap::new(),
        }
    }

    pub(crate) fn at(&self) -> Duration {
        self.now - self.start
    }

    pub(crate) fn now(&self) -> Instant {
        self.now
    }

    /// The subscription says on its streams what it is.
    pub(crate) fn tell_properties(&mut self) {
        self.properties = true;
        self.watch.exactly_once = self.server.exactly_once;
    }

    /// Publishes `count` messages, `prefix` and a number each.
    pub(crate) fn publish(&mut self, prefix: &str, count: usize) {
        for number in 0..count {
            self.server.publish(&format!("{prefix}{number}"), "", 10);
        }
    }

    pub(crate) fn close(&mut self, deadline: Option<Duration>) {
        let deadline = deadline.map(|at| self.start + at);
        self.watch.deadline = self.watch.deadline.into_iter().chain(deadline).min();
        self.input(SubscribeInput::Close { deadline });
        self.settle_down();
    }

    pub(crate) fn input(&mut self, input: SubscribeInput) {
        self.machine.handle(self.now, input).unwrap();
        self.drain();
    }

    /// Something happens later.
    pub(crate) fn later(&mut self, after: Duration, event: impl FnOnce(&mut Self) + 'static) {
        self.serial += 1;
        // Or never.
        if let Some(at) = self.now.checked_add(after) {
            self.events.insert((at, self.serial), Box::new(event));
        }
    }

    /// All streams break; what is on its way is lost.
    pub(crate) fn cut(&mut self, failure: &CallFailure) {
        for stream in self.streams.values_mut() {
            stream.open = false;
            stream.unread.clear();
            stream.coming = 0;
            stream.end.get_or_insert(StreamEnd::Failed(failure.clone()));
        }
    }

    /// The server ends all streams with success.
    pub(crate) fn finish_streams(&mut self) {
        for stream in self.streams.values_mut() {
            stream.open = false;
            stream.end.get_or_insert(StreamEnd::Done);
        }
    }

    /// An input that does not fit.
    pub(crate) fn misuse(&mut self, input: SubscribeInput) {
        assert!(self.machine.handle(self.now, input).is_err());
    }

    /// All streams fall silent, and nobody knows.
    pub(crate) fn freeze(&mut self) {
        for stream in self.streams.values_mut() {
            stream.open = false;
        }
    }

    /// Runs until there is nothing to wait for; returns why.
    pub(crate) fn run(&mut self) -> SubscribeWait {
        self.run_until(Duration::MAX)
    }

    /// Runs until then at most, jumping from one thing that is due to the next.
    pub(crate) fn run_until(&mut self, until: Duration) -> SubscribeWait {
        let end = self.start.checked_add(until);
        loop {
            let (wait, reason) = self.settle_down();
            if reason == SubscribeWait::Closed && end.is_none() {
                return reason;
            }
            let event = self.events.keys().next().map(|(at, _)| *at);
            let pull = self.pulls.iter().map(|(_, _, until)| *until).min();
            let next = [wait, event, pull, self.server.next_end()];
            match next.into_iter().flatten().min() {
                Some(next) if end.is_none_or(|end| next <= end) => {
                    assert!(next >= self.now, "a wait in the past: {reason:?}");
                    self.now = next;
                }
                _ => {
                    self.now = end.unwrap_or(self.now).max(self.now);
                    self.lapse();
                    return reason;
                }
            }
            self.lapse();
            while let Some(entry) = self.events.first_entry() {
                if entry.key().0 > self.now {
                    break;
                }
                entry.remove()(self);
            }
        }
    }

    /// Polls the machine and lets the server send until neither has anything to do.
    fn settle_down(&mut self) -> (Option<Instant>, SubscribeWait) {
        loop {
            let wait = self.drain();
            if !self.pump() {
                return wait;
            }
        }
    }

    fn drain(&mut self) -> (Option<Instant>, SubscribeWait) {
        loop {
            self.seen.steps += 1;
            match self.machine.poll(self.now) {
                Step::Do(output) => self.output(output),
                Step::Wait(until, reason) => {
                    assert!(
                        until.is_none_or(|until| until > self.now),
                        "a wait that is over already: {reason:?}"
                    );
                    assert_eq!(reason == SubscribeWait::Closed, self.machine.is_closed());
                    self.look();
                    if reason == SubscribeWait::Closed {
                        self.closed.get_or_insert(self.now - self.start);
                    }
                    return (until, reason);
                }
            }
        }
    }

    /// Ends the leases that are due, and sees whether one of them was neglected.
    fn lapse(&mut self) {
        let before = self.server.lapsed.len();
        self.server.lapse(self.now);
        for lapsed in &self.server.lapsed[before..] {
            if self.watch.neglected(&lapsed.id, &lapsed.ack_id) {
                self.seen
                    .neglected
                    .push((self.now - self.start, lapsed.ack_id.clone()));
            }
        }
    }

    fn look(&mut self) {
        let gauges = self.machine.gauges();
        let seen = &mut self.seen;
        seen.most_outstanding = seen.most_outstanding.max(gauges.outstanding);
        seen.most_unconfirmed = seen.most_unconfirmed.max(gauges.unconfirmed);
        seen.most_held = seen.most_held.max(gauges.held);
        assert!(gauges.held <= self.options.max_held());
        assert!(gauges.handling <= self.options.handlers());
    }

    fn output(&mut self, output: SubscribeOutput) {
        let at = self.at();
        match output {
            SubscribeOutput::OpenStream {
                stream,
                ack_deadline,
                refused,
            } => self.open(stream, ack_deadline, refused.is_some()),
            SubscribeOutput::Ping(_) => self.seen.pinged.push(at),
            SubscribeOutput::HalfClose(id) => {
                self.seen.half_closed.push((at, id));
                self.later(self.latency, move |sim| {
                    if let Some(stream) = sim.streams.get_mut(&id) {
                        stream.open = false;
                        if sim.ends {
                            stream.end.get_or_insert(StreamEnd::Done);
                        }
                    }
                });
            }
            SubscribeOutput::DropStream(id) => {
                self.seen.dropped.push((at, id));
                self.streams.remove(&id);
            }
            SubscribeOutput::Pull {
                call,
                max_messages,
                refused,
            } => self.pull(call, max_messages, refused.is_some()),
            SubscribeOutput::Acknowledge { call, ids, refused } => {
                self.request(call, What::Ack, ids, 0, refused.is_some());
            }
            SubscribeOutput::ModifyDeadline {
                call,
                ids,
                seconds,
                refused,
            } => {
                let what = if seconds == 0 {
                    What::Nack
                } else {
                    What::Extend
                };
                self.request(call, what, ids, seconds, refused.is_some());
            }
            SubscribeOutput::Cancel(call) => {
                self.seen.cancelled += 1;
                self.watch.ended(call, false);
                self.cancelled.insert(call);
                self.later(NOTICED, move |sim| {
                    sim.pulls.retain(|(pull, _, _)| *pull != call);
                });
            }
            SubscribeOutput::Deliver { delivery, message } => self.deliver(delivery, &message),
            SubscribeOutput::LeaseLost { delivery, cause } => {
                let handled = self.by_delivery[&delivery];
                self.seen.handled[handled].lost.push((at, cause));
            }
            SubscribeOutput::Settled {
                delivery,
                settlement,
                result,
            } => {
                self.watch.settled(delivery, settlement, &result);
                let handled = self.by_delivery[&delivery];
                self.seen.handled[handled].settled = Some((at, settlement, result));
            }
            SubscribeOutput::Event(event) => {
                if matches!(event, SubscribeEvent::GaveUp(_)) {
                    // It closes by itself.
                    let grace = self.now.checked_add(secs(30));
                    self.watch.deadline = self.watch.deadline.into_iter().chain(grace).min();
                }
                self.seen.events.push((at, event));
            }
            other => panic!("{other:?}"),
        }
    }

    fn deliver(&mut self, delivery: DeliveryId, message: &Arc<ReceivedMessage>) {
        self.watch.delivered(delivery, message);
        let id = message.message_id.as_str().to_owned();
        let at = self.at();
        let times = self.times.entry(id.clone()).or_default();
        let before = *times;
        *times += 1;
        self.by_delivery.insert(delivery, self.seen.handled.len());
        self.seen.handled.push(Handled {
            at,
            id,
            ack_id: message.ack_id.clone(),
            delivery,
            lost: Vec::new(),
            settled: None,
        });
        let (takes, settlement) = (self.script)(at, message, before);
        self.later(takes, move |sim| {
            sim.watch.done(delivery);
            sim.input(SubscribeInput::Settle {
                delivery,
                settlement,
            });
        });
    }
}
