//! A runtime of one's own, of nothing but threads. What it takes: a clock, tasks and a timer
//! ([`Runtime`], [`Timer`]), an HTTP client ([`Transport`], here ureq, which blocks), and a way
//! to wait for a future ([`block_on`]).

use std::error::Error;
use std::future::Future;
use std::io::Read as _;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response};
use pubsink_fixtures::server::Server;
use pubsink_runtime::connect;
use pubsink_runtime::core::options::PublisherOptions;
use pubsink_runtime::core::publish::Message;
use pubsink_runtime::core::reason::TransportKind;
use pubsink_runtime::core::token::Token;
use pubsink_runtime::seam::{Runtime, SendLimits, Timer, Transport, TransportError};

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let server = Server::start()?;
    server.create_topic("projects/p/topics/hooks")?;
    let options = PublisherOptions::builder("p", "hooks").endpoint(&server.endpoint());

    let client = Blocking(ureq::agent());
    // A handle, and the driver that does its work, which is a task like any other.
    let (publisher, driver) = connect(options.build()?, Threads, client, None::<Token>, 1);
    Threads.spawn(driver);
    let deliveries = ["one", "two", "three"].map(|word| publisher.publish(Message::new(word)));
    for delivery in deliveries {
        println!("stored as {}", block_on(delivery)?.message_id);
    }
    block_on(publisher.shutdown(Duration::from_secs(5)));
    Ok(())
}

/// A thread for each task: there are few, the driver and the requests in flight.
#[derive(Debug, Clone)]
pub(crate) struct Threads;

impl Runtime for Threads {
    type Timer = ThreadTimer;

    fn now(&self) -> Instant {
        Instant::now()
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        // If there is no thread to be had the task is dropped, and its messages fail as
        // transient: whatever becomes of a task, somebody hears of it.
        let _ = thread::Builder::new().spawn(move || block_on(task));
    }

    fn timer(&self) -> ThreadTimer {
        let (alarms, set) = mpsc::channel();
        thread::spawn(move || ring(&set));
        let (at, waiting) = (None, None);
        ThreadTimer {
            at,
            waiting,
            alarms,
        }
    }
}

/// Polls, and parks this thread until it is woken.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return done;
        }
        thread::park();
    }
}

/// Its alarms go off in a thread of its own, which ends with it.
pub(crate) struct ThreadTimer {
    at: Option<Instant>,
    waiting: Option<Waker>,
    alarms: Sender<(Instant, Waker)>,
}

impl Timer for ThreadTimer {
    fn reset(mut self: Pin<&mut Self>, at: Instant) {
        self.at = Some(at);
        // Whoever waits polls again, and so sets the new alarm.
        self.waiting.take().into_iter().for_each(Waker::wake);
    }
}

impl Future for ThreadTimer {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Some(at) = self.at.filter(|at| *at > Instant::now()) else {
            return Poll::Ready(());
        };
        self.waiting = Some(cx.waker().clone());
        // Fails only without the timer's thread.
        let _ = self.alarms.send((at, cx.waker().clone()));
        Poll::Pending
    }
}

/// The timer's thread: wakes the task that waits when its time is up. Ends with its timer.
fn ring(alarms: &Receiver<(Instant, Waker)>) {
    let mut next: Option<(Instant, Waker)> = None;
    loop {
        let left = next.as_ref().map_or(Duration::MAX, |(at, _)| {
            at.saturating_duration_since(Instant::now())
        });
        match alarms.recv_timeout(left) {
            Ok(alarm) => next = Some(alarm),
            Err(RecvTimeoutError::Timeout) => next.take().into_iter().for_each(|(_, it)| it.wake()),
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// ureq: it blocks, which is all right where each request has a thread.
pub(crate) struct Blocking(pub(crate) ureq::Agent);

impl Transport for Blocking {
    async fn send(
        &self,
        request: Request<Bytes>,
        limits: SendLimits,
    ) -> Result<Response<Bytes>, TransportError> {
        let request = self.0.configure_request(request.map(Vec::from));
        // No redirects, no proxy by surprise, and every status is a reply.
        let request = request
            .max_redirects(0)
            .proxy(None)
            .http_status_as_error(false);
        let request = request.timeout_connect(Some(limits.connect));
        let request = request
            .timeout_global(Some(limits.connect + limits.response))
            .build();
        let response = self.0.run(request).map_err(|error| failed(&error))?;
        let (head, body) = response.into_parts();
        let (mut read, max) = (Vec::new(), limits.body_max as u64);
        match body.into_reader().take(max).read_to_end(&mut read) {
            // Only a 200 means nothing without the whole of its body.
            Err(error) if head.status == 200 => Err(failed(&error.into())),
            _ => Ok(Response::from_parts(head, read.into())),
        }
    }
}

fn failed(error: &ureq::Error) -> TransportError {
    let kind = match error {
        // Only what surely happened before anything was sent.
        ureq::Error::HostNotFound => TransportKind::Connect,
        ureq::Error::Timeout(_) => TransportKind::Timeout,
        _ => TransportKind::Connection,
    };
    TransportError::of(kind, error)
}
