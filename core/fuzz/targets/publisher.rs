//! The whole publisher machine under any sequence of what can happen to it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arbitrary::{Arbitrary, Unstructured};
use bytes::Bytes;
use pubsink_core::options::PublisherOptions;
use pubsink_core::publish::{
    Admission, Input, Message, Output, PublishRequest, Publisher, RequestId, Step, WaitReason,
};
use pubsink_core::reason::TransportKind;
use pubsink_core::token::Token;
use pubsink_core::wire::Reply;

/// What the outside does next.
#[derive(Debug, Arbitrary)]
enum Op {
    Admit { tenant: u8, key: u8, size: u16 },
    Wait(u16),
    ToDeadline,
    Answer { which: u8, answer: Answer },
    Authorize { which: u8, token: u8 },
    Lose { which: u8 },
    Flush,
    Close { after: Option<u16> },
}

#[derive(Debug, Arbitrary)]
enum Answer {
    Ids,
    WrongIds,
    Refused,
    TooLarge,
    NotFound,
    Unauthenticated,
    Throttled,
    Server,
    Broken,
    Body(u16, Vec<u8>),
}

const CEILING: usize = 24;

struct World {
    publisher: Publisher<u64>,
    options: Arc<PublisherOptions>,
    now: Instant,
    next_tag: u64,
    open: BTreeSet<u64>,
    flushes: BTreeMap<u64, BTreeSet<u64>>,
    authorizing: VecDeque<RequestId>,
    sent: VecDeque<PublishRequest>,
    deadline: Option<Instant>,
    closed: bool,
}

pub(crate) fn run(data: &[u8]) {
    let mut input = Unstructured::new(data);
    let Ok((authorize, seed)) = input.arbitrary::<(bool, u64)>() else {
        return;
    };
    let options = PublisherOptions::builder("p", "hooks")
        .batch_max_entries(7)
        .batch_max_bytes(3_000)
        .batch_queue_max(CEILING)
        .batch_queue_bytes(60_000)
        .batch_queue_tenant(10)
        .batch_max_inflight(2)
        .build()
        .expect("in range");
    let options = Arc::new(options);
    #[allow(clippy::disallowed_methods)]
    let now = Instant::now();
    let mut world = World {
        publisher: Publisher::new(Arc::clone(&options), authorize, seed),
        options,
        now,
        next_tag: 0,
        open: BTreeSet::new(),
        flushes: BTreeMap::new(),
        authorizing: VecDeque::new(),
        sent: VecDeque::new(),
        deadline: None,
        closed: false,
    };
    for op in input
        .arbitrary_iter::<Op>()
        .into_iter()
        .flatten()
        .take(400)
        .flatten()
    {
        world.apply(op);
        world.drain();
    }
    world.finish();
}

impl World {
    fn apply(&mut self, op: Op) {
        match op {
            Op::Admit { tenant, key, size } => self.admit(tenant, key, size),
            Op::Wait(ms) => self.now += Duration::from_millis(u64::from(ms)),
            Op::ToDeadline => self.now = self.deadline.unwrap_or(self.now).max(self.now),
            Op::Answer { which, answer } => self.answer(which, &answer),
            Op::Authorize { which, token } => self.authorize(which, token),
            Op::Lose { which } => {
                let lost = take(&mut self.sent, which).map(|request| request.id());
                let lost = lost.or_else(|| take(&mut self.authorizing, which));
                if let Some(request) = lost {
                    let detail = "gone".into();
                    self.input(Input::Lost { request, detail });
                }
            }
            Op::Flush => {
                let tag = self.tag();
                self.flushes.insert(tag, self.open.clone());
                self.input(Input::Flush { tag });
            }
            Op::Close { after } => {
                self.closed = true;
                let after = after.map(|ms| self.now + Duration::from_millis(u64::from(ms)));
                self.input(Input::Close { deadline: after });
            }
        }
    }

    fn admit(&mut self, tenant: u8, key: u8, size: u16) {
        let mut message = Message::new(vec![b'x'; usize::from(size % 4_000)]);
        message.attributes.insert("n", self.next_tag.to_string());
        message.tenant = (tenant > 0).then(|| (tenant % 5).to_string());
        if key > 128 {
            message.ordering_key = (key % 4).to_string();
        }
        let admission = Admission::message(message, &self.options).expect("a good message");
        let tag = self.tag();
        self.open.insert(tag);
        self.input(Input::Admit { tag, admission });
    }

    fn answer(&mut self, which: u8, answer: &Answer) {
        let Some(request) = take(&mut self.sent, which) else {
            return;
        };
        let count = request.len();
        let (http, sent) = request.encode();
        assert!(http.body().len() <= 10_485_760 && count <= 7);
        let document = |http: u16, status: &str| Reply {
            status: http,
            body: format!(r#"{{"error":{{"code":{http},"message":"m","status":"{status}"}}}}"#)
                .into(),
            ..Reply::default()
        };
        let ids = |count: usize| Reply {
            status: 200,
            body: format!(r#"{{"messageIds":[{}]}}"#, vec![r#""1""#; count].join(",")).into(),
            ..Reply::default()
        };
        self.input(Input::Response(match answer {
            Answer::Ids => sent.answered(&ids(count)),
            Answer::WrongIds => sent.answered(&ids(count + 1)),
            Answer::Refused => sent.answered(&document(400, "INVALID_ARGUMENT")),
            Answer::TooLarge => sent.answered(&Reply {
                status: 413,
                ..Reply::default()
            }),
            Answer::NotFound => sent.answered(&document(404, "NOT_FOUND")),
            Answer::Unauthenticated => sent.answered(&document(401, "UNAUTHENTICATED")),
            Answer::Throttled => sent.answered(&document(429, "RESOURCE_EXHAUSTED")),
            Answer::Server => sent.answered(&document(500, "INTERNAL")),
            Answer::Broken => sent.failed(TransportKind::Connection, "broke"),
            Answer::Body(status, body) => sent.answered(&Reply {
                status: *status,
                body: Bytes::copy_from_slice(body),
                ..Reply::default()
            }),
        }));
    }

    fn authorize(&mut self, which: u8, token: u8) {
        if let Some(request) = take(&mut self.authorizing, which) {
            let token = match token % 4 {
                0 => Err("none".into()),
                n => Ok(Token::new(&format!("token-{n}")).expect("a token")),
            };
            self.input(Input::Token { request, token });
        }
    }

    fn input(&mut self, input: Input<u64>) {
        self.publisher.handle(self.now, input).expect("no misuse");
    }

    fn tag(&mut self) -> u64 {
        self.next_tag += 1;
        self.next_tag
    }

    /// Does all there is to do now.
    fn drain(&mut self) {
        for _ in 0..10_000 {
            let output = match self.publisher.poll(self.now) {
                Step::Do(output) => output,
                Step::Wait(until, reason) => {
                    assert!(
                        until.is_none_or(|until| until > self.now),
                        "{reason:?} is past"
                    );
                    assert_eq!(
                        reason == WaitReason::Closed,
                        self.closed && self.open.is_empty()
                    );
                    self.deadline = until;
                    let gauges = self.publisher.gauges();
                    assert_eq!(gauges.messages, self.open.len());
                    assert!(gauges.messages <= CEILING && gauges.requests <= 2);
                    return;
                }
            };
            match output {
                Output::Authorize { request, .. } => self.authorizing.push_back(request),
                Output::Send(request) => self.sent.push_back(request),
                Output::Cancel(id) => {
                    self.authorizing.retain(|request| *request != id);
                    self.sent.retain(|request| request.id() != id);
                }
                Output::Settled { tag, .. } => assert!(self.open.remove(&tag), "settled twice"),
                Output::Flushed { tag } => {
                    let before = self.flushes.remove(&tag).expect("flushed twice");
                    assert!(before.is_disjoint(&self.open), "flushed early");
                }
                _ => panic!("an output this target does not know"),
            }
        }
        panic!("the machine never waits");
    }

    /// Whatever happened, all is settled in the end: with answers, or by time alone.
    fn finish(&mut self) {
        self.drain();
        for _ in 0..10_000 {
            if self.open.is_empty() {
                break;
            }
            if self.authorizing.is_empty() && self.sent.is_empty() {
                self.now = self.deadline.expect("something is due while messages wait");
            }
            self.authorize(0, 1);
            self.answer(0, &Answer::Ids);
            self.drain();
        }
        assert!(self.open.is_empty() && self.flushes.is_empty());
        let gauges = self.publisher.gauges();
        assert_eq!((gauges.bytes, gauges.waiting, gauges.requests), (0, 0, 0));
        assert_eq!((gauges.ordering_keys, gauges.tenants), (0, 0));
    }
}

fn take<T>(queue: &mut VecDeque<T>, which: u8) -> Option<T> {
    let index = usize::from(which) % queue.len().max(1);
    queue.remove(index)
}
