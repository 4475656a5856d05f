//! The subscriber machine: its state and its two verbs.

mod answers;
mod arrivals;
mod closing;
mod extending;
mod pulls;
mod sending;
mod settlement;
mod streams;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use foldhash::fast::FixedState;

use super::asking::Asking;
use super::calls::Calls;
use super::extension::Extension;
use super::hand::{Hand, MessageNo};
use super::io::{
    DeliveryId, StreamId, SubscribeEvent, SubscribeGauges, SubscribeInput, SubscribeMisuse,
    SubscribeOutput, SubscribeWait,
};
use super::leases::Leases;
use super::message::AckId;
use super::options::SubscriberOptions;
use super::outbox::{Outbox, Way};
use super::streams::Streams;
use super::turns::Turns;
use crate::options::Wire;
use crate::publish::Step;
use crate::reason::Reason;
use crate::retry::Rng;
use crate::wire::subscribe::{ACK_REQUEST_MAX_BYTES, ack_id_bytes, ack_overhead_bytes};
use closing::Closing;
use pulls::Pulls;

/// No more is asked for while so many settlements are unconfirmed: what four calls carry, what is
/// settled meanwhile, and as much again. Without a bound, acks that fail for an hour would be kept
/// for an hour.
const UNCONFIRMED_MAX: usize = 10_000;

/// What a call has beyond connecting and answering: the machine only catches what a transport let
/// pass.
const CALL_SLACK: Duration = Duration::from_secs(1);

/// Takes the messages of a subscription, gives each to a handler and tells Pub/Sub what became of
/// it: the sans-IO machine behind a subscriber handle.
///
/// Feed it with [`handle`](Self::handle), then call [`poll`](Self::poll) until it waits. While
/// [`reads`](Self::reads) says no, leave a stream's next response unread: that is the flow control.
///
/// # What it promises
///
/// - A message is with one handler at a time, those of one ordering key are too, and in order.
/// - Its lease is kept from its arrival until what settles it is sent, at most
///   [`max_lease`](SubscriberOptions::max_lease). A handler whose lease is lost is told.
/// - Each [`Deliver`](SubscribeOutput::Deliver) has one [`Settled`](SubscribeOutput::Settled).
/// - What comes again while it is in hand is not handled twice: its newest ack id counts.
///
/// # Ordering keys
///
/// A message that is nacked, or held for a retry, stops its key. When it is nacked all that is
/// buffered of the key goes back with it, in order, right behind it in the same request; the key
/// goes on once the message is back, and what came before that goes back, too. So a server that
/// redelivers in order keeps the order. Where the message does not come back, because it has
/// become a dead letter or went to somebody else, the key goes on a second after Pub/Sub has taken
/// it, or what went back after it. What is buffered behind a message whose lease was lost before it
/// was handled goes back as well. Where the stream says that the subscription is not ordered nothing
/// of this is done; of one key there still is one message with a handler at a time.
///
/// Each message that goes back counts as a delivery attempt of its own: a dead-letter policy on an
/// ordered subscription takes those behind a poisoned message along with it.
///
/// Acks of one key leave in the order of their messages, in one call at a time.
#[derive(Debug)]
pub struct Subscriber {
    options: Arc<SubscriberOptions>,
    rng: Rng,
    /// The latest instant seen: time never goes back.
    now: Instant,
    hand: Hand,
    turns: Turns,
    leases: Leases,
    extension: Extension,
    /// The deliveries that are with a handler. Only looked up, never iterated.
    deliveries: HashMap<DeliveryId, Running, FixedState>,
    last_delivery: u64,
    /// Those that were settled without their handler, when closing gave up.
    abandoned: BTreeSet<DeliveryId>,
    /// The messages that are held for a retry, by when they are given back.
    held: BTreeSet<(Instant, MessageNo)>,
    acks: Outbox,
    nacks: Outbox,
    calls: Calls,
    asking: Asking,
    streams: Streams,
    pulls: Pulls,
    exactly_once: bool,
    /// Whether the subscription keeps the order of ordering keys, where that is known.
    ordered: Option<bool>,
    closing: Option<Closing>,
    gave_up: Option<Arc<Reason>>,
    received: u64,
    redelivered: u64,
    unreadable: u64,
    outputs: VecDeque<SubscribeOutput>,
}

/// A delivery that is with a handler.
#[derive(Debug)]
struct Running {
    message: MessageNo,
    since: Instant,
    /// Pub/Sub's own count of the message's deliveries.
    attempt: Option<u32>,
}

impl Subscriber {
    /// A subscriber that asks for messages from `now` on. `seed` decides the pauses after failures
    /// and nothing else.
    #[must_use]
    pub fn new(options: Arc<SubscriberOptions>, now: Instant, seed: u64) -> Self {
        let overhead = ack_overhead_bytes(options.wire(), &options);
        let max_bytes = ACK_REQUEST_MAX_BYTES.saturating_sub(overhead);
        let outbox = || Outbox::new(options.ack_linger(), max_bytes);
        Self {
            rng: Rng::with_seed(seed),
            now,
            hand: Hand::default(),
            turns: Turns::default(),
            leases: Leases::new(max_bytes),
            extension: Extension::new(options.extension_min(), options.extension_max()),
            deliveries: HashMap::default(),
            last_delivery: 0,
            abandoned: BTreeSet::new(),
            held: BTreeSet::new(),
            acks: outbox(),
            nacks: outbox(),
            calls: Calls::default(),
            asking: Asking::new(options.config_patience()),
            streams: Streams::default(),
            pulls: Pulls::default(),
            exactly_once: options.exactly_once(),
            ordered: None,
            closing: None,
            gave_up: None,
            received: 0,
            redelivered: 0,
            unreadable: 0,
            outputs: VecDeque::new(),
            options,
        }
    }

    /// Something happened.
    ///
    /// What comes late, for a stream or a call that was given up, or once it is closed, is no
    /// misuse and does nothing.
    ///
    /// # Errors
    ///
    /// [`SubscribeMisuse`] when the input does not fit the machine's state. It is ignored then.
    pub fn handle(&mut self, now: Instant, input: SubscribeInput) -> Result<(), SubscribeMisuse> {
        self.advance(now);
        while self.lapse() {}
        match input {
            SubscribeInput::Streamed { stream, answer } => self.streamed(stream, answer),
            SubscribeInput::Ended { stream, end } => self.stream_ended(stream, end),
            SubscribeInput::Pulled { call, result } => self.pulled(call, result),
            SubscribeInput::Unreadable(messages) => {
                self.cannot_read(messages);
                Ok(())
            }
            SubscribeInput::Answered { call, result } => self.answered(call, result),
            SubscribeInput::Settle {
                delivery,
                settlement,
            } => self.settle(delivery, settlement),
            SubscribeInput::Close { deadline } => {
                self.close(deadline);
                Ok(())
            }
        }
    }

    /// What to do now, or how long nothing is to be done.
    ///
    /// The wait changes with every input, and with every poll that gave something to do.
    pub fn poll(&mut self, now: Instant) -> Step<SubscribeOutput, SubscribeWait> {
        self.advance(now);
        loop {
            if let Some(output) = self.outputs.pop_front() {
                return Step::Do(output);
            }
            if !self.work() {
                return self.wait();
            }
        }
    }

    /// Whether the next response of `stream` may be read: there is room for what it brings.
    #[must_use]
    pub fn reads(&self, stream: StreamId) -> bool {
        self.streams.is_open(stream) && (self.closing.is_some() || self.has_room())
    }

    /// Whether it is closed, every delivery is settled, and nothing is under way.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closing.is_some()
            && self.outputs.is_empty()
            && self.hand.is_empty()
            && self.calls.len() == 0
            && self.streams.len() == 0
    }

    /// Why it has closed by itself, if it has: a subscription that is not there, say.
    #[must_use]
    pub fn ended_because(&self) -> Option<Arc<Reason>> {
        self.gave_up.clone()
    }

    /// What it holds.
    #[must_use]
    pub fn gauges(&self) -> SubscribeGauges {
        let counts = self.hand.counts();
        SubscribeGauges {
            outstanding: counts.outstanding,
            outstanding_bytes: counts.bytes,
            handling: counts.handling,
            held: counts.held,
            unconfirmed: counts.settling,
            ordering_keys: self.turns.keys(),
            calls: self.calls.len(),
            streams: self.streams.len(),
            full: !self.has_room(),
            received: self.received,
            redelivered: self.redelivered,
            unreadable: self.unreadable,
        }
    }

    /// How long the message has been in hand that is there for longest, by the latest instant
    /// seen; zero where there is none.
    #[must_use]
    pub fn oldest(&self) -> Duration {
        let oldest = self.hand.oldest();
        oldest.map_or(Duration::ZERO, |at| self.now.saturating_duration_since(at))
    }

    fn advance(&mut self, now: Instant) {
        if now <= self.now {
            return;
        }
        if !self.has_room() {
            self.streams.excuse(now);
        }
        self.now = now;
    }

    /// Does one thing that is due; tells whether there was one.
    fn work(&mut self) -> bool {
        self.expire_call()
            || self.lapse()
            || self.close_down()
            || self.wake_held()
            || self.turns.reopen(self.now)
            || self.extend()
            || self.send(Way::Nack)
            || self.send(Way::Ack)
            || self.hand_out()
            || self.keep_streams()
            || self.pull()
    }

    fn wait(&self) -> Step<SubscribeOutput, SubscribeWait> {
        if self.is_closed() {
            return Step::Wait(None, SubscribeWait::Closed);
        }
        let due = |instants: &mut dyn Iterator<Item = Instant>| {
            instants.filter(|due| *due > self.now).min()
        };
        let batches = [self.acks.due(), self.nacks.due()];
        let timers = [
            (due(&mut self.leases.timers()), SubscribeWait::Lease),
            (
                due(&mut batches.into_iter().flatten()),
                SubscribeWait::Batch,
            ),
            (self.held.first().map(|(at, _)| *at), SubscribeWait::Held),
            (self.turns.reopens(), SubscribeWait::Held),
            (due(&mut self.asking_timers()), SubscribeWait::Stream),
            (self.calls.due(), SubscribeWait::Call),
            (self.closing_timer(), SubscribeWait::Closing),
        ];
        let timers = timers.into_iter();
        let first = timers
            .filter_map(|(due, reason)| Some((due.filter(|due| *due > self.now)?, reason)))
            .min_by_key(|(due, _)| *due);
        match first {
            Some((due, reason)) => Step::Wait(Some(due), reason),
            None => Step::Wait(None, SubscribeWait::Input),
        }
    }

    /// When messages are asked for again, and when something is due on a stream.
    fn asking_timers(&self) -> impl Iterator<Item = Instant> {
        let open = self.closing.is_none();
        let again = self.asking.not_before();
        let pulls = self.pulls.not_before();
        let keepalive = self.options.keepalive();
        let streams = self.streams.timers(keepalive, self.has_room());
        let asks = again.into_iter().chain(pulls).filter(move |_| open);
        asks.chain(streams)
    }

    /// Whether more may be asked for.
    fn has_room(&self) -> bool {
        let counts = self.hand.counts();
        counts.outstanding < self.options.max_outstanding()
            && counts.bytes < self.options.max_outstanding_bytes()
            && counts.settling < UNCONFIRMED_MAX
    }

    /// Whether closing has given up: nothing is begun any more.
    fn is_over(&self) -> bool {
        self.closing.as_ref().is_some_and(Closing::is_over)
    }

    fn is_rest(&self) -> bool {
        self.options.wire() == Wire::Rest
    }

    /// Whether what is given back of an ordering key takes the rest of it along.
    fn keeps_order(&self) -> bool {
        self.ordered != Some(false)
    }

    fn outbox(&mut self, way: Way) -> &mut Outbox {
        match way {
            Way::Ack => &mut self.acks,
            Way::Nack => &mut self.nacks,
        }
    }

    /// What an ack id takes in a request.
    fn id_bytes(&self, id: &AckId) -> usize {
        ack_id_bytes(self.options.wire(), id)
    }

    /// How long a call may take that is no pull.
    fn call_time(&self) -> Duration {
        self.options
            .timeout()
            .saturating_mul(2)
            .saturating_add(CALL_SLACK)
    }

    fn event(&mut self, event: SubscribeEvent) {
        self.outputs.push_back(SubscribeOutput::Event(event));
    }
}

/// `now + after`, or a time that never comes where the sum is out of range.
fn later(now: Instant, after: Duration) -> Instant {
    const NEVER: Duration = Duration::from_secs(60 * 60 * 24 * 365);
    now.checked_add(after).unwrap_or(now + NEVER)
}
