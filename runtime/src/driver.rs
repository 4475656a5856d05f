//! The driver: one loop between the machine and the runtime.

use std::collections::BTreeMap;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_util::future::AbortHandle;
use pubsink_core::options::PublisherOptions;
use pubsink_core::publish::RequestId;

use crate::publisher::Publisher;
use crate::seam::{Runtime, SendLimits, Timer, Transport};
use crate::shared::{Action, Machine, Mark, Shared, Turn};
use crate::tasks::{AnyTokens, Tasks};
use crate::tokens::TokenProvider;

/// A publisher and the driver that runs it. Spawn the driver on the runtime, or nothing is sent.
///
/// `seed` decides the pauses of throttled messages and nothing else.
pub fn connect<R, T, P>(
    options: PublisherOptions,
    runtime: R,
    transport: T,
    tokens: Option<P>,
    seed: u64,
) -> (Publisher, Driver)
where
    R: Runtime,
    T: Transport,
    P: TokenProvider,
{
    let machine = Machine::new(Arc::new(options), tokens.is_some(), seed);
    run(machine, runtime, transport, tokens)
}

/// The same, with each line of the run's trace given to `sink`, under the machine's lock: it
/// should pass the line on and return. `pubsink_core::testing::trace::replay` repeats the run.
#[cfg(feature = "test-util")]
pub fn connect_recorded<R, T, P>(
    options: PublisherOptions,
    runtime: R,
    transport: T,
    tokens: Option<P>,
    seed: u64,
    sink: impl FnMut(&str) + Send + 'static,
) -> (Publisher, Driver)
where
    R: Runtime,
    T: Transport,
    P: TokenProvider,
{
    let mut machine = Machine::new(Arc::new(options), tokens.is_some(), seed);
    machine.record(sink);
    run(machine, runtime, transport, tokens)
}

fn run<R, T, P>(
    machine: Machine<Mark>,
    runtime: R,
    transport: T,
    tokens: Option<P>,
) -> (Publisher, Driver)
where
    R: Runtime,
    T: Transport,
    P: TokenProvider,
{
    let options = Arc::clone(machine.options());
    let shared = Arc::new(Shared::new(machine));
    let clock = runtime.clone();
    let publisher = Publisher::new(Arc::clone(&shared), Arc::clone(&options), move || {
        clock.now()
    });
    let tasks = Tasks {
        runtime,
        shared,
        transport: Arc::new(transport),
        tokens: tokens.map(|tokens| Arc::new(tokens) as Arc<dyn AnyTokens>),
        limits: SendLimits::new(options.timeout()),
    };
    let end = End(tasks.runtime.clone(), Arc::clone(&tasks.shared));
    let driver = Driver::new(async move {
        // Inside the future, so that it ends with it, polled or not.
        let _end = end;
        drive(tasks).await;
    });
    (publisher, driver)
}

/// Runs a publisher, a dispatcher or a subscription. Ends when that was closed and everything is
/// settled; dropped before that, it settles what is left as failed.
#[must_use = "nothing is sent until the driver is spawned"]
pub struct Driver(Pin<Box<dyn Future<Output = ()> + Send>>);

impl Driver {
    pub(crate) fn new(drive: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(Box::pin(drive))
    }
}

impl Future for Driver {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(cx)
    }
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Driver")
    }
}

/// How often buffers are let go that nothing needed since the last time: where messages come in bursts,
/// each would pay for new memory otherwise, which costs more than what is written to it.
const BUFFERS_KEPT: Duration = Duration::from_secs(1);

async fn drive<R: Runtime, T: Transport>(tasks: Tasks<R, T>) {
    let mut timer = pin!(tasks.runtime.timer());
    let mut running: BTreeMap<RequestId, AbortHandle> = BTreeMap::new();
    let mut look_at_buffers = None;
    loop {
        let now = tasks.runtime.now();
        let Turn {
            answered,
            actions,
            mut until,
            closed,
        } = tasks.shared.turn(now);
        for id in answered {
            running.remove(&id);
        }
        for action in actions {
            match action {
                Action::Authorize(id, refused) => {
                    running.insert(id, tasks.authorize(id, refused));
                }
                Action::Send(request) => {
                    running.insert(request.id(), tasks.send(request));
                }
                Action::Cancel(id) => {
                    if let Some(task) = running.remove(&id) {
                        task.abort();
                    }
                }
            }
        }
        if closed {
            return;
        }
        let buffers = &tasks.shared.buffers;
        if look_at_buffers.take_if(|due| *due <= now).is_some() {
            buffers.let_go_unused();
        }
        if buffers.are_kept() {
            let due = *look_at_buffers.get_or_insert(now + BUFFERS_KEPT);
            until = Some(until.map_or(due, |until| until.min(due)));
        }
        if let Some(at) = until {
            timer.as_mut().reset(at);
        }
        wait(&tasks.shared, timer.as_mut(), until).await;
    }
}

/// Until something happened, or the timer fired where one is set.
async fn wait<T: Timer>(shared: &Shared, mut timer: Pin<&mut T>, until: Option<Instant>) {
    poll_fn(|cx| {
        if shared.poll_notified(cx).is_ready() {
            return Poll::Ready(());
        }
        match until {
            Some(_) => timer.as_mut().poll(cx),
            None => Poll::Pending,
        }
    })
    .await;
}

/// Settles what is left when the driver ends, in whatever way.
struct End<R: Runtime>(R, Arc<Shared>);

impl<R: Runtime> Drop for End<R> {
    fn drop(&mut self) {
        self.1.end(self.0.now());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::task::Waker;

    use bytes::Bytes;
    use http::{Request, Response};
    use pubsink_core::publish::{Admission, Message};

    use super::*;
    use crate::seam::TransportError;

    type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

    /// A runtime whose clock stands until it is moved, and whose tasks run when the test says so.
    #[derive(Clone)]
    struct ByHand {
        now: Arc<Mutex<Instant>>,
        tasks: Arc<Mutex<Vec<Task>>>,
    }

    impl ByHand {
        fn advance(&self, millis: u64) {
            *self.now.lock().unwrap() += Duration::from_millis(millis);
        }

        /// Polls the driver and its tasks until there is nothing left to do.
        fn run(&self, mut driver: Pin<&mut impl Future>) {
            let mut context = Context::from_waker(Waker::noop());
            loop {
                assert!(driver.as_mut().poll(&mut context).is_pending());
                let tasks = std::mem::take(&mut *self.tasks.lock().unwrap());
                if tasks.is_empty() {
                    return;
                }
                for mut task in tasks {
                    assert!(task.as_mut().poll(&mut context).is_ready());
                }
            }
        }
    }

    impl Runtime for ByHand {
        type Timer = Alarm;

        fn now(&self) -> Instant {
            *self.now.lock().unwrap()
        }

        fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
            self.tasks.lock().unwrap().push(Box::pin(task));
        }

        fn timer(&self) -> Alarm {
            Alarm(self.clone(), None)
        }
    }

    struct Alarm(ByHand, Option<Instant>);

    impl Timer for Alarm {
        fn reset(mut self: Pin<&mut Self>, at: Instant) {
            self.1 = Some(at);
        }
    }

    impl Future for Alarm {
        type Output = ();

        fn poll(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<()> {
            match self.1.is_some_and(|at| at <= self.0.now()) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        }
    }

    /// Confirms the one message of a request.
    struct Confirms;

    impl Transport for Confirms {
        async fn send(
            &self,
            _request: Request<Bytes>,
            _limits: SendLimits,
        ) -> Result<Response<Bytes>, TransportError> {
            Ok(Response::new(Bytes::from_static(
                br#"{"messageIds":["1"]}"#,
            )))
        }
    }

    #[test]
    fn buffers_are_given_back_a_second_after_the_last_request_or_two_and_not_before() {
        let options = PublisherOptions::builder("p", "hooks").build().unwrap();
        let options = Arc::new(options);
        let shared = Arc::new(Shared::new(Machine::new(Arc::clone(&options), false, 1)));
        let runtime = ByHand {
            now: Arc::new(Mutex::new(Instant::now())),
            tasks: Arc::default(),
        };
        let mut driver = pin!(drive(Tasks {
            runtime: runtime.clone(),
            shared: Arc::clone(&shared),
            transport: Arc::new(Confirms),
            tokens: None,
            limits: SendLimits::new(options.timeout()),
        }));
        let mut publish = || {
            let admission = Admission::message(Message::new("one"), &options).unwrap();
            shared.admit(|| runtime.now(), admission).unwrap();
            shared.flush(runtime.now());
            runtime.run(driver.as_mut());
            assert_eq!(shared.gauges().0.messages, 0);
        };
        publish();
        runtime.advance(999);
        publish();
        // It was used in this second.
        runtime.advance(1);
        runtime.run(driver.as_mut());
        assert!(shared.buffers.are_kept());
        runtime.advance(999);
        // Woken by something else.
        shared.resume_all(runtime.now());
        runtime.run(driver.as_mut());
        assert!(shared.buffers.are_kept());
        runtime.advance(1);
        runtime.run(driver.as_mut());
        assert!(!shared.buffers.are_kept());
    }
}
