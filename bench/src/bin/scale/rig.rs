//! Publisher machines, and a stand-in for the server.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pubsink_bench::Error;
use pubsink_bench::load::{ATTRIBUTES, BATCH_MAX, Load};
use pubsink_bench::micro::publish::confirmed;
use pubsink_core::attributes::Attributes;
use pubsink_core::options::PublisherOptions;
use pubsink_core::publish::{Admission, Input, Message, Output, PublishRequest, Publisher, Step};
use pubsink_core::wire::Reply;

use crate::axis::Spread;
use crate::clock::Clock;
use crate::costs::Costs;

/// How many messages are admitted between two readings of the clock.
pub(crate) const CHUNK: usize = 1_000;

/// The machines of some topics, filled and drained in turns.
#[derive(Debug)]
pub(crate) struct Rig {
    spread: Spread,
    machines: Vec<(Arc<PublisherOptions>, Publisher<usize>)>,
    now: Instant,
    load: Load,
    attributes: Attributes,
    admitted: usize,
    messages: Vec<(usize, Message)>,
    /// Buffers that were used before, as the driver has them.
    buffers: Vec<Vec<u8>>,
    replies: Replies,
    clock: Clock,
    costs: Costs,
}

impl Rig {
    pub(crate) fn new(spread: &Spread, size: usize) -> Result<Self, Error> {
        let machine = |topic| {
            let options = PublisherOptions::builder("p", &format!("hooks-{topic}"))
                .batch_max_entries(spread.batch)
                .batch_queue_max(usize::MAX)
                .batch_queue_tenant(usize::MAX)
                .batch_queue_bytes(usize::MAX);
            let options = Arc::new(options.build()?);
            let machine = Publisher::new(Arc::clone(&options), false, 1);
            Ok::<_, Error>((options, machine))
        };
        Ok(Self {
            spread: *spread,
            machines: (0..spread.topics).map(machine).collect::<Result<_, _>>()?,
            now: Instant::now(),
            load: Load::new(CHUNK, size),
            attributes: ATTRIBUTES.into_iter().collect(),
            admitted: 0,
            messages: Vec::with_capacity(CHUNK),
            buffers: Vec::new(),
            replies: Replies::new(),
            clock: Clock::new()?,
            costs: Costs::default(),
        })
    }

    pub(crate) fn costs(&self) -> Costs {
        self.costs
    }

    /// Admits so many messages, in turns between topics, tenants and keys, one each microsecond.
    pub(crate) fn fill(&mut self, count: usize) -> Result<(), Error> {
        let end = self.admitted + count;
        while self.admitted < end {
            let chunk = CHUNK.min(end - self.admitted);
            self.make(chunk);
            let mark = self.clock.mark()?;
            for (tag, message) in self.messages.drain(..) {
                let (options, machine) = &mut self.machines[tag % self.spread.topics];
                let admission = Admission::message(message, options)?;
                self.now += Duration::from_micros(1);
                let admitted = machine.try_admit(self.now, tag, admission);
                admitted.map_err(|refused| refused.failure)?;
            }
            let cost = self.clock.since(mark)?;
            self.costs.admission += cost;
            self.costs.dearest = self.costs.dearest.max(cost);
            self.admitted += chunk;
        }
        Ok(())
    }

    /// Sends and settles all that waits.
    pub(crate) fn drain(&mut self) -> Result<(), Error> {
        // Past the linger.
        self.now += Duration::from_secs(1);
        while self.pass()? > 0 {}
        let held = |(_, machine): &(_, Publisher<usize>)| machine.gauges().messages;
        match self.machines.iter().map(held).sum() {
            0 => Ok(()),
            left => Err(format!("{left} messages are left").into()),
        }
    }

    /// Admits and settles at least `volume` messages while `queued` others wait.
    pub(crate) fn churn(mut self, queued: usize, volume: usize) -> Result<Costs, Error> {
        self.fill(queued)?;
        self.costs = Costs::default();
        while self.costs.messages < volume {
            self.now += Duration::from_secs(1);
            let settled = self.pass()?;
            self.fill(settled)?;
        }
        Ok(self.costs)
    }

    /// Makes messages, as their caller would: that is not measured.
    fn make(&mut self, count: usize) {
        let Spread { tenants, keys, .. } = self.spread;
        for tag in self.admitted..self.admitted + count {
            let mut message = Message::new(self.load.body(tag).clone());
            message.attributes = self.attributes.clone();
            if tenants > 0 {
                message.tenant = Some(format!("tenant-{}", tag % tenants));
            }
            if keys > 0 {
                message.ordering_key = format!("order-{}", tag % keys);
            }
            self.messages.push((tag, message));
        }
    }

    /// One turn of each topic: what may be sent at once is encoded, answered and settled. How many
    /// messages that were.
    fn pass(&mut self) -> Result<usize, Error> {
        let before = self.costs.messages;
        for (_, machine) in &mut self.machines {
            let mark = self.clock.mark()?;
            let requests = sends(machine, self.now)?;
            self.costs.batching += self.clock.since(mark)?;

            let mark = self.clock.mark()?;
            let mut sent = Vec::with_capacity(requests.len());
            for request in requests {
                let count = request.len();
                let buffer = self.buffers.pop().unwrap_or_default();
                sent.push((count, request.encode_in(buffer)));
            }
            self.costs.encoding += self.clock.since(mark)?;

            let mark = self.clock.mark()?;
            for (count, (http, sent)) in sent {
                drop(http);
                let mut response = sent.answered(self.replies.to(count));
                self.buffers.extend(response.take_buffer());
                machine.handle(self.now, Input::Response(response))?;
                for _ in 0..count {
                    match machine.poll(self.now) {
                        Step::Do(Output::Settled { outcome, .. }) => drop(outcome?),
                        other => return Err(format!("{other:?} in the place of an outcome").into()),
                    }
                }
                self.costs.messages += count;
            }
            self.costs.settlement += self.clock.since(mark)?;
        }
        Ok(self.costs.messages - before)
    }
}

/// Polls until it waits: the requests.
fn sends(machine: &mut Publisher<usize>, now: Instant) -> Result<Vec<PublishRequest>, Error> {
    let mut requests = Vec::new();
    loop {
        match machine.poll(now) {
            Step::Do(Output::Send(request)) => requests.push(request),
            Step::Do(other) => return Err(format!("{other:?} in the place of a request").into()),
            Step::Wait(..) => return Ok(requests),
        }
    }
}

/// Replies that are made once, by how many ids they have.
#[derive(Debug)]
struct Replies(Vec<Option<Reply>>);

impl Replies {
    fn new() -> Self {
        Self(vec![None; BATCH_MAX + 1])
    }

    /// The reply to so many messages.
    fn to(&mut self, count: usize) -> &Reply {
        self.0[count].get_or_insert_with(|| confirmed(count))
    }
}
