//! Pieces of publishing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pubsink_core::attributes::Attributes;
use pubsink_core::delivery::DeliveryContext;
use pubsink_core::http::HeaderMap;
use pubsink_core::options::{PublisherOptions, Wire};
use pubsink_core::publish::{
    Admission, Input, Message, Output, PublishRequest, Publisher, Response, Step,
};
use pubsink_core::wire::Reply;

use crate::Error;
use crate::hooks::hook;
use crate::load::{ATTRIBUTES, BATCH_MAX, Load};
use crate::ours::Payload;

/// A publisher machine, and messages for it.
#[derive(Debug)]
pub struct Bench {
    options: Arc<PublisherOptions>,
    machine: Publisher<usize>,
    now: Instant,
    load: Load,
    attributes: Attributes,
}

impl Bench {
    /// A machine that has done nothing, and bodies of one size.
    ///
    /// # Errors
    ///
    /// The options are wrong.
    pub fn new(wire: Wire, size: usize) -> Result<Self, Error> {
        let options = PublisherOptions::builder("p", "hooks")
            .wire(wire)
            .batch_queue_max(usize::MAX)
            .batch_queue_tenant(usize::MAX)
            .batch_queue_bytes(usize::MAX)
            .batch_max_inflight(usize::MAX);
        let options = Arc::new(options.build()?);
        Ok(Self {
            machine: Publisher::new(Arc::clone(&options), false, 1),
            options,
            now: Instant::now(),
            load: Load::new(BATCH_MAX, size),
            attributes: ATTRIBUTES.into_iter().collect(),
        })
    }

    /// A message that passed its checks.
    ///
    /// # Errors
    ///
    /// It did not.
    pub fn check(&self, payload: Payload, number: usize) -> Result<Admission, Error> {
        let admission = match payload {
            Payload::Raw | Payload::Together => {
                let mut message = Message::new(self.load.body(number).clone());
                message.attributes = self.attributes.clone();
                Admission::message(message, &self.options)
            }
            Payload::Hook => {
                let context = DeliveryContext::batched();
                Admission::hook(&hook(&self.load, number), &context, &self.options)
            }
        };
        Ok(admission?)
    }

    /// Messages that passed their checks.
    ///
    /// # Errors
    ///
    /// One did not.
    pub fn checked(&self, payload: Payload, count: usize) -> Result<Vec<Admission>, Error> {
        (0..count)
            .map(|number| self.check(payload, number))
            .collect()
    }

    /// Admits messages and lets them leave: the requests.
    ///
    /// # Errors
    ///
    /// The machine refuses an input.
    pub fn requests(&mut self, messages: Vec<Admission>) -> Result<Vec<PublishRequest>, Error> {
        for (tag, admission) in messages.into_iter().enumerate() {
            let input = Input::Admit { tag, admission };
            self.machine.handle(self.now, input)?;
        }
        // Past the linger.
        self.now += Duration::from_secs(1);
        let mut requests = Vec::new();
        loop {
            match self.machine.poll(self.now) {
                Step::Do(Output::Send(request)) => requests.push(request),
                Step::Do(_) => {}
                Step::Wait(..) => return Ok(requests),
            }
        }
    }

    /// Answers a request as the server does; the requests that follow, and how many messages were
    /// settled.
    ///
    /// # Errors
    ///
    /// The machine refuses an input.
    pub fn answer(&mut self, response: Response) -> Result<(Vec<PublishRequest>, usize), Error> {
        self.machine.handle(self.now, Input::Response(response))?;
        let (mut requests, mut settled) = (Vec::new(), 0);
        loop {
            match self.machine.poll(self.now) {
                Step::Do(Output::Send(request)) => requests.push(request),
                Step::Do(Output::Settled { outcome, .. }) => {
                    settled += 1;
                    drop(outcome);
                }
                Step::Do(_) => {}
                Step::Wait(..) => return Ok((requests, settled)),
            }
        }
    }

    /// A batch of 1,000 from admission to settlement.
    ///
    /// # Errors
    ///
    /// A message is not settled.
    pub fn cycle(&mut self, payload: Payload) -> Result<(), Error> {
        let messages = self.checked(payload, BATCH_MAX)?;
        let mut settled = 0;
        for request in self.requests(messages)? {
            let count = request.len();
            let (_, sent) = request.encode();
            settled += self.answer(sent.answered(&confirmed(count)))?.1;
        }
        all_settled(settled)
    }

    /// A batch of 1,000 of which one is refused: found by halves.
    ///
    /// # Errors
    ///
    /// A message is not settled.
    pub fn bisect(&mut self) -> Result<(), Error> {
        const POISON: &str = r#""poison":"#;
        let mut messages = self.checked(Payload::Raw, BATCH_MAX)?;
        let mut poisoned = Message::new("x");
        poisoned.attributes.insert("poison", "");
        messages[BATCH_MAX / 3] = Admission::message(poisoned, &self.options)?;
        let mut requests = self.requests(messages)?;
        let mut settled = 0;
        while let Some(request) = requests.pop() {
            let count = request.len();
            let (http, sent) = request.encode();
            let reply = match memchr::memmem::find(http.body(), POISON.as_bytes()) {
                Some(_) => refused(),
                None => confirmed(count),
            };
            let (more, now_settled) = self.answer(sent.answered(&reply))?;
            requests.extend(more);
            settled += now_settled;
        }
        all_settled(settled)
    }
}

fn all_settled(settled: usize) -> Result<(), Error> {
    if settled != BATCH_MAX {
        return Err(format!("{settled} of {BATCH_MAX} messages were settled").into());
    }
    Ok(())
}

/// The reply with so many ids.
#[must_use]
pub fn confirmed(count: usize) -> Reply {
    let ids = (0..count).map(|number| format!("\"{}\"", 8_140_743_286_000_000 + number));
    let ids = ids.collect::<Vec<_>>().join(",");
    reply(200, format!("{{\"messageIds\":[{ids}]}}"))
}

fn refused() -> Reply {
    let document = r#"{"error":{"code":400,"message":"no","status":"INVALID_ARGUMENT"}}"#;
    reply(400, document.to_owned())
}

fn reply(status: u16, body: String) -> Reply {
    Reply {
        status,
        headers: HeaderMap::new(),
        body: body.into(),
        received_at_ms: 0,
    }
}
