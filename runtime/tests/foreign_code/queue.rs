//! A runtime that runs when the test says so.

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use pubsink_runtime::core::envelope::Envelope;
use pubsink_runtime::core::options::{PublisherOptions, PublisherOptionsBuilder};
use pubsink_runtime::core::token::Token;
use pubsink_runtime::dispatch::{Dispatch, DispatchBuilder};
use pubsink_runtime::journal::MemoryJournal;
use pubsink_runtime::seam::{Runtime, SendLimits, Transport, TransportError};
use pubsink_runtime::sink::LogSink;
use pubsink_runtime::{Driver, Publisher, connect};

use crate::no_timer::NoTimer;

/// The executor of the textbooks: a queue of tasks that put themselves into it when woken. Once
/// the queue is gone, waking a task drops it.
#[derive(Clone)]
pub(crate) struct Queue {
    tasks: SyncSender<Arc<Task>>,
    now: Arc<Mutex<Instant>>,
}

impl Queue {
    pub(crate) fn new() -> (Self, Receiver<Arc<Task>>) {
        let (tasks, queue) = sync_channel(1_000);
        let now = Arc::new(Mutex::new(Instant::now()));
        (Self { tasks, now }, queue)
    }

    /// The clock stands until it is moved.
    pub(crate) fn advance(&self, by: Duration) {
        *self.now.lock().unwrap() += by;
    }
}

pub(crate) struct Task {
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
        *self.now.lock().unwrap()
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let future = Mutex::new(Some(Box::pin(task) as Pin<Box<_>>));
        let queue = self.tasks.clone();
        let _ = self.tasks.send(Arc::new(Task { future, queue }));
    }

    fn timer(&self) -> NoTimer {
        NoTimer
    }
}

/// Runs the tasks that are due.
pub(crate) fn run(queue: &Receiver<Arc<Task>>) {
    while let Ok(task) = queue.try_recv() {
        run_one(&task);
    }
}

pub(crate) fn run_one(task: &Arc<Task>) {
    let waker = Waker::from(Arc::clone(task));
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

/// What Pub/Sub says.
#[derive(Clone, Copy)]
pub(crate) enum Answers {
    Never,
    Stored,
    /// 400.
    Refused,
}

impl Transport for Answers {
    async fn send(
        &self,
        request: Request<Bytes>,
        _limits: SendLimits,
    ) -> Result<Response<Bytes>, TransportError> {
        let body = match self {
            Self::Never => pending().await,
            Self::Stored => {
                let data = request.body().windows(6).filter(|at| *at == b"\"data\"");
                let ids = vec!["\"1\""; data.count()].join(",");
                format!("{{\"messageIds\":[{ids}]}}")
            }
            Self::Refused => String::new(),
        };
        let mut response = Response::new(body.into());
        if matches!(self, Self::Refused) {
            *response.status_mut() = StatusCode::BAD_REQUEST;
        }
        Ok(response)
    }
}

/// A publisher and its driver, which is not spawned.
pub(crate) fn start(
    answers: Answers,
    set: impl FnOnce(PublisherOptionsBuilder) -> PublisherOptionsBuilder,
) -> (Publisher, Driver, Queue, Receiver<Arc<Task>>) {
    let (runtime, queue) = Queue::new();
    let options = set(PublisherOptions::builder("p", "hooks"))
        .build()
        .unwrap();
    let (publisher, driver) = connect(options, runtime.clone(), answers, None::<Token>, 1);
    (publisher, driver, runtime, queue)
}

/// A dispatcher that runs and has nothing to do.
pub(crate) fn start_dispatch() -> (Dispatch, Queue, Receiver<Arc<Task>>) {
    let (runtime, queue) = Queue::new();
    let (dispatch, driver) = DispatchBuilder::new(MemoryJournal::default())
        .sink("log", LogSink)
        .connect(runtime.clone(), 1)
        .unwrap();
    runtime.spawn(driver);
    run(&queue);
    (dispatch, runtime, queue)
}

/// A hook of this body.
pub(crate) fn envelope(body: impl Into<Bytes>) -> Envelope {
    Envelope::new("1", "github", 0, body)
}
