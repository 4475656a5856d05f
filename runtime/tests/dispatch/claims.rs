//! Large bodies are checked in at a claim store, which is somebody else's code.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::abortable;
use pubsink_runtime::core::claim::{ClaimError, ClaimRef};
use pubsink_runtime::core::delivery::DeliveryContext;
use pubsink_runtime::core::dispatch::DispatchOptions;
use pubsink_runtime::core::envelope::Envelope;
use pubsink_runtime::core::failure::{ErrorClass, Failure};
use pubsink_runtime::core::retry::RetryPolicy;
use pubsink_runtime::core::sink::Receipt;
use pubsink_runtime::dispatch::{DispatchBuilder, Incoming};
use pubsink_runtime::journal::MemoryJournal;
use pubsink_runtime::seam::Runtime as _;
use pubsink_runtime::sink::Sink;

use crate::store::{Says, Store};
use crate::support::{Heard, Scripted, Threads, What, hook, start, taken, wait_until, within};

/// Sends bodies of up to so many bytes itself, and notes which claims it was given.
#[derive(Clone)]
pub(crate) struct Claiming {
    max: Option<usize>,
    inner: Scripted,
    claims: Arc<Mutex<Vec<Option<ClaimRef>>>>,
}

impl Claiming {
    pub(crate) fn new(max: Option<usize>, inner: Scripted) -> Self {
        Self {
            max,
            inner,
            claims: Arc::default(),
        }
    }

    fn claims(&self) -> Vec<Option<ClaimRef>> {
        self.claims.lock().unwrap().clone()
    }
}

impl Sink for Claiming {
    async fn deliver(
        &self,
        envelope: &Envelope,
        context: &DeliveryContext,
    ) -> Result<Receipt, Failure> {
        let claim = context.claim.clone();
        self.claims.lock().unwrap().push(claim);
        self.inner.deliver(envelope, context).await
    }

    fn inline_max_bytes(&self) -> Option<usize> {
        self.max
    }
}

/// The ref of a hook that `support::hook` made.
fn claim(id: &str) -> ClaimRef {
    ClaimRef::derive(Some("acme"), 1_764_500_000_332, id).unwrap()
}

fn builder(heard: &Heard) -> DispatchBuilder {
    DispatchBuilder::new(MemoryJournal::default())
        .options(DispatchOptions {
            retry: RetryPolicy {
                base: Duration::from_millis(1),
                max_attempts: 3,
                ..RetryPolicy::default()
            },
            ..DispatchOptions::default()
        })
        .on_event(heard.observer())
}

#[test]
fn a_large_body_is_checked_in_once_and_every_sink_and_retry_gets_its_ref() {
    let (heard, store) = (Heard::default(), Store::taking());
    let failing = Scripted::new(|_, attempt| match attempt {
        1 => What::Answer(Err(Failure::transient("503"))),
        _ => taken(),
    });
    let small = Claiming::new(Some(7), failing);
    let any = Claiming::new(None, Scripted::taking());
    let builder = builder(&heard)
        .claims(store.clone())
        .sink("small", small.clone())
        .sink("any", any.clone());
    assert!(format!("{builder:?}").contains("claims: true"));
    let dispatch = start(builder).unwrap();
    assert_eq!(dispatch.inline_max_bytes(), Some(7));
    let sent = Arc::new(hook("1"));
    within(dispatch.enqueue(Arc::clone(&sent))).unwrap();
    for settled in heard.wait_settled(2) {
        assert!(settled.outcome.is_ok());
        assert_eq!(settled.row.claim, Some(claim("1")));
    }
    let given = store.given();
    let [(given, body)] = &given[..] else {
        panic!("{given:?}");
    };
    assert_eq!(*given, claim("1"));
    assert_eq!(body.as_ptr(), sent.body.as_ptr(), "it is not copied");
    assert_eq!(small.claims(), [Some(claim("1")), Some(claim("1"))]);
    assert_eq!(any.claims(), [Some(claim("1"))]);

    // One that comes with its claim, and one that is small enough.
    let own = claim("its own");
    within(dispatch.enqueue(Incoming::new(hook("2")).claim(own.clone()))).unwrap();
    heard.wait_settled(4);
    let mut tiny = hook("3");
    tiny.body = "7 bytes".into();
    within(dispatch.enqueue(tiny)).unwrap();
    heard.wait_settled(6);
    assert_eq!(any.claims()[1..], [Some(own), None]);
    assert_eq!(store.given().len(), 1);
}

#[test]
fn without_a_store_a_large_body_goes_as_it_came() {
    let heard = Heard::default();
    let sink = Claiming::new(Some(1), Scripted::taking());
    let dispatch = start(builder(&heard).sink("sink", sink.clone())).unwrap();
    within(dispatch.enqueue(hook("1"))).unwrap();
    heard.wait_settled(1);
    assert_eq!(sink.claims(), [None]);
}

#[test]
fn a_store_that_panics_or_never_answers_costs_an_attempt() {
    for says in [Says::Panic, Says::Never] {
        let heard = Heard::default();
        let store = Store::new(move |_, before| match before {
            0 => says.clone(),
            _ => Says::Answer(Ok(())),
        });
        let sink = Claiming::new(Some(1), Scripted::taking());
        let builder = builder(&heard)
            .options(DispatchOptions {
                attempt_timeout: Duration::from_secs(1),
                ..DispatchOptions::default()
            })
            .claims(store.clone())
            .sink("sink", sink.clone());
        let dispatch = start(builder).unwrap();
        within(dispatch.enqueue(hook("1"))).unwrap();
        let settled = heard.wait_settled(1);
        assert!(settled[0].outcome.is_ok());
        assert_eq!(settled[0].attempts, 2);
        assert_eq!(sink.claims(), [Some(claim("1"))]);
        let retried = heard.retried();
        assert_eq!(retried[0].reason.kind(), "claim_check");
        assert!(!retried[0].may_have_been_stored);
        assert!(!retried[0].to_string().contains("secret"), "{}", retried[0]);
        wait_until("the one that hangs is stopped", || store.running() == 0);
        assert!(dispatch.is_alive());
    }
}

#[test]
fn what_the_store_says_decides_what_follows() {
    let too_large = ClaimError::TooLarge { size: 8, max: 7 };
    for (says, class, attempts) in [
        (too_large, ErrorClass::Permanent, 1),
        (ClaimError::unavailable("503"), ErrorClass::Transient, 3),
    ] {
        let heard = Heard::default();
        let words = says.to_string();
        let store = Store::new(move |_, _| Says::Answer(Err(says.clone())));
        let sink = Claiming::new(Some(1), Scripted::taking());
        let builder = builder(&heard).claims(store).sink("sink", sink.clone());
        let dispatch = start(builder).unwrap();
        within(dispatch.enqueue(hook("1"))).unwrap();
        let settled = heard.wait_settled(1);
        let (failure, cause) = settled[0].outcome.as_ref().unwrap_err();
        assert_eq!((cause.error_class, settled[0].attempts), (class, attempts));
        assert_eq!(cause.kind.as_str(), "claim_check");
        assert!(failure.to_string().contains(&words), "{failure}");
        assert!(sink.claims().is_empty());
    }
}

#[test]
fn a_driver_dropped_stops_its_check_ins() {
    let store = Store::new(|_, _| Says::Never);
    let (dispatch, driver) = DispatchBuilder::new(MemoryJournal::default())
        .claims(store.clone())
        .sink("sink", Claiming::new(Some(1), Scripted::taking()))
        .connect(Threads, 1)
        .unwrap();
    let (driver, end) = abortable(driver);
    Threads.spawn(async move {
        let _ = driver.await;
    });
    within(dispatch.enqueue(hook("1"))).unwrap();
    wait_until("asked", || store.running() == 1);
    end.abort();
    wait_until("stopped", || store.running() == 0);
    wait_until("ended", || !dispatch.is_alive());
}
