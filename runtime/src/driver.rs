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

/// How long buffers wait for the next request when none is on its way: where messages come in bursts,
/// each would pay for new memory, which costs more than what is written to it.
const BUFFERS_KEPT: Duration = Duration::from_secs(1);

async fn drive<R: Runtime, T: Transport>(tasks: Tasks<R, T>) {
    let mut timer = pin!(tasks.runtime.timer());
    let mut running: BTreeMap<RequestId, AbortHandle> = BTreeMap::new();
    let mut idle_since = None;
    loop {
        let now = tasks.runtime.now();
        let Turn {
            answered,
            actions,
            mut until,
            idle,
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
        if idle && tasks.shared.buffers.are_kept() {
            let due = *idle_since.get_or_insert(now) + BUFFERS_KEPT;
            if now >= due {
                tasks.shared.buffers.clear();
            } else {
                until = Some(until.map_or(due, |until| until.min(due)));
            }
        } else {
            idle_since = None;
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
