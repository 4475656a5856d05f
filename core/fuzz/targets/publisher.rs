//! The whole publisher machine under any sequence of what can happen to it, and its replay.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::{Duration, Instant};

use arbitrary::{Arbitrary, Unstructured};
use bytes::Bytes;
use pubsink_core::options::{OrderingOnFailure, PublisherOptions};
use pubsink_core::publish::{Gauges, Input, Message, Output};
use pubsink_core::testing::{Answer, Event, Simulation, TokenAnswer, trace};

#[derive(Debug, Arbitrary)]
struct Script {
    /// Its highest bit says whether a failure stops its key.
    seed: u64,
    /// What the token provider does, over and over; where nothing, there is none.
    tokens: Vec<TokenAnswer>,
    /// What the server does, over and over.
    answers: Vec<Answer>,
    acts: Vec<Act>,
}

/// What the caller does next.
#[derive(Debug, Clone, Copy, Arbitrary)]
enum Act {
    Admit {
        tenant: u8,
        key: u8,
        size: u16,
    },
    /// The longest ones resume a key instead, or all; so earlier inputs keep their meaning.
    Wait(u16),
    Flush,
    Close {
        after: Option<u16>,
    },
}

const CEILING: usize = 24;
const STOPPED_MAX: usize = 2;

/// What always holds.
#[derive(Default)]
struct Watch {
    open: BTreeSet<u64>,
    flushes: BTreeMap<u64, BTreeSet<u64>>,
}

pub(crate) fn run(data: &[u8]) {
    let Ok(script) = Script::arbitrary_take_rest(Unstructured::new(data)) else {
        return;
    };
    let on_failure = match script.seed >> 63 {
        0 => OrderingOnFailure::Continue,
        _ => OrderingOnFailure::Hold,
    };
    let options = PublisherOptions::builder("p", "hooks")
        .ordering_on_failure(on_failure)
        .max_stopped_keys(STOPPED_MAX)
        .batch_max_entries(7)
        .batch_max_bytes(3_000)
        .batch_queue_max(CEILING)
        .batch_queue_bytes(60_000)
        .batch_queue_tenant(10)
        .batch_max_inflight(2)
        .build()
        .expect("in range");
    #[allow(clippy::disallowed_methods)]
    let start = Instant::now();
    let watch = Rc::new(RefCell::new(Watch::default()));
    let watcher = Rc::clone(&watch);
    let mut builder = Simulation::builder(options, start)
        .seed(script.seed)
        .watch(move |_, event| watcher.borrow_mut().see(&event))
        .record();
    if !script.tokens.is_empty() {
        let mut tokens = script.tokens.into_iter().cycle();
        builder = builder.tokens(move |_| tokens.next().expect("there are some"));
    }
    let mut answers = script.answers.into_iter().cycle();
    let server = move |_: &_| answers.next().unwrap_or_else(Answer::stored);
    let mut sim = builder.serve(server);
    for (tag, act) in (1..).zip(script.acts).take(400) {
        apply(&mut sim, tag, act);
        sim.drain();
    }
    sim.run();
    // Whatever happened, all is settled in the end: with answers, or by time alone.
    sim.resume_all();
    assert_eq!(sim.machine().gauges(), Gauges::default());
    let watch = watch.borrow();
    assert!(watch.open.is_empty() && watch.flushes.is_empty());
    let trace = sim.trace();
    if let Err(error) = trace::replay(&trace, start) {
        panic!("{error}");
    }
}

fn apply(sim: &mut Simulation<u64>, tag: u64, act: Act) {
    match act {
        Act::Admit { tenant, key, size } => {
            let mut message = Message::new(Bytes::from(vec![b'x'; usize::from(size % 4_000)]));
            message.attributes.insert("n", tag.to_string());
            message.tenant = (tenant > 0).then(|| (tenant % 5).to_string());
            if key > 128 {
                message.ordering_key = (key % 4).to_string();
            }
            sim.admit(tag, message);
        }
        Act::Wait(u16::MAX) => sim.resume_all(),
        Act::Wait(key @ 0xFFF0..) => sim.resume(&(key % 4).to_string()),
        Act::Wait(ms) => sim.run_until(sim.elapsed() + Duration::from_millis(ms.into())),
        Act::Flush => sim.flush(tag),
        Act::Close { after } => sim.close(after.map(|ms| Duration::from_millis(ms.into()))),
    }
}

impl Watch {
    fn see(&mut self, event: &Event<'_, u64>) {
        match event {
            Event::Input(Input::Admit { tag, .. }) => assert!(self.open.insert(*tag)),
            Event::Input(Input::Flush { tag }) => {
                self.flushes.insert(*tag, self.open.clone());
            }
            Event::Handled(gauges) => {
                assert!(gauges.stopped_keys <= STOPPED_MAX);
                assert!(gauges.messages <= CEILING.min(self.open.len()) && gauges.requests <= 2);
            }
            Event::Output(Output::Settled { tag, .. }) => {
                assert!(self.open.remove(tag), "settled twice");
            }
            Event::Output(Output::Flushed { tag }) => {
                let before = self.flushes.remove(tag).expect("flushed twice");
                assert!(before.is_disjoint(&self.open), "flushed early");
            }
            Event::Request(request) => {
                assert!(request.body().len() <= 10_485_760 && request.messages.len() <= 7);
            }
            _ => {}
        }
    }
}
