//! A plan of what happens to a publisher, and its run.

mod faults;
mod strategy;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use pubsink_core::options::{OrderingOnFailure, PublisherOptions, Wire};
use pubsink_core::publish::{Admission, Input, Message};
use pubsink_core::testing::SimulationBuilder;

use crate::sim::answers::{Answer, TokenAnswer};
use crate::sim::look::Tagged as _;
use crate::sim::{Recorded, Sim, messages, ms};

use faults::{Fault, TokenFault};
pub(crate) use strategy::plans;

#[derive(Debug, Clone)]
pub(crate) struct Plan {
    limits: Limits,
    authorize: bool,
    wire: Wire,
    /// What happens, each so many ms after the one before.
    acts: Vec<(u64, Act)>,
    /// What the server does with each request and how long it takes, over and over.
    faults: Vec<(Fault, u64)>,
    tokens: Vec<(TokenFault, u64)>,
}

#[derive(Debug, Clone)]
struct Limits {
    linger: u64,
    timeout: u64,
    entries: usize,
    data: usize,
    queue: usize,
    queue_bytes: usize,
    queue_tenant: usize,
    inflight: usize,
    concurrency: usize,
    /// Whether a failure stops its key, and how many keys are remembered then.
    hold: Option<usize>,
}

#[derive(Debug, Clone)]
enum Act {
    Admit(Arrival),
    Flush,
    /// Of one key, or of all.
    Resume(Option<u8>),
    /// With a deadline so many ms away.
    Close(Option<u64>),
}

#[derive(Debug, Clone)]
struct Arrival {
    tenant: Option<u8>,
    /// 0 is none.
    key: u8,
    size: usize,
    direct: bool,
    /// The server refuses every request it is in.
    poisoned: bool,
    attempt: u32,
    resumes_key: bool,
}

/// What a plan came to.
pub(crate) struct Run {
    pub(crate) sim: Sim,
    pub(crate) authorized: bool,
    pub(crate) log: Rc<RefCell<Log>>,
}

/// What the server and the provider said that has consequences.
#[derive(Debug, Default)]
pub(crate) struct Log {
    /// Requests of several messages that were refused.
    pub(crate) halved: usize,
    pub(crate) unauthenticated: usize,
    /// Times the provider gave no token.
    pub(crate) no_token: usize,
}

impl Plan {
    pub(crate) fn run(&self) -> Run {
        let log = Rc::new(RefCell::new(Log::default()));
        let (options, server) = (self.options(), self.server(&log));
        let set = |builder: SimulationBuilder<u64>| match self.authorize {
            true => builder.record().tokens(self.provider(&log)),
            false => builder.record(),
        };
        let mut sim = Sim::build(&options, set, server);
        for (at, tag, act) in self.timeline() {
            sim.run_until(ms(at));
            match act {
                Act::Admit(arrival) => {
                    let admission = arrival.admission(tag, &options);
                    sim.handle(Input::Admit { tag, admission }).unwrap();
                }
                Act::Flush => sim.flush(tag),
                Act::Resume(Some(key)) => sim.resume(&name_of(*key)),
                Act::Resume(None) => sim.resume_all(),
                Act::Close(deadline) => sim.close(deadline.map(ms)),
            }
        }
        sim.run();
        Run {
            sim,
            authorized: self.authorize,
            log,
        }
    }

    pub(crate) fn tags(&self) -> BTreeSet<u64> {
        let admits = self
            .timeline()
            .filter(|(.., act)| matches!(act, Act::Admit(_)));
        admits.map(|(_, tag, _)| tag).collect()
    }

    pub(crate) fn flushes(&self) -> Vec<u64> {
        let flushes = self
            .timeline()
            .filter(|(.., act)| matches!(act, Act::Flush));
        flushes.map(|(_, tag, _)| tag).collect()
    }

    pub(crate) fn key_of(&self, tag: u64) -> String {
        match self.timeline().find(|(_, other, _)| *other == tag) {
            Some((.., Act::Admit(arrival))) => arrival.key(),
            other => panic!("{tag} is {other:?}"),
        }
    }

    /// Every act with its instant and its number.
    fn timeline(&self) -> impl Iterator<Item = (u64, u64, &Act)> {
        let mut at = 0;
        (1..).zip(&self.acts).map(move |(tag, (gap, act))| {
            at += gap;
            (at, tag, act)
        })
    }

    fn options(&self) -> Arc<PublisherOptions> {
        let limits = &self.limits;
        crate::sim::options(|mut b| {
            if let Some(max) = limits.hold {
                b = b
                    .ordering_on_failure(OrderingOnFailure::Hold)
                    .max_stopped_keys(max);
            }
            b.wire(self.wire)
                .batch_linger(ms(limits.linger))
                .timeout(ms(limits.timeout))
                .batch_max_entries(limits.entries)
                .batch_max_bytes(limits.data)
                .batch_queue_max(limits.queue)
                .batch_queue_bytes(limits.queue_bytes)
                .batch_queue_tenant(limits.queue_tenant)
                .batch_max_inflight(limits.inflight)
                .sink_concurrency(limits.concurrency)
        })
    }

    fn server(&self, log: &Rc<RefCell<Log>>) -> impl FnMut(&Recorded) -> Answer + 'static {
        let mut faults = self.faults.clone().into_iter().cycle();
        let timeline = self.timeline();
        let poisoned: BTreeSet<_> = timeline
            .filter(|(.., act)| matches!(act, Act::Admit(arrival) if arrival.poisoned))
            .map(|(_, tag, _)| tag)
            .collect();
        let log = Rc::clone(log);
        move |request| {
            let (mut fault, after) = faults.next().unwrap();
            let tags = request.messages.iter().map(|message| message.tag());
            if fault.stores() && tags.into_iter().any(|tag| poisoned.contains(&tag)) {
                fault = Fault::Refused;
            }
            let mut log = log.borrow_mut();
            log.unauthenticated += usize::from(fault == Fault::Unauthenticated);
            let halves = matches!(fault, Fault::Refused | Fault::TooLarge);
            log.halved += usize::from(halves && request.messages.len() > 1);
            fault.answer(request.messages.len()).after(ms(after))
        }
    }

    fn provider(
        &self,
        log: &Rc<RefCell<Log>>,
    ) -> impl FnMut(Option<&pubsink_core::token::Token>) -> TokenAnswer + 'static {
        let mut tokens = self.tokens.clone().into_iter().cycle();
        let log = Rc::clone(log);
        move |_| {
            let (fault, after) = tokens.next().unwrap();
            log.borrow_mut().no_token += usize::from(!fault.gives());
            fault.answer().after(ms(after))
        }
    }
}

impl Arrival {
    fn key(&self) -> String {
        name_of(self.key)
    }

    fn admission(&self, tag: u64, options: &PublisherOptions) -> Admission {
        let message = Message {
            tenant: self.tenant.map(|tenant| tenant.to_string()),
            ordering_key: self.key(),
            ..messages::sized(tag, 6 + self.size)
        };
        let admission = if self.direct {
            messages::direct(message)
        } else {
            Admission::message(message, options).unwrap()
        };
        let admission = admission.with_attempt(self.attempt);
        match self.resumes_key {
            true => admission.resuming_key(),
            false => admission,
        }
    }
}

fn name_of(key: u8) -> String {
    match key {
        0 => String::new(),
        key => format!("key {key}"),
    }
}
