//! Whatever a sink does is the outcome of its attempt.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use pubsink_runtime::core::delivery::DeliveryContext;
use pubsink_runtime::core::dispatch::{BreakerState, DispatchOptions};
use pubsink_runtime::core::envelope::Envelope;
use pubsink_runtime::core::failure::{Class, Failure};
use pubsink_runtime::core::reason::Reason;
use pubsink_runtime::core::retry::RetryPolicy;
use pubsink_runtime::core::sink::Receipt;
use pubsink_runtime::dispatch::DispatchBuilder;
use pubsink_runtime::journal::MemoryJournal;
use pubsink_runtime::seam::Runtime;
use pubsink_runtime::sink::{Sink, safe_deliver};

use crate::support::{
    Heard, Scripted, Threads, What, block_on, hook, start, taken, wait_until, within,
};

fn options(attempt_timeout: Duration) -> DispatchOptions {
    DispatchOptions {
        attempt_timeout,
        retry: RetryPolicy {
            base: Duration::from_millis(1),
            ..RetryPolicy::default()
        },
        ..DispatchOptions::default()
    }
}

#[test]
fn a_sink_that_panics_fails_that_attempt_and_no_other() {
    let heard = Heard::default();
    let sink = Scripted::new(|hook, attempt| match (hook.id.as_str(), attempt) {
        ("at once", 1) => panic!("no {}", "paper"),
        ("later", 1) => What::PanicLater,
        _ => taken(),
    });
    let builder = DispatchBuilder::new(MemoryJournal::default())
        .sink("sink", sink)
        .options(options(Duration::from_secs(30)))
        .on_event(heard.observer());
    let dispatch = start(builder).unwrap();
    for id in ["at once", "later", "well"] {
        within(dispatch.enqueue(hook(id))).unwrap();
    }
    let settled = heard.wait_settled(3);
    assert!(settled.iter().all(|settled| settled.outcome.is_ok()));
    let mut said: Vec<_> = heard
        .retried()
        .into_iter()
        .map(|failure| {
            assert_eq!(failure.class, Class::Transient);
            assert!(failure.may_have_been_stored);
            failure.reason.to_string()
        })
        .collect();
    said.sort();
    let said: Vec<_> = said.iter().map(String::as_str).collect();
    assert_eq!(
        said,
        [
            "the sink failed: the sink panicked: no paper",
            "the sink failed: the sink panicked: out of ink"
        ]
    );
}

/// Counts the attempts that were stopped, and panics while it is.
struct Stubborn(Arc<AtomicUsize>, Scripted);

struct Stopped(Arc<AtomicUsize>);

impl Drop for Stopped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
        assert!(std::thread::panicking(), "not when it is stopped");
    }
}

impl Sink for Stubborn {
    async fn deliver(
        &self,
        envelope: &Envelope,
        context: &DeliveryContext,
    ) -> Result<Receipt, Failure> {
        let stopped = (context.attempt == 1).then(|| Stopped(Arc::clone(&self.0)));
        let answer = self.1.deliver(envelope, context).await;
        assert!(stopped.is_none());
        answer
    }
}

#[test]
fn an_attempt_that_takes_too_long_is_stopped_and_tried_again() {
    let (heard, stopped) = (Heard::default(), Arc::default());
    let sink = Scripted::new(|_, attempt| match attempt {
        1 => What::Never,
        _ => taken(),
    });
    let builder = DispatchBuilder::new(MemoryJournal::default())
        .sink("sink", Stubborn(Arc::clone(&stopped), sink))
        .options(options(Duration::from_millis(250)))
        .on_event(heard.observer());
    let dispatch = start(builder).unwrap();
    within(dispatch.enqueue(hook("1"))).unwrap();
    let settled = heard.wait_settled(1);
    assert!(settled[0].outcome.is_ok());
    // More than one is stopped where threads are slow to start.
    let retried = heard.retried();
    assert_eq!(settled[0].attempts as usize, retried.len() + 1);
    let reason = &*retried[0].reason;
    assert_eq!(*reason, Reason::AttemptTimeout { after_ms: 250 });
    wait_until("stopped", || stopped.load(Ordering::SeqCst) == 1);
    assert_eq!(dispatch.gauges().attempts, 0);
}

#[test]
fn a_sink_that_keeps_failing_is_left_alone_and_found_again() {
    let heard = Heard::default();
    let sink = Scripted::new(|_, attempt| match attempt {
        1..=3 => What::Answer(Err(Failure::transient("503"))),
        _ => taken(),
    });
    let mut options = options(Duration::from_secs(30));
    options.breaker.failures = 3;
    options.breaker.open = Duration::from_millis(50);
    let builder = DispatchBuilder::new(MemoryJournal::default())
        .sink("sink", sink)
        .options(options)
        .on_event(heard.observer());
    let dispatch = start(builder).unwrap();
    within(dispatch.enqueue(hook("1"))).unwrap();
    heard.wait_settled(1);
    let states: Vec<_> = heard
        .events()
        .into_iter()
        .filter_map(|event| match event {
            pubsink_runtime::core::dispatch::Event::Breaker { state, .. } => Some(state),
            _ => None,
        })
        .collect();
    assert_eq!(states.first(), Some(&BreakerState::Open));
    assert_eq!(states.last(), Some(&BreakerState::Closed));
    let breakers = [("sink".into(), BreakerState::Closed)];
    assert_eq!(dispatch.breakers(), breakers);
}

/// Threads that drop one task of all, unrun or after it was polled once.
#[derive(Clone)]
struct Careless {
    spawned: Arc<AtomicUsize>,
    drops: usize,
    polled: bool,
}

impl Runtime for Careless {
    type Timer = <Threads as Runtime>::Timer;

    fn now(&self) -> std::time::Instant {
        Threads.now()
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        if self.spawned.fetch_add(1, Ordering::SeqCst) != self.drops {
            return Threads.spawn(task);
        }
        if self.polled {
            let mut task = Box::pin(task);
            let waker = std::task::Waker::noop();
            let _ = task
                .as_mut()
                .poll(&mut std::task::Context::from_waker(waker));
        }
    }

    fn timer(&self) -> Self::Timer {
        Threads.timer()
    }
}

/// The first tasks are a store, a claim, an attempt and a record, in some order and number.
#[test]
fn whichever_task_is_dropped_the_hook_is_delivered() {
    let cases = (0..8).flat_map(|drops| [(drops, false), (drops, true)]);
    let tests: Vec<_> = cases
        .map(|(drops, polled)| std::thread::spawn(move || without_task(drops, polled)))
        .collect();
    for test in tests {
        test.join().unwrap();
    }
}

fn without_task(drops: usize, polled: bool) {
    let heard = Heard::default();
    // Not done when it is polled the first time.
    let sink = Scripted::new(|_, attempt| match attempt {
        1 => What::PanicLater,
        _ => taken(),
    });
    let runtime = Careless {
        spawned: Arc::default(),
        drops,
        polled,
    };
    let (dispatch, driver) = DispatchBuilder::new(MemoryJournal::default())
        .sink("sink", sink)
        .options(options(Duration::from_secs(30)))
        .on_event(heard.observer())
        .connect(runtime, 1)
        .unwrap();
    Threads.spawn(driver);
    while block_on(dispatch.enqueue(hook("1"))).is_err() {}
    heard.wait_settled(1);
    for settled in heard.settled() {
        assert!(settled.outcome.is_ok(), "{drops}: {settled:?}");
    }
    block_on(dispatch.shutdown(Duration::from_secs(20)));
}

#[test]
fn safe_deliver_makes_sense_of_any_answer() {
    let sink = Scripted::new(|hook, _| match hook.id.as_str() {
        "panics" => panic!("no paper"),
        "panics later" => What::PanicLater,
        "without words" => std::panic::panic_any(7),
        "no pause" => {
            let mut failure = Failure::transient("429");
            failure.class = Class::RetryAfter(Duration::ZERO);
            What::Answer(Err(failure))
        }
        "long id" => What::Answer(Ok(Receipt::with_id("7".repeat(1_000_000)))),
        _ => taken(),
    });
    let deliver = |id| block_on(safe_deliver(&sink, &hook(id), &DeliveryContext::default()));
    assert_eq!(deliver("well"), Ok(Receipt::with_id("17")));
    assert_eq!(deliver("long id"), Ok(Receipt::new()));
    for (id, said) in [
        ("panics", "the sink failed: the sink panicked: no paper"),
        (
            "panics later",
            "the sink failed: the sink panicked: out of ink",
        ),
        ("without words", "the sink failed: the sink panicked"),
        ("no pause", "the sink failed: 429"),
    ] {
        let failure = deliver(id).unwrap_err();
        assert_eq!(failure.class, Class::Transient);
        assert_eq!(failure.reason.to_string(), said);
        assert_eq!(failure.reason.kind(), "sink");
    }
}
