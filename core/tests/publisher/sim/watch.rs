//! What holds at every step of every simulation, whatever the test looks at.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pubsink_core::limits::{REQUEST_MAX_BODY_BYTES, REQUEST_MAX_PROTOBUF_BYTES};
use pubsink_core::options::{PublisherOptions, Wire};
use pubsink_core::publish::{Gauges, Input, Output, RequestId};
use pubsink_core::testing::Event;

use super::holding::Holding;
use super::look::Tagged as _;
use super::{Recorded, origin, protobuf};

#[derive(Debug)]
pub(crate) struct Watch {
    options: Arc<PublisherOptions>,
    /// Everything that came out.
    pub(crate) shown: String,
    pub(crate) asked: Vec<(Duration, bool)>,
    pub(crate) cancelled: Vec<RequestId>,
    /// The most requests that were on the wire at once: batched, direct.
    pub(crate) most_in_flight: [usize; 2],
    held: BTreeMap<u64, Held>,
    bytes: usize,
    /// How many of each tenant are held.
    tenants: BTreeMap<Option<String>, usize>,
    /// Requests on the wire: whether direct, and their ordering key.
    open: BTreeMap<RequestId, (bool, String)>,
    /// What is about to be sent, and how many messages it says it has.
    leaving: Option<(RequestId, usize)>,
    /// Unsettled messages of before each flush that waits.
    flushes: Vec<(u64, BTreeSet<u64>)>,
    holding: Holding,
    /// When closing gives up.
    deadline: Option<Instant>,
}

#[derive(Debug)]
struct Held {
    size: usize,
    tenant: Option<String>,
    direct: bool,
}

impl Watch {
    pub(crate) fn new(options: &Arc<PublisherOptions>) -> Self {
        Self {
            options: Arc::clone(options),
            shown: String::new(),
            asked: Vec::new(),
            cancelled: Vec::new(),
            most_in_flight: [0, 0],
            held: BTreeMap::new(),
            bytes: 0,
            tenants: BTreeMap::new(),
            open: BTreeMap::new(),
            leaving: None,
            flushes: Vec::new(),
            holding: Holding::new(options),
            deadline: None,
        }
    }

    /// Messages without an outcome.
    pub(crate) fn held(&self) -> usize {
        self.held.len()
    }

    pub(crate) fn flushes(&self) -> usize {
        self.flushes.len()
    }

    pub(crate) fn see(&mut self, at: Duration, event: Event<'_, u64>) {
        match event {
            Event::Input(input) => self.before(input),
            Event::Handled(gauges) => self.check(&gauges),
            Event::Output(output) => self.after(at, output),
            Event::Request(request) => self.sent(request),
            other => panic!("an event the watch does not know: {other:?}"),
        }
    }

    fn before(&mut self, input: &Input<u64>) {
        self.holding.before(input);
        match input {
            Input::Admit { tag, admission } => {
                let held = Held {
                    size: admission.size(),
                    tenant: admission.tenant().map(ToString::to_string),
                    direct: admission.is_direct(),
                };
                self.bytes += held.size;
                *self.tenants.entry(held.tenant.clone()).or_default() += 1;
                assert!(
                    self.held.insert(*tag, held).is_none(),
                    "a test reuses tag {tag}"
                );
            }
            Input::Flush { tag } => {
                let before = self.held.keys().copied().collect();
                self.flushes.push((*tag, before));
            }
            Input::Close { deadline } => self.deadline = *deadline,
            Input::Response(response) => {
                self.open.remove(&response.id());
            }
            Input::Lost { request, .. } => {
                self.open.remove(request);
            }
            _ => {}
        }
    }

    /// The ceilings hold. A refused message is among ours until its outcome is out.
    fn check(&self, gauges: &Gauges) {
        self.holding.check(gauges);
        let options = &self.options;
        assert!(gauges.messages <= options.batch_queue_max());
        assert!(gauges.bytes <= options.batch_queue_bytes() || gauges.messages == 1);
        let most = options.batch_max_inflight() + options.sink_concurrency();
        assert!(gauges.requests <= most);
        assert!(gauges.messages <= self.held.len() && gauges.bytes <= self.bytes);
        assert!(gauges.waiting <= gauges.messages);
        assert!(gauges.tenants <= self.tenants.len());
        assert!(gauges.messages <= gauges.tenants * options.batch_queue_tenant());
    }

    fn after(&mut self, at: Duration, output: &Output<u64>) {
        writeln!(self.shown, "{at:?} {output:?}").unwrap();
        match output {
            Output::Authorize { refused, .. } => {
                self.assert_open(at);
                self.asked.push((at, refused.is_some()));
            }
            Output::Send(request) => {
                self.assert_open(at);
                self.leaving = Some((request.id(), request.len()));
            }
            Output::Cancel(id) => {
                self.cancelled.push(*id);
                self.open.remove(id);
            }
            Output::Settled { tag, outcome } => {
                self.holding.settled(*tag, outcome);
                let held = self.held.remove(tag);
                let held = held.unwrap_or_else(|| panic!("{tag} is not held"));
                self.bytes -= held.size;
                let count = self.tenants.get_mut(&held.tenant).unwrap();
                *count -= 1;
                if *count == 0 {
                    self.tenants.remove(&held.tenant);
                }
                for (_, before) in &mut self.flushes {
                    before.remove(tag);
                }
            }
            Output::Flushed { tag } => {
                let (first, before) = self.flushes.remove(0);
                assert_eq!(first, *tag, "flushes end in order");
                assert!(before.is_empty(), "flush {tag} ended before {before:?}");
            }
            _ => {}
        }
    }

    fn assert_open(&self, at: Duration) {
        let late = self
            .deadline
            .is_some_and(|deadline| deadline <= origin() + at);
        assert!(!late, "a request after the deadline of closing");
    }

    /// A request keeps every limit, and so do those on the wire together.
    fn sent(&mut self, request: &Recorded) {
        assert_eq!(
            self.leaving.take(),
            Some((request.id, request.messages.len()))
        );
        self.holding.sent(request);
        let (messages, options) = (&request.messages, &self.options);
        let held: Vec<_> = messages
            .iter()
            .map(|message| &self.held[&message.tag()])
            .collect();
        let direct = held[0].direct;
        assert!(held.iter().all(|held| held.direct == direct));
        let key = messages[0].ordering_key.clone();
        assert!(
            messages.iter().all(|message| message.ordering_key == key),
            "one key a request"
        );
        let most = if direct {
            1
        } else {
            options.batch_max_entries()
        };
        assert!(
            messages.len() <= most,
            "{} messages in a request",
            messages.len()
        );
        let data: usize = messages.iter().map(|message| message.data.len()).sum();
        assert!(
            data <= options.batch_max_bytes() || messages.len() == 1,
            "{data} bytes of data"
        );
        let protobuf = protobuf::publish_request(options.topic_name(), messages);
        assert!(protobuf.len() <= REQUEST_MAX_PROTOBUF_BYTES);
        match options.wire() {
            Wire::Rest => {
                assert!(request.body().len() <= REQUEST_MAX_BODY_BYTES);
                assert_nothing_is_empty(request.body());
            }
            Wire::Grpc => assert_eq!(*request.body(), protobuf::framed(&protobuf)),
        }

        let same_key = self
            .open
            .values()
            .any(|(_, open)| !key.is_empty() && *open == key);
        assert!(!same_key, "{key:?} has two requests in flight");
        let twice = self.open.insert(request.id, (direct, key));
        assert!(twice.is_none(), "{:?} was sent twice at once", request.id);
        let in_flight = self
            .open
            .values()
            .filter(|(open, _)| *open == direct)
            .count();
        let max = match direct {
            true => options.sink_concurrency(),
            false => options.batch_max_inflight(),
        };
        assert!(in_flight <= max, "{in_flight} requests in flight");
        let most = &mut self.most_in_flight[usize::from(direct)];
        *most = in_flight.max(*most);
    }
}

/// What is empty is left out, as the format says.
fn assert_nothing_is_empty(body: &[u8]) {
    let body: serde_json::Value = serde_json::from_slice(body).unwrap();
    for message in body["messages"].as_array().unwrap() {
        let members = message.as_object().unwrap();
        let empty = |value: &serde_json::Value| *value == "" || *value == serde_json::json!({});
        assert!(
            !members.is_empty() && !members.values().any(empty),
            "{message}"
        );
    }
}
