//! A dispatcher with a publisher to a server that does what a hook's id says.

use std::time::Duration;

use pubsink_fixtures::broker::{PubsubMessage, Status};
use pubsink_fixtures::faults::{Action, Match, Rule};
use pubsink_fixtures::server::Server;
use pubsink_runtime::core::dispatch::{DispatchOptions, Event, Settled};
use pubsink_runtime::core::failure::Failure;
use pubsink_runtime::core::journal::{DeadId, DeadLetter, Filter};
use pubsink_runtime::core::options::PublisherOptions;
use pubsink_runtime::core::retry::RetryPolicy;
use pubsink_runtime::core::token::Token;
use pubsink_runtime::dispatch::{Dispatch, DispatchBuilder, Incoming};
use pubsink_runtime::journal::MemoryJournal;
use pubsink_runtime::seam::Runtime as _;
use pubsink_runtime::sink::PubsubSink;
use pubsink_runtime::{Publisher, connect};

use crate::planted::{BEARER, hook, signed_claim};
use crate::support::threads::Blocking;
use crate::support::{Heard, Threads, start, within};

pub(crate) const TOPIC: &str = "projects/p/topics/hooks";
pub(crate) const SINK: &str = "topic";

/// What is to become of each hook, and what it dies of, if it does.
pub(crate) const CASES: [(&str, Option<&str>); 8] = [
    ("delivered", None),
    ("permanent", Some("pubsub")),
    ("config", Some("pubsub")),
    ("throttled", None),
    ("transient", None),
    ("claim_check", Some("claim_check")),
    ("claimed", None),
    ("attempt_timeout", None),
];

pub(crate) struct Run {
    server: Server,
    pub(crate) publisher: Publisher,
    pub(crate) dispatch: Dispatch,
    pub(crate) heard: Heard,
}

impl Run {
    pub(crate) fn start() -> Self {
        let server = Server::builder()
            .keep_published(true)
            .log_messages(true)
            .start()
            .unwrap();
        server.create_topic(TOPIC).unwrap();
        server.require_token(Some(BEARER));
        server.script(script());
        let options = PublisherOptions::builder("p", "hooks")
            .endpoint(&server.endpoint())
            .batch_linger(Duration::from_millis(1))
            .timeout(Duration::from_secs(20))
            .trace_context(true)
            .build()
            .unwrap();
        let token = Token::new(BEARER).unwrap();
        let client = Blocking(ureq::agent());
        let (publisher, driver) = connect(options, Threads, client, Some(token), 1);
        Threads.spawn(driver);
        let heard = Heard::default();
        let builder = DispatchBuilder::new(MemoryJournal::default())
            .sink(SINK, PubsubSink::new(publisher.clone()))
            .options(DispatchOptions {
                attempt_timeout: Duration::from_secs(6),
                retry: RetryPolicy {
                    base: Duration::from_millis(1),
                    ..RetryPolicy::default()
                },
                ..DispatchOptions::default()
            })
            .on_event(heard.observer());
        Self {
            server,
            publisher,
            dispatch: start(builder).unwrap(),
            heard,
        }
    }

    /// Each hook after the one before it is settled, so that every one has its own request.
    pub(crate) fn every_case(&self) -> Vec<Settled> {
        let mut settled = Vec::new();
        for (place, (what, _)) in CASES.into_iter().enumerate() {
            let mut incoming = Incoming::new(hook(what));
            if what == "claimed" {
                incoming = incoming.claim(signed_claim());
            }
            within(self.dispatch.enqueue(incoming)).unwrap();
            settled = self.heard.wait_settled(place + 1);
        }
        settled
    }

    pub(crate) fn end(&self) {
        within(self.dispatch.shutdown(Duration::from_secs(10)));
        within(self.publisher.shutdown(Duration::from_secs(10)));
    }

    /// Every failure that was told of.
    pub(crate) fn failures(&self) -> Vec<Failure> {
        let failures = self
            .heard
            .events()
            .into_iter()
            .filter_map(|event| match event {
                Event::Retry { failure, .. } => Some(failure),
                Event::Settled(settled) => settled.outcome.err().map(|(failure, _)| failure),
                _ => None,
            });
        let failures: Vec<_> = failures.collect();
        let mut kinds: Vec<_> = failures
            .iter()
            .map(|failure| failure.reason.kind())
            .collect();
        kinds.sort_unstable();
        let expected = [
            "attempt_timeout",
            "claim_check",
            "pubsub",
            "pubsub",
            "pubsub",
            "status",
        ];
        assert_eq!(kinds, expected);
        failures
    }

    pub(crate) fn dead_letters(&self) -> Vec<DeadLetter> {
        let letters = self
            .dispatch
            .dead_letters(Filter::default(), DeadId::default(), 100);
        within(letters).unwrap()
    }

    /// That the secrets could have been seen: the server was sent them, and said some of them.
    pub(crate) fn the_secrets_were_there(&self) {
        let stored = self.server.stored(TOPIC);
        assert_eq!(stored.len(), 5);
        let text = |data: &[u8]| String::from_utf8_lossy(data).into_owned();
        let data: Vec<_> = stored.iter().map(|one| text(&one.message.data)).collect();
        assert!(data.iter().all(|it| it.contains("planted-signature")));
        assert!(data.iter().all(|it| !it.contains("planted-api-key")));
        assert_eq!(
            data.iter()
                .filter(|it| it.contains("claim:v2:acme"))
                .count(),
            1
        );
        let names = stored.iter().flat_map(|one| one.message.attributes.keys());
        assert!(names.into_iter().all(|name| !name.starts_with("trace")));
    }
}

/// Answers by the id of the one hook of a request, some only the first time. Two of them repeat
/// the token.
fn script() -> Vec<Rule> {
    let echo = format!("the token {BEARER} is no good, Bearer {BEARER}");
    let refused = |status: Status| Action::refuse(&status);
    let of = |what: &'static str| {
        let id = move |messages: &[PubsubMessage]| messages[0].attributes["ankusa_id"] == what;
        Rule::on(Match::publish().messages(id))
    };
    vec![
        of("permanent").then(refused(Status::invalid_argument(&echo))),
        of("config").then(refused(Status::not_found("no topic"))),
        of("throttled")
            .nth(1)
            .then(refused(Status::resource_exhausted("slow down"))),
        of("transient").nth(1).then(Action::status(500, echo)),
        of("attempt_timeout").nth(1).then(Action::never_answer()),
    ]
}
