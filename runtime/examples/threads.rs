//! A runtime of one's own, of nothing but threads. What it takes: a clock, tasks and a timer
//! ([`Runtime`], [`Timer`]), an HTTP client ([`Transport`], here ureq, which blocks), and a way
//! to wait for a future ([`block_on`]).

use std::error::Error;
use std::future::Future;
use std::io::{ErrorKind, Read as _};
use std::pin::{Pin, pin};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
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

    // A handle, and the driver that does its work, which is a task like any other.
    let (publisher, driver) = connect(options.build()?, Threads, Blocking::new(), None::<Token>, 1);
    Threads.spawn(driver);
    let deliveries = ["one", "two", "three"].map(|word| publisher.publish(Message::new(word)));
    for delivery in deliveries {
        println!("stored as {}", block_on(delivery)?.message_id);
    }
    block_on(publisher.shutdown(Duration::from_secs(5)));
    Ok(())
}

/// A thread for each task: there are few, the driver and the requests in flight.
#[derive(Clone)]
struct Threads;

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
        let alarm = Arc::new((Mutex::default(), Condvar::new()));
        let timer = ThreadTimer(Arc::clone(&alarm));
        // A publisher has one timer; with more of them, one thread would serve them all.
        thread::spawn(move || ring(&alarm));
        timer
    }
}

/// Polls, and parks this thread until it is woken.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(done) => return done,
            Poll::Pending => thread::park(),
        }
    }
}

struct ThreadTimer(Arc<(Mutex<Alarm>, Condvar)>);

#[derive(Default)]
struct Alarm {
    at: Option<Instant>,
    waiting: Option<Waker>,
    dropped: bool,
}

impl Timer for ThreadTimer {
    fn reset(self: Pin<&mut Self>, at: Instant) {
        lock(&self.0.0).at = Some(at);
        self.0.1.notify_one();
    }
}

impl Future for ThreadTimer {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut alarm = lock(&self.0.0);
        if alarm.at.is_some_and(|at| at <= Instant::now()) {
            return Poll::Ready(());
        }
        alarm.waiting = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for ThreadTimer {
    fn drop(&mut self) {
        lock(&self.0.0).dropped = true;
        self.0.1.notify_one();
    }
}

/// The timer's thread: sleeps until the time is up, then wakes the task that waits.
fn ring((alarm, changed): &(Mutex<Alarm>, Condvar)) {
    let mut alarm = lock(alarm);
    while !alarm.dropped {
        let left = alarm
            .at
            .map(|at| at.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            alarm.waiting.take().into_iter().for_each(Waker::wake);
        }
        // Rung or not set, only a change matters. Waking early would be harmless, too.
        let pause = left
            .filter(|left| !left.is_zero())
            .unwrap_or(Duration::from_secs(60));
        let woken = changed.wait_timeout(alarm, pause);
        alarm = woken.unwrap_or_else(PoisonError::into_inner).0;
    }
}

fn lock(alarm: &Mutex<Alarm>) -> MutexGuard<'_, Alarm> {
    alarm.lock().unwrap_or_else(PoisonError::into_inner)
}

/// ureq: it blocks, which is all right where each request has a thread.
struct Blocking(ureq::Agent);

impl Blocking {
    fn new() -> Self {
        // What the seam asks for: no redirects, no proxy by surprise, every status a reply.
        let config = ureq::Agent::config_builder().max_redirects(0).proxy(None);
        Self(config.http_status_as_error(false).build().into())
    }
}

impl Transport for Blocking {
    async fn send(
        &self,
        request: Request<Bytes>,
        limits: SendLimits,
    ) -> Result<Response<Bytes>, TransportError> {
        let request = self.0.configure_request(request.map(Vec::from));
        let request = request.timeout_connect(Some(limits.connect));
        let request = request.timeout_global(Some(limits.connect + limits.response));
        let response = self
            .0
            .run(request.build())
            .map_err(|error| failed(&error))?;
        let (head, body) = response.into_parts();
        let (mut read, max) = (Vec::new(), limits.body_max as u64);
        match body.into_reader().take(max).read_to_end(&mut read) {
            // Only a 200 means nothing without the whole of its body.
            Err(error) if head.status == 200 => {
                Err(TransportError::of(TransportKind::Connection, &error))
            }
            _ => Ok(Response::from_parts(head, read.into())),
        }
    }
}

fn failed(error: &ureq::Error) -> TransportError {
    let kind = match error {
        ureq::Error::Timeout(ureq::Timeout::Connect) => TransportKind::Connect,
        ureq::Error::Timeout(_) => TransportKind::Timeout,
        ureq::Error::HostNotFound | ureq::Error::ConnectionFailed => TransportKind::Connect,
        ureq::Error::Io(error) if error.kind() == ErrorKind::ConnectionRefused => {
            TransportKind::Connect
        }
        _ => TransportKind::Connection,
    };
    TransportError::of(kind, error)
}
