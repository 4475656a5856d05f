//! Data can lie in somebody else's memory, and its `Drop` may call back, or panic. That is never done
//! under a lock, nor before everybody has his outcome.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use pubsink_runtime::Publisher;
use pubsink_runtime::core::dispatch::EnqueueError;
use pubsink_runtime::core::failure::Failure;
use pubsink_runtime::core::options::OrderingOnFailure;
use pubsink_runtime::core::publish::Message;
use pubsink_runtime::seam::Runtime as _;

use crate::queue::{Answers, envelope, run, run_one, start, start_dispatch};

/// Does `work` in time, or it hangs for ever.
fn within_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, is_done) = sync_channel(1);
    thread::spawn(move || done.send(work()).unwrap());
    is_done.recv_timeout(Duration::from_secs(30)).unwrap()
}

/// Memory that does something when it is let go.
struct Owner<F: FnMut()>(F);

impl<F: FnMut()> AsRef<[u8]> for Owner<F> {
    fn as_ref(&self) -> &[u8] {
        b"data"
    }
}

impl<F: FnMut()> Drop for Owner<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Counts how often such memory was let go.
#[derive(Clone, Default)]
struct LetGo(Arc<AtomicUsize>);

impl LetGo {
    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    /// Data whose `Drop` calls back.
    fn data(&self, call: impl Fn() + Send + 'static) -> Bytes {
        let count = Arc::clone(&self.0);
        Bytes::from_owner(Owner(move || {
            call();
            count.fetch_add(1, Ordering::SeqCst);
        }))
    }

    fn message(&self, publisher: &Publisher) -> Message {
        let publisher = publisher.clone();
        let call = move || {
            let _ = publisher.gauges();
            drop(publisher.publish(Message::new("from a drop")));
        };
        Message::new(self.data(call))
    }
}

fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("it is not known yet"),
    }
}

fn kind(outcome: Result<impl Sized, Failure>) -> &'static str {
    outcome
        .err()
        .map_or("stored", |failure| failure.reason.kind())
}

#[test]
fn data_of_a_refused_message_may_call_the_publisher_when_it_is_dropped() {
    let kinds = within_time(|| {
        let (publisher, driver, ..) = start(Answers::Never, |options| options.batch_queue_max(1));
        let let_go = LetGo::default();
        drop(publisher.publish(Message::new("first")));
        let one = kind(now(publisher.publish(let_go.message(&publisher))));
        let messages = (0..3).map(|_| let_go.message(&publisher));
        let together = now(publisher.publish_all(messages));
        assert_eq!(let_go.count(), 4);
        drop(driver);
        let ended = kind(now(publisher.publish(let_go.message(&publisher))));
        let messages = (0..3).map(|_| let_go.message(&publisher));
        let ended_together = now(publisher.publish_all(messages));
        assert_eq!(let_go.count(), 8);
        let kinds = [together, ended_together].map(|all| all.into_iter().map(kind).collect());
        ([one, ended], kinds)
    });
    let expected: [Vec<_>; 2] = [vec!["batch_queue_full"; 3], vec!["transport"; 3]];
    assert_eq!(kinds, (["batch_queue_full", "transport"], expected));
}

#[test]
fn data_that_was_never_sent_may_call_the_publisher_when_it_is_dropped() {
    // When the publisher is shut down in no time, and when its driver is dropped; while they wait,
    // and with a token that is never given.
    for (shuts_down, has_begun) in [(true, false), (false, false), (true, true), (false, true)] {
        let failed = within_time(move || {
            let (publisher, driver, runtime, queue) = start(Answers::Never, |options| {
                options.batch_max_inflight(1).batch_max_entries(2)
            });
            let let_go = LetGo::default();
            let mut deliveries: Vec<_> = (0..5)
                .map(|_| publisher.publish(let_go.message(&publisher)))
                .collect();
            runtime.spawn(driver);
            if has_begun {
                run(&queue);
            }
            if shuts_down {
                drop(publisher.shutdown(Duration::ZERO));
                run(&queue);
            }
            drop(queue);
            drop(publisher.flush());
            let outcomes: Vec<_> = deliveries.drain(..).map(now).map(kind).collect();
            assert_eq!(let_go.count(), 5);
            assert_eq!(publisher.gauges().messages, 0);
            outcomes
        });
        assert_eq!(failed, ["transport"; 5]);
    }
}

#[test]
fn data_that_panics_when_it_is_dropped_costs_nobody_his_outcome() {
    let (publisher, driver, runtime, queue) = start(Answers::Refused, |options| {
        options
            .batch_queue_max(5)
            .ordering_on_failure(OrderingOnFailure::Hold)
    });
    let let_go = LetGo::default();
    let keyed = |data: Bytes| Message {
        data,
        ordering_key: "k".into(),
        ..Message::default()
    };
    let panics = || keyed(let_go.data(|| panic!("a drop that panics")));
    runtime.spawn(driver);
    let first = publisher.publish(keyed("first".into()));
    let flush = publisher.flush();
    run_one(&queue.try_recv().unwrap());
    let behind = [
        publisher.publish(panics()),
        publisher.publish(panics()),
        publisher.publish(keyed("plain".into())),
    ];
    let refused = publisher.publish_all([panics(), panics(), panics()]);
    run(&queue);
    assert_eq!(kind(now(first)), "status");
    assert_eq!(behind.map(now).map(kind), ["key_stopped"; 3]);
    let refused: Vec<_> = now(refused).into_iter().map(kind).collect();
    assert_eq!(
        refused,
        ["key_stopped", "batch_queue_full", "batch_queue_full"]
    );
    now(flush);
    assert_eq!(publisher.gauges().messages, 0);
    assert!(publisher.is_alive());
    drop(publisher.shutdown(Duration::ZERO));
    let closing = now(publisher.publish(panics())).unwrap_err();
    run(&queue);
    assert!(!publisher.is_alive());
    let closed = now(publisher.publish(panics())).unwrap_err();
    assert_eq!(
        closed, closing,
        "it is said the same way before its driver ended"
    );
}

#[test]
fn a_body_that_was_never_kept_may_call_the_dispatcher_when_it_is_dropped() {
    let (accepted, let_go) = within_time(|| {
        let (dispatch, runtime, queue) = start_dispatch();
        // The journal is asked to keep the first, and never does.
        let first = dispatch.enqueue(envelope("first"));
        run_one(&queue.try_recv().unwrap());
        let _hangs = queue.try_recv().unwrap();
        let let_go = LetGo::default();
        let handle = dispatch.clone();
        let body = let_go.data(move || {
            let _ = handle.gauges();
        });
        let second = dispatch.enqueue(envelope(body));
        drop(dispatch.shutdown(Duration::ZERO));
        run(&queue);
        assert_eq!(let_go.count(), 0);
        // What closing leaves to the journal beyond its limit.
        runtime.advance(Duration::from_secs(6));
        drop(dispatch.shutdown(Duration::ZERO));
        run(&queue);
        ([first, second].map(now), let_go.count())
    });
    assert_eq!(
        accepted,
        [Err(EnqueueError::Closed), Err(EnqueueError::Closed)]
    );
    assert_eq!(let_go, 1);
}
