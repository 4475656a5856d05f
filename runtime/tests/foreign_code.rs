//! Executors and wakers are somebody else's code: they may drop a task inside `wake`, panic, or
//! call back.

#![expect(clippy::unwrap_used, reason = "what cannot be set up is a failed test")]

#[path = "support/no_timer.rs"]
mod no_timer;

use std::future::{Future, pending};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response};
use no_timer::NoTimer;
use pubsink_runtime::core::dispatch::EnqueueError;
use pubsink_runtime::core::envelope::Envelope;
use pubsink_runtime::core::journal::JournalError;
use pubsink_runtime::core::options::PublisherOptions;
use pubsink_runtime::core::publish::Message;
use pubsink_runtime::core::reason::{Reason, TransportKind};
use pubsink_runtime::core::token::Token;
use pubsink_runtime::dispatch::DispatchBuilder;
use pubsink_runtime::journal::MemoryJournal;
use pubsink_runtime::seam::{Runtime, SendLimits, Transport, TransportError};
use pubsink_runtime::sink::LogSink;
use pubsink_runtime::{Driver, Publisher, connect};

/// The executor of the textbooks: a queue of tasks that put themselves into it when woken. Once
/// the queue is gone, waking a task drops it.
#[derive(Clone)]
struct Queue(SyncSender<Arc<Task>>);

struct Task {
    future: Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>,
    queue: SyncSender<Arc<Self>>,
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        let queue = self.queue.clone();
        let _ = queue.send(self);
    }
}

impl Runtime for Queue {
    type Timer = NoTimer;

    fn now(&self) -> Instant {
        Instant::now()
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let future = Mutex::new(Some(Box::pin(task) as Pin<Box<_>>));
        let queue = self.0.clone();
        let _ = self.0.send(Arc::new(Task { future, queue }));
    }

    fn timer(&self) -> NoTimer {
        NoTimer
    }
}

/// Runs the tasks that are due.
fn run(queue: &Receiver<Arc<Task>>) {
    while let Ok(task) = queue.try_recv() {
        let waker = Waker::from(Arc::clone(&task));
        let future = task.future.lock().unwrap().take();
        if let Some(mut future) = future
            && future
                .as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        {
            *task.future.lock().unwrap() = Some(future);
        }
    }
}

/// Answers at once, or never.
struct Scripted(bool);

impl Transport for Scripted {
    async fn send(
        &self,
        request: Request<Bytes>,
        _limits: SendLimits,
    ) -> Result<Response<Bytes>, TransportError> {
        if !self.0 {
            pending::<()>().await;
        }
        let count = request
            .body()
            .windows(6)
            .filter(|at| *at == b"\"data\"")
            .count();
        let ids = vec!["\"1\""; count].join(",");
        Ok(Response::new(format!("{{\"messageIds\":[{ids}]}}").into()))
    }
}

fn start(answers: bool) -> (Publisher, Driver, Queue, Receiver<Arc<Task>>) {
    let (sender, queue) = sync_channel(1_000);
    let runtime = Queue(sender);
    let options = PublisherOptions::builder("p", "hooks").build().unwrap();
    let transport = Scripted(answers);
    let (publisher, driver) = connect(options, runtime.clone(), transport, None::<Token>, 1);
    (publisher, driver, runtime, queue)
}

#[test]
fn an_executor_that_drops_a_task_when_it_is_woken_holds_nobody_up() {
    let (publisher, driver, runtime, queue) = start(false);
    runtime.spawn(driver);
    run(&queue);
    // The executor is gone; the driver waits for a wake that will drop it.
    drop(queue);
    let (done, is_done) = sync_channel(1);
    thread::spawn(move || {
        let mut delivery = Box::pin(publisher.publish(Message::new("x")));
        let outcome = delivery
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()));
        drop(publisher);
        done.send(outcome).unwrap();
    });
    let outcome = is_done.recv_timeout(Duration::from_secs(30)).unwrap();
    let Poll::Ready(Err(failure)) = outcome else {
        panic!("{outcome:?}");
    };
    let Reason::Transport { transport, .. } = &*failure.reason else {
        panic!("{failure}");
    };
    assert_eq!(*transport, TransportKind::Closed);
    assert!(!failure.may_have_been_stored);
}

#[test]
fn an_executor_that_drops_a_dispatcher_when_it_is_woken_holds_nobody_up() {
    let (sender, queue) = sync_channel(1_000);
    let runtime = Queue(sender);
    let (dispatch, driver) = DispatchBuilder::new(MemoryJournal::default())
        .sink("log", LogSink)
        .connect(runtime.clone(), 1)
        .unwrap();
    runtime.spawn(driver);
    run(&queue);
    let before = dispatch.stopped();
    // The executor is gone with a call that it has not run; the driver waits for a wake that will
    // drop it.
    drop(queue);
    let (done, is_done) = sync_channel(1);
    thread::spawn(move || {
        let mut context = Context::from_waker(Waker::noop());
        let accepted = pin!(dispatch.enqueue(envelope())).poll(&mut context);
        let before = pin!(before).poll(&mut context);
        let after = pin!(dispatch.stopped()).poll(&mut context);
        done.send((accepted, before, after)).unwrap();
    });
    let (accepted, before, after) = is_done.recv_timeout(Duration::from_secs(30)).unwrap();
    assert_eq!(accepted, Poll::Ready(Err(EnqueueError::Closed)));
    assert!(matches!(before, Poll::Ready(Err(_))), "{before:?}");
    assert_eq!(after, Poll::Ready(Err(JournalError::Closed)));
}

fn envelope() -> Envelope {
    Envelope {
        id: "1".to_owned(),
        source_id: "github".to_owned(),
        tenant_id: None,
        received_at: 0,
        method: "POST".to_owned(),
        path: "/".to_owned(),
        headers: Vec::new(),
        content_type: None,
        body: "x".into(),
        dedupe_key: None,
    }
}

struct Counting {
    woken: AtomicUsize,
    panics: bool,
}

impl Wake for Counting {
    fn wake(self: Arc<Self>) {
        self.woken.fetch_add(1, Ordering::SeqCst);
        assert!(!self.panics, "a waker that panics");
    }
}

#[test]
fn a_waker_that_panics_costs_nobody_else_anything() {
    let (publisher, driver, runtime, queue) = start(true);
    runtime.spawn(driver);
    let wakers = [true, false, false].map(|panics| {
        let woken = AtomicUsize::new(0);
        Arc::new(Counting { woken, panics })
    });
    let mut deliveries: Vec<_> = (0..3)
        .map(|_| publisher.publish(Message::new("x")))
        .collect();
    for (delivery, waker) in deliveries.iter_mut().zip(&wakers) {
        let waker = Waker::from(Arc::clone(waker));
        assert!(
            pin!(delivery)
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        );
    }
    // No timer here: a flush ends the linger.
    drop(publisher.flush());
    run(&queue);
    let woken = wakers
        .each_ref()
        .map(|waker| waker.woken.load(Ordering::SeqCst));
    assert_eq!(woken, [1, 1, 1]);
    assert!(publisher.is_alive());
    for delivery in deliveries {
        let outcome = pin!(delivery).poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(outcome, Poll::Ready(Ok(_))), "{outcome:?}");
    }
}
