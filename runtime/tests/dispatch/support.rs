//! What the tests share.

#[allow(dead_code, reason = "a test runs its main")]
#[path = "../../examples/threads.rs"]
pub(crate) mod threads;

use std::collections::BTreeMap;
use std::future::{Future, pending};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use pubsink_runtime::core::delivery::DeliveryContext;
use pubsink_runtime::core::dispatch::{Event, Settled};
use pubsink_runtime::core::envelope::Envelope;
use pubsink_runtime::core::failure::Failure;
use pubsink_runtime::core::sink::Receipt;
use pubsink_runtime::dispatch::{Dispatch, DispatchBuilder, StartError};
use pubsink_runtime::seam::Runtime as _;
use pubsink_runtime::sink::Sink;

pub(crate) use threads::{Threads, block_on};

pub(crate) fn hook(id: &str) -> Envelope {
    Envelope {
        id: id.to_owned(),
        source_id: "github".to_owned(),
        tenant_id: Some("acme".to_owned()),
        received_at: 1_764_500_000_332,
        method: "POST".to_owned(),
        path: "/hooks/github".to_owned(),
        headers: vec![("X-Secret".to_owned(), "hunter2".into())],
        content_type: None,
        body: "the body".into(),
        dedupe_key: None,
    }
}

/// Starts a dispatcher on threads.
pub(crate) fn start(builder: DispatchBuilder) -> Result<Dispatch, StartError> {
    let (dispatch, driver) = builder.connect(Threads, 1)?;
    Threads.spawn(driver);
    Ok(dispatch)
}

/// Waits for a future, which has 30 s.
pub(crate) fn within<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> T {
    let (done, is_done) = sync_channel(1);
    thread::spawn(move || done.send(block_on(future)));
    let done = is_done.recv_timeout(Duration::from_secs(30));
    done.expect("not done within 30 s, or it panicked")
}

pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < Duration::from_secs(30), "never: {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// What an observer heard.
#[derive(Debug, Clone, Default)]
pub(crate) struct Heard(Arc<Mutex<Vec<Event>>>);

impl Heard {
    pub(crate) fn observer(&self) -> impl Fn(&Event) + Send + Sync + 'static {
        let heard = self.clone();
        move |event| heard.0.lock().unwrap().push(event.clone())
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn settled(&self) -> Vec<Settled> {
        let events = self.events().into_iter();
        let settled = events.filter_map(|event| match event {
            Event::Settled(settled) => Some(settled),
            _ => None,
        });
        settled.collect()
    }

    /// Waits until so many rows are done with.
    pub(crate) fn wait_settled(&self, count: usize) -> Vec<Settled> {
        wait_until("settled", || self.settled().len() >= count);
        self.settled()
    }

    /// The failures of attempts that were tried again.
    pub(crate) fn retried(&self) -> Vec<Failure> {
        let events = self.events().into_iter();
        let failures = events.filter_map(|event| match event {
            Event::Retry { failure, .. } => Some(failure),
            _ => None,
        });
        failures.collect()
    }
}

/// A sink that does what it is told with each attempt.
#[derive(Clone)]
pub(crate) struct Scripted(Arc<Script>);

struct Script {
    does: Box<Does>,
    attempts: Mutex<BTreeMap<String, u32>>,
}

type Does = dyn Fn(&Envelope, u32) -> What + Send + Sync;

/// What a sink does with an attempt.
pub(crate) enum What {
    Answer(Result<Receipt, Failure>),
    PanicLater,
    Never,
}

pub(crate) fn taken() -> What {
    What::Answer(Ok(Receipt::with_id("17")))
}

impl Scripted {
    pub(crate) fn new(does: impl Fn(&Envelope, u32) -> What + Send + Sync + 'static) -> Self {
        Self(Arc::new(Script {
            does: Box::new(does),
            attempts: Mutex::default(),
        }))
    }

    /// Takes everything.
    pub(crate) fn taking() -> Self {
        Self::new(|_, _| taken())
    }

    /// How many attempts of a hook there were.
    pub(crate) fn attempts(&self, id: &str) -> u32 {
        let attempts = self.0.attempts.lock().unwrap();
        attempts.get(id).copied().unwrap_or_default()
    }
}

impl Sink for Scripted {
    async fn deliver(
        &self,
        envelope: &Envelope,
        context: &DeliveryContext,
    ) -> Result<Receipt, Failure> {
        let id = envelope.id.clone();
        *self.0.attempts.lock().unwrap().entry(id).or_default() += 1;
        match (self.0.does)(envelope, context.attempt) {
            What::Answer(answer) => answer,
            What::PanicLater => {
                let mut yielded = false;
                std::future::poll_fn(|cx| {
                    cx.waker().wake_by_ref();
                    match std::mem::replace(&mut yielded, true) {
                        true => std::task::Poll::Ready(()),
                        false => std::task::Poll::Pending,
                    }
                })
                .await;
                panic!("out of ink")
            }
            What::Never => pending().await,
        }
    }
}
