//! A topic sink that checks bodies in by itself, where nobody has done it for it.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, Response};
use pubsink_runtime::claims::{ClaimStore, MemoryClaims};
use pubsink_runtime::connect;
use pubsink_runtime::core::claim::{ClaimError, ClaimRef};
use pubsink_runtime::core::delivery::DeliveryContext;
use pubsink_runtime::core::envelope::Envelope;
use pubsink_runtime::core::failure::{Class, Failure};
use pubsink_runtime::core::options::PublisherOptions;
use pubsink_runtime::core::reason::{ClaimProblem, Reason};
use pubsink_runtime::core::sink::Receipt;
use pubsink_runtime::core::token::Token;
use pubsink_runtime::seam::{Runtime as _, SendLimits, Transport, TransportError};
use pubsink_runtime::sink::{PubsubSink, safe_deliver};

use crate::support::{Threads, block_on};

/// What happened, in its order.
type Log = Arc<Mutex<Vec<String>>>;

/// Confirms everything.
struct Service(Log);

impl Transport for Service {
    async fn send(
        &self,
        _request: Request<Bytes>,
        _limits: SendLimits,
    ) -> Result<Response<Bytes>, TransportError> {
        self.0.lock().unwrap().push("published".to_owned());
        Ok(Response::new(r#"{"messageIds":["17"]}"#.into()))
    }
}

/// A store that answers as it is told to.
#[derive(Clone)]
struct Scripted {
    log: Log,
    answers: Arc<Mutex<Vec<Result<(), ClaimError>>>>,
    kept: MemoryClaims,
}

impl ClaimStore for Scripted {
    async fn check_in(&self, claim: &ClaimRef, body: Bytes) -> Result<(), ClaimError> {
        self.log.lock().unwrap().push(format!("checked in {claim}"));
        let answer = self.answers.lock().unwrap().pop();
        answer.unwrap_or(Ok(()))?;
        self.kept.check_in(claim, body).await
    }

    async fn size(&self, claim: &ClaimRef) -> Result<u64, ClaimError> {
        self.kept.size(claim).await
    }

    async fn fetch(&self, claim: &ClaimRef, max: u64) -> Result<Bytes, ClaimError> {
        self.kept.fetch(claim, max).await
    }

    async fn fetch_range(&self, claim: &ClaimRef, range: Range<u64>) -> Result<Bytes, ClaimError> {
        self.kept.fetch_range(claim, range).await
    }
}

struct Setup {
    sink: PubsubSink,
    store: Scripted,
    log: Log,
}

impl Setup {
    fn new() -> Self {
        let log = Log::default();
        let options = PublisherOptions::builder("my-project", "hooks").inline_max_bytes(8);
        let service = Service(Arc::clone(&log));
        let options = options.build().unwrap();
        let (publisher, driver) = connect(options, Threads, service, None::<Token>, 1);
        Threads.spawn(driver);
        let store = Scripted {
            log: Arc::clone(&log),
            answers: Arc::default(),
            kept: MemoryClaims::default(),
        };
        Self {
            sink: PubsubSink::new(publisher).claims(store.clone()),
            store,
            log,
        }
    }

    fn answer(&self, answer: Result<(), ClaimError>) {
        self.store.answers.lock().unwrap().push(answer);
    }

    fn deliver(&self, hook: &Envelope, context: &DeliveryContext) -> Result<Receipt, Failure> {
        block_on(safe_deliver(&self.sink, hook, context))
    }

    fn happened(&self) -> Vec<String> {
        self.log.lock().unwrap().drain(..).collect()
    }
}

fn hook(body: &'static str) -> Envelope {
    let mut hook = Envelope::new("hook-1", "github", 1_764_500_000_332, body);
    hook.tenant_id = Some("acme".to_owned());
    hook
}

const CLAIM: &str = "urn:ankusa:claim:v1:acme:01KBA6AKJCTAHQPNNMYX0715PE";

#[test]
fn a_body_that_is_too_large_is_checked_in_before_its_message_goes() {
    let setup = Setup::new();
    let context = DeliveryContext::default();
    let receipt = setup.deliver(&hook("123456789"), &context).unwrap();
    assert_eq!(receipt.message_id.unwrap().as_str(), "17");
    let checked_in = format!("checked in {CLAIM}");
    assert_eq!(setup.happened(), [checked_in.as_str(), "published"]);
    let claim = ClaimRef::parse(CLAIM).unwrap();
    assert_eq!(block_on(setup.store.fetch(&claim, 9)).unwrap(), "123456789");
    // A retry has the same claim.
    setup.deliver(&hook("123456789"), &context).unwrap();
    assert_eq!(setup.happened(), [checked_in.as_str(), "published"]);
    assert_eq!(setup.store.kept.len(), 1);
}

#[test]
fn what_travels_inline_needs_no_store() {
    let setup = Setup::new();
    let context = DeliveryContext::default();
    setup.deliver(&hook("12345678"), &context).unwrap();
    assert_eq!(setup.happened(), ["published"]);
}

#[test]
fn a_claim_that_came_with_the_delivery_is_used_as_it_is() {
    let setup = Setup::new();
    let claim = ClaimRef::derive(Some("acme"), 0, "another").unwrap();
    let context = DeliveryContext {
        claim: Some(claim),
        ..DeliveryContext::default()
    };
    setup.deliver(&hook("123456789"), &context).unwrap();
    assert_eq!(setup.happened(), ["published"]);
}

#[test]
fn what_the_store_says_is_the_failure_and_nothing_is_published() {
    for (error, class) in [
        (ClaimError::unavailable("down"), Class::Transient),
        (ClaimError::TooLarge { size: 9, max: 8 }, Class::Permanent),
        (
            ClaimError::Integrity {
                what: "size",
                found: "8".into(),
                expected: "9".into(),
            },
            Class::Permanent,
        ),
    ] {
        let setup = Setup::new();
        setup.answer(Err(error.clone()));
        let context = DeliveryContext::default();
        let failure = setup.deliver(&hook("123456789"), &context).unwrap_err();
        assert_eq!(failure.class, class);
        assert_eq!(
            *failure.reason,
            Reason::ClaimCheck(ClaimProblem::Store(error))
        );
        assert!(!failure.may_have_been_stored);
        assert_eq!(setup.happened(), [format!("checked in {CLAIM}")]);
    }
}

#[test]
fn a_tenant_that_no_claim_can_have_is_a_permanent_failure() {
    let setup = Setup::new();
    let mut hook = hook("123456789");
    hook.tenant_id = Some("a/b".to_owned());
    let failure = setup.deliver(&hook, &DeliveryContext::default());
    let failure = failure.unwrap_err();
    assert_eq!(failure.class, Class::Permanent);
    assert_eq!(failure.reason.kind(), "claim_check");
    assert!(setup.happened().is_empty());
}

#[test]
fn what_is_refused_anyway_is_not_checked_in() {
    let setup = Setup::new();
    let mut hook = hook("123456789");
    hook.headers.push(("x-name".to_owned(), vec![0xff].into()));
    let failure = setup.deliver(&hook, &DeliveryContext::default());
    assert_eq!(failure.unwrap_err().reason.kind(), "invalid_message");
    assert!(setup.happened().is_empty());
}

#[test]
fn without_a_store_it_says_what_is_missing() {
    let setup = Setup::new();
    let sink = PubsubSink::new(setup.sink.publisher().clone());
    let delivered = block_on(safe_deliver(
        &sink,
        &hook("123456789"),
        &DeliveryContext::default(),
    ));
    let reason = delivered.unwrap_err().reason;
    let Reason::ClaimCheck(ClaimProblem::Missing { size: 9, max: 8 }) = *reason else {
        panic!("{reason}");
    };
    let shown = format!("{:?} {:?}", setup.sink, setup.sink.clone());
    assert!(
        shown.contains("Claims") && !shown.contains("Scripted"),
        "{shown}"
    );
}
