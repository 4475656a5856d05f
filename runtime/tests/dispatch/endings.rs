//! Every wait ends, however the dispatcher does.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use futures_util::future::abortable;
use pubsink_runtime::core::delivery::DeliveryContext;
use pubsink_runtime::core::dispatch::{Accepted, EnqueueError};
use pubsink_runtime::core::envelope::Envelope;
use pubsink_runtime::core::failure::Failure;
use pubsink_runtime::core::journal::{Filter, JournalError, Lane, ReplayJob};
use pubsink_runtime::core::sink::Receipt;
use pubsink_runtime::dispatch::DispatchBuilder;
use pubsink_runtime::journal::{Journal as _, MemoryJournal};
use pubsink_runtime::seam::Runtime as _;
use pubsink_runtime::sink::Sink;

use crate::support::{Heard, Scripted, Threads, What, hook, start, taken, wait_until, within};
use crate::tricky::{Does, Tricky};

#[test]
fn a_driver_dropped_ends_every_wait() {
    for polled in [false, true] {
        let memory = Arc::new(MemoryJournal::default());
        let silent = Tricky::new(&memory, |_| Does::NeverAnswer);
        let builder = DispatchBuilder::new(silent).sink("sink", Scripted::taking());
        let (dispatch, mut driver) = builder.connect(Threads, 1).unwrap();
        let hooks = [dispatch.enqueue(hook("1")), dispatch.enqueue(hook("2"))];
        let lane = Lane {
            sink: "sink".into(),
            source: "github".into(),
            key: None,
        };
        let job = ReplayJob::new("job", Filter::default());
        let (stopped, resumed) = (dispatch.stopped(), dispatch.resume(lane.clone()));
        let (begun, set) = (dispatch.begin_replay(job), dispatch.set_replay("job", true));
        let closing = dispatch.shutdown(Duration::from_secs(3_600));
        if polled {
            let mut context = Context::from_waker(Waker::noop());
            assert!(pin!(&mut driver).poll(&mut context).is_pending());
        }
        drop(driver);
        within(async move {
            for hook in hooks {
                assert_eq!(hook.await, Err(EnqueueError::Closed));
            }
            assert_eq!(stopped.await, Err(JournalError::Closed));
            assert_eq!(resumed.await, Err(JournalError::Closed));
            assert_eq!(begun.await, Err(JournalError::Closed));
            assert_eq!(set.await, Err(JournalError::Closed));
            closing.await;
        });
        // And so does what comes too late.
        assert!(!dispatch.is_alive());
        let late = (
            dispatch.enqueue(hook("late")),
            dispatch.resume(lane),
            dispatch.shutdown(Duration::ZERO),
        );
        within(async move {
            assert_eq!(late.0.await, Err(EnqueueError::Closed));
            assert_eq!(late.1.await, Err(JournalError::Closed));
            late.2.await;
        });
    }
}

/// Tells when an attempt of it ended.
struct Telling(Arc<AtomicBool>, Scripted);

struct Ended(Arc<AtomicBool>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Sink for Telling {
    async fn deliver(
        &self,
        envelope: &Envelope,
        context: &DeliveryContext,
    ) -> Result<Receipt, Failure> {
        let _ended = Ended(Arc::clone(&self.0));
        self.1.deliver(envelope, context).await
    }
}

#[test]
fn a_driver_dropped_stops_its_attempts() {
    let (ended, sink) = (
        Arc::<AtomicBool>::default(),
        Scripted::new(|_, _| What::Never),
    );
    let (dispatch, driver) = DispatchBuilder::new(MemoryJournal::default())
        .sink("sink", Telling(Arc::clone(&ended), sink.clone()))
        .connect(Threads, 1)
        .unwrap();
    let (driver, end) = abortable(driver);
    Threads.spawn(async move {
        let _ = driver.await;
    });
    within(dispatch.enqueue(hook("1"))).unwrap();
    wait_until("attempted", || sink.attempts("1") == 1);
    end.abort();
    wait_until("stopped", || ended.load(Ordering::SeqCst));
    wait_until("ended", || !dispatch.is_alive());
}

#[test]
fn shutdown_waits_for_what_is_under_way_and_keeps_the_rest() {
    let memory = Arc::new(MemoryJournal::default());
    let heard = Heard::default();
    let sink = Scripted::new(|hook, _| match hook.id.as_str() {
        "stuck" => What::Never,
        _ => taken(),
    });
    let builder = DispatchBuilder::new(Arc::clone(&memory))
        .sink("sink", sink.clone())
        .on_event(heard.observer());
    let dispatch = start(builder).unwrap();
    within(dispatch.enqueue(hook("well"))).unwrap();
    within(dispatch.enqueue(hook("stuck"))).unwrap();
    heard.wait_settled(1);
    wait_until("attempted", || sink.attempts("stuck") == 1);
    let started = Instant::now();
    within(dispatch.shutdown(Duration::from_millis(60)));
    assert!(started.elapsed() >= Duration::from_millis(60));
    wait_until("ended", || !dispatch.is_alive());
    assert_eq!(
        within(dispatch.enqueue(hook("late"))),
        Err(EnqueueError::Closed)
    );

    // The row was given back; the next dispatcher delivers it.
    let (heard, sink) = (Heard::default(), Scripted::taking());
    let builder = DispatchBuilder::new(memory)
        .sink("sink", sink.clone())
        .on_event(heard.observer());
    let next = start(builder).unwrap();
    heard.wait_settled(1);
    assert_eq!(sink.attempts("stuck"), 1);
    drop(next);
}

#[test]
fn the_last_handle_closes_and_what_was_handed_over_is_kept() {
    let memory = Arc::new(MemoryJournal::default());
    let (dispatch, driver) = DispatchBuilder::new(Arc::clone(&memory))
        .sink("sink", Scripted::taking())
        .connect(Threads, 1)
        .unwrap();
    let clone = dispatch.clone();
    drop(dispatch);
    let accepted = clone.enqueue(hook("1"));
    assert!(clone.is_alive());
    drop(clone);
    // The driver is run only now, and to its end.
    within(driver);
    assert!(matches!(within(accepted), Ok(Accepted::Stored(_))));
    // Delivered before it closed, or kept.
    let lanes = within(async move { memory.lanes().await }).unwrap();
    assert!(lanes.len() <= 1);
}

#[test]
fn closing_twice_is_closing_once() {
    let builder = DispatchBuilder::new(MemoryJournal::default()).sink("s", Scripted::taking());
    let dispatch = start(builder).unwrap();
    let all = [Duration::ZERO, Duration::MAX, Duration::from_secs(1)];
    for closing in all.map(|limit| dispatch.shutdown(limit)) {
        within(closing);
    }
}
