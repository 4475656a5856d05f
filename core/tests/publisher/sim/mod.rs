//! A publisher machine on simulated time: a driver that does no I/O, against a scripted server.
//!
//! Time jumps to the next deadline or event, never in ticks, so a forgotten deadline shows as
//! work that is never done.

// Each test binary uses its own part of this module.
#![allow(dead_code)]

pub(crate) mod answers;
pub(crate) mod decode;
pub(crate) mod look;
pub(crate) mod messages;
pub(crate) mod protobuf;
pub(crate) mod watch;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::AUTHORIZATION;
use pubsink_core::failure::Outcome;
use pubsink_core::options::{PublisherOptions, PublisherOptionsBuilder};
use pubsink_core::publish::{
    Admission, Input, Message, Misuse, Output, PublishRequest, Publisher, RequestId, Step,
    WaitReason,
};
use pubsink_core::token::Token;

use answers::{Answer, TokenAnswer, What};
use decode::DecodedMessage;
use watch::Watch;

/// What the machine is driven by: everything a server and a token provider do.
pub(crate) struct Sim {
    pub(crate) publisher: Publisher<u64>,
    /// How long a server takes to answer.
    pub(crate) latency: Duration,
    /// Every request, in the order they were sent.
    pub(crate) requests: Vec<Recorded>,
    /// What the server stored, in order, under its id.
    pub(crate) stored: Vec<(String, DecodedMessage)>,
    pub(crate) settled: BTreeMap<u64, Settled>,
    pub(crate) flushed: Vec<(u64, Duration)>,
    /// When the token provider was asked, and whether for a fresh token.
    pub(crate) asked: Vec<(Duration, bool)>,
    pub(crate) cancelled: Vec<RequestId>,
    /// Everything that came out, where it is wanted.
    pub(crate) trace: Option<String>,
    pub(crate) watch: Watch,
    now: Instant,
    events: BTreeMap<(Instant, u64), Input<u64>>,
    scheduled: u64,
    server: Server,
    tokens: Tokens,
}

type Server = Box<dyn FnMut(&Recorded) -> Answer>;
type Tokens = Box<dyn FnMut(Option<&Token>) -> TokenAnswer>;

/// A request as the server saw it.
#[derive(Debug, Clone)]
pub(crate) struct Recorded {
    pub(crate) id: RequestId,
    pub(crate) at: Duration,
    pub(crate) messages: Vec<DecodedMessage>,
    pub(crate) body: Bytes,
    /// The `authorization` header.
    pub(crate) authorization: Option<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct Settled {
    pub(crate) at: Duration,
    pub(crate) outcome: Outcome,
}

/// The same beginning of time for every simulation, so that equal runs look equal.
pub(crate) fn origin() -> Instant {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    #[expect(
        clippy::disallowed_methods,
        reason = "simulated time has to begin somewhere"
    )]
    *ORIGIN.get_or_init(Instant::now)
}

pub(crate) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub(crate) fn options(
    set: impl FnOnce(PublisherOptionsBuilder) -> PublisherOptionsBuilder,
) -> Arc<PublisherOptions> {
    let builder = PublisherOptions::builder("proj", "hooks");
    Arc::new(set(builder).build().unwrap())
}

pub(crate) fn defaults() -> Arc<PublisherOptions> {
    options(|builder| builder)
}

impl Sim {
    /// A publisher without credentials.
    pub(crate) fn new(
        options: &Arc<PublisherOptions>,
        server: impl FnMut(&Recorded) -> Answer + 'static,
    ) -> Self {
        Self::build(
            options,
            false,
            Box::new(server),
            Box::new(|_| TokenAnswer::never()),
        )
    }

    /// A publisher that asks `tokens` before each request; given the refused token where there is
    /// one.
    pub(crate) fn authorized(
        options: &Arc<PublisherOptions>,
        tokens: impl FnMut(Option<&Token>) -> TokenAnswer + 'static,
        server: impl FnMut(&Recorded) -> Answer + 'static,
    ) -> Self {
        Self::build(options, true, Box::new(server), Box::new(tokens))
    }

    fn build(
        options: &Arc<PublisherOptions>,
        authorize: bool,
        server: Server,
        tokens: Tokens,
    ) -> Self {
        Self {
            publisher: Publisher::new(Arc::clone(options), authorize, 42),
            latency: ms(50),
            requests: Vec::new(),
            stored: Vec::new(),
            settled: BTreeMap::new(),
            flushed: Vec::new(),
            asked: Vec::new(),
            cancelled: Vec::new(),
            trace: None,
            watch: Watch::new(options),
            now: origin(),
            events: BTreeMap::new(),
            scheduled: 0,
            server,
            tokens,
        }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.now - origin()
    }

    /// Admits a plain message now.
    pub(crate) fn admit(&mut self, tag: u64, message: Message) {
        let admission = Admission::message(message, self.publisher.options()).unwrap();
        self.handle(Input::Admit { tag, admission }).unwrap();
    }

    /// Admits a message that is sent in a request of its own.
    pub(crate) fn admit_direct(&mut self, tag: u64, message: Message) {
        let admission = messages::direct(message);
        self.handle(Input::Admit { tag, admission }).unwrap();
    }

    pub(crate) fn flush(&mut self, tag: u64) {
        self.handle(Input::Flush { tag }).unwrap();
    }

    /// Closes it; `deadline` counts from now.
    pub(crate) fn close(&mut self, deadline: Option<Duration>) {
        let deadline = deadline.map(|after| self.now + after);
        self.handle(Input::Close { deadline }).unwrap();
    }

    /// Gives the machine `input` now.
    pub(crate) fn handle(&mut self, input: Input<u64>) -> Result<(), Misuse> {
        self.watch.before(&input);
        let result = self.publisher.handle(self.now, input);
        self.watch.check(&self.publisher.gauges());
        result
    }

    /// Has `input` happen `after` from now.
    pub(crate) fn schedule(&mut self, after: Duration, input: Input<u64>) {
        self.scheduled += 1;
        self.events
            .insert((self.now + after, self.scheduled), input);
    }

    /// Does all there is to do now, and says what the machine waits for.
    pub(crate) fn drain(&mut self) -> (Option<Duration>, WaitReason) {
        let mut polls = 0_u32;
        loop {
            polls += 1;
            assert!(polls < 100_000, "the machine never waits");
            match self.publisher.poll(self.now) {
                Step::Do(output) => self.perform(output),
                Step::Wait(due, reason) => {
                    assert!(
                        due.is_none_or(|due| due > self.now),
                        "a wait in the past: {reason:?}"
                    );
                    return (due.map(|due| due - origin()), reason);
                }
            }
        }
    }

    /// Runs until nothing is left to happen.
    pub(crate) fn run(&mut self) {
        self.run_to(None);
    }

    /// Runs until `end` after the beginning, and stands there.
    pub(crate) fn run_until(&mut self, end: Duration) {
        self.run_to(Some(origin() + end));
    }

    fn run_to(&mut self, end: Option<Instant>) {
        loop {
            let (due, reason) = self.drain();
            let due = due.map(|due| origin() + due);
            let event = self.events.first_key_value().map(|((at, _), _)| *at);
            let Some(next) = due.into_iter().chain(event).min() else {
                self.now = end.unwrap_or(self.now);
                return;
            };
            if let Some(end) = end.filter(|end| *end < next) {
                self.now = end;
                return;
            }
            self.now = next;
            if event == Some(next) {
                self.happen();
            } else {
                let outputs = self.watch.outputs;
                let wait = self.drain();
                let progress = self.watch.outputs > outputs;
                assert!(
                    progress,
                    "nothing was due at {next:?} for {reason:?}; then {wait:?}"
                );
            }
        }
    }

    /// Gives the machine every event that is due, and lets it act between them.
    fn happen(&mut self) {
        while let Some(event) = self
            .events
            .first_entry()
            .filter(|event| event.key().0 <= self.now)
        {
            let input = event.remove();
            self.handle(input).unwrap();
            self.drain();
        }
    }

    fn perform(&mut self, output: Output<u64>) {
        self.watch.after(self.now, &output);
        if let Some(trace) = &mut self.trace {
            let at = self.now - origin();
            writeln!(trace, "{at:?} {output:?}").unwrap();
        }
        match output {
            Output::Authorize { request, refused } => self.authorize(request, refused.as_ref()),
            Output::Send(request) => self.send(request),
            Output::Cancel(id) => self.cancelled.push(id),
            Output::Settled { tag, outcome } => {
                let at = self.elapsed();
                let before = self.settled.insert(tag, Settled { at, outcome });
                assert!(before.is_none(), "{tag} was settled twice");
            }
            Output::Flushed { tag } => self.flushed.push((tag, self.elapsed())),
            other => panic!("an output the simulation does not know: {other:?}"),
        }
    }

    fn authorize(&mut self, request: RequestId, refused: Option<&Token>) {
        self.asked.push((self.elapsed(), refused.is_some()));
        let answer = (self.tokens)(refused);
        if let Some(token) = answer.token {
            self.schedule(answer.after, Input::Token { request, token });
        } else if answer.lost {
            let detail = "the provider is gone".into();
            self.schedule(answer.after, Input::Lost { request, detail });
        }
    }

    fn send(&mut self, request: PublishRequest) {
        let (id, len) = (request.id(), request.len());
        assert!(!request.is_empty());
        let (http, sent) = request.encode();
        assert_eq!(sent.id(), id);
        let header = http.headers().get(AUTHORIZATION);
        let recorded = Recorded {
            id,
            at: self.elapsed(),
            messages: decode::body(http.body()),
            body: http.body().clone(),
            authorization: header.map(|value| value.to_str().unwrap().to_owned()),
        };
        assert_eq!(recorded.messages.len(), len);
        self.watch.sent(&recorded);
        let answer = (self.server)(&recorded);
        let first = self.stored.len();
        if answer.stored {
            for message in &recorded.messages {
                let id = format!("id-{}", self.stored.len());
                self.stored.push((id, message.clone()));
            }
        }
        self.requests.push(recorded);
        let after = answer.after.unwrap_or(self.latency);
        let input = match answer.what {
            What::Ids => {
                let ids = self.stored[first..].iter().map(|(id, _)| id.as_str());
                Input::Response(sent.answered(&answers::ids(ids)))
            }
            What::Reply(reply) => Input::Response(sent.answered(&reply)),
            What::Failed(kind) => Input::Response(sent.failed(kind, "it broke")),
            What::Lost => Input::Lost {
                request: id,
                detail: "the task is gone".into(),
            },
            What::Never => return,
        };
        self.schedule(after, input);
    }
}
