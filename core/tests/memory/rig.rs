//! A publisher machine without ceilings, and a server that takes everything.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use pubsink_core::attributes::Attributes;
use pubsink_core::http::HeaderMap;
use pubsink_core::options::PublisherOptions;
use pubsink_core::publish::{Admission, Input, Message, Output, Publisher, Step};
use pubsink_core::wire::Reply;

use crate::count::Counts;

/// A machine, and what answers it.
pub(crate) struct Rig {
    options: Arc<PublisherOptions>,
    machine: Publisher<u64>,
    now: Instant,
    /// As the driver has it: buffers are used again.
    buffers: Vec<Vec<u8>>,
    /// By how many ids they have.
    replies: BTreeMap<usize, Reply>,
}

/// How often each phase allocated, beside what the caller did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Allocations {
    pub(crate) admission: usize,
    /// Requests, their encoding, and settlements.
    pub(crate) sending: usize,
    pub(crate) requests: usize,
}

impl Rig {
    /// With at most `batch` messages in a request.
    pub(crate) fn new(batch: usize) -> Self {
        let options = PublisherOptions::builder("p", "hooks")
            .batch_max_entries(batch)
            .batch_queue_max(usize::MAX)
            .batch_queue_bytes(usize::MAX)
            .batch_queue_tenant(usize::MAX);
        let options = Arc::new(options.build().unwrap());
        Self {
            machine: Publisher::new(Arc::clone(&options), false, 1),
            options,
            now: Instant::now(),
            buffers: Vec::new(),
            replies: BTreeMap::new(),
        }
    }

    /// Admits messages, sends them and settles them, `window` at a time.
    pub(crate) fn cycle(
        &mut self,
        count: usize,
        window: usize,
        message: impl Fn(usize) -> Message,
    ) -> Allocations {
        let mut all = Allocations::default();
        for start in (0..count).step_by(window) {
            all.admission += self.admit(start..start + window, &message).1;
            let (sending, requests) = self.settle();
            all.sending += sending;
            all.requests += requests;
        }
        all
    }

    /// Admits the messages of these numbers: the bytes that their caller allocated for them, and how
    /// often the admission allocated.
    pub(crate) fn admit(
        &mut self,
        numbers: Range<usize>,
        message: impl Fn(usize) -> Message,
    ) -> (usize, usize) {
        let (mut callers, mut allocations) = (0, 0);
        for number in numbers {
            let before = Counts::now();
            let message = message(number);
            let made = Counts::now();
            self.now += Duration::from_micros(1);
            let admission = Admission::message(message, &self.options).unwrap();
            let admitted = self.machine.try_admit(self.now, number as u64, admission);
            assert_eq!(admitted, Ok(()));
            callers += made.held - before.held;
            allocations += Counts::now().allocations - made.allocations;
        }
        (usize::try_from(callers).unwrap(), allocations)
    }

    /// Lets go of what the machine's driver keeps.
    pub(crate) fn forget_buffers(&mut self) {
        self.buffers = Vec::new();
    }

    /// Sends and settles all that waits: how often that allocated, and how many requests it took.
    fn settle(&mut self) -> (usize, usize) {
        // Past the linger.
        self.now += Duration::from_secs(1);
        let (mut allocations, mut requests) = (0, 0);
        loop {
            let before = Counts::now();
            let step = self.machine.poll(self.now);
            match step {
                Step::Do(Output::Send(request)) => {
                    let count = request.len();
                    let (http, sent) = request.encode_in(self.buffers.pop().unwrap_or_default());
                    drop(http);
                    let replies = self.replies.entry(count);
                    let reply = replies.or_insert_with(|| confirmed(count));
                    let mut response = sent.answered(reply);
                    self.buffers.extend(response.take_buffer());
                    let input = Input::Response(response);
                    self.machine.handle(self.now, input).unwrap();
                    requests += 1;
                }
                Step::Do(Output::Settled { outcome, .. }) => drop(outcome.unwrap()),
                Step::Do(other) => panic!("{other:?}"),
                Step::Wait(..) => {
                    assert_eq!(self.machine.gauges().messages, 0);
                    return (allocations, requests);
                }
            }
            allocations += Counts::now().allocations - before.allocations;
        }
    }
}

fn confirmed(count: usize) -> Reply {
    let ids: Vec<_> = (0..count)
        .map(|number| format!("\"{}\"", 8_140_743_286_000_000 + number as u64))
        .collect();
    Reply {
        status: 200,
        headers: HeaderMap::new(),
        body: format!("{{\"messageIds\":[{}]}}", ids.join(",")).into(),
        received_at_ms: 0,
    }
}

const PAIRS: [(&str, &str); 6] = [
    ("ankusa_id", "019ad465-4e4c-7650-a69e-0d37f2a74de4"),
    ("ankusa_source_id", "git"),
    ("ankusa_tenant_id", "acme"),
    ("ankusa_message_version", "1"),
    ("content_type", "application/json"),
    ("zone", "b"),
];

/// Data and attributes are clones of one.
pub(crate) fn shared(_: usize) -> Message {
    static DATA: LazyLock<Bytes> = LazyLock::new(|| vec![b'x'; 100].into());
    static ATTRIBUTES: LazyLock<Attributes> = LazyLock::new(|| PAIRS.into_iter().collect());
    let mut message = Message::new(DATA.clone());
    message.attributes = ATTRIBUTES.clone();
    message
}

/// Data and attributes are each message's own.
pub(crate) fn own(_: usize) -> Message {
    let mut message = Message::new(vec![b'x'; 100]);
    message.attributes = PAIRS
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    message
}

/// One of a hundred tenants' in turns.
pub(crate) fn tenanted(number: usize) -> Message {
    let mut message = shared(number);
    message.tenant = Some(format!("tenant-{:02}", number % 100));
    message
}

/// With an ordering key that no other message has.
pub(crate) fn keyed(number: usize) -> Message {
    let mut message = shared(number);
    message.ordering_key = format!("order-{number:06}");
    message
}
