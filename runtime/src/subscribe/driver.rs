//! The driver: one loop between the machine, the wires and the deliveries.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use futures_util::future::AbortHandle;
use pubsink_core::subscribe::{StreamId, SubscribeOutput, SubscriberOptions, Wire};

use super::client::Client;
use super::client_id::client_id;
use super::ends::Ends;
use super::shared::{Action, Shared};
use super::stream::Says;
use super::subscription::Subscription;
use super::tasks::{About, TaskId, Tasks};
use super::tell::tell;
use crate::driver::Driver;
use crate::seam::{Runtime, Timer};
use crate::tasks::AnyTokens;
use crate::tokens::TokenProvider;

/// A subscription and the driver that runs it. Spawn the driver on the runtime, or nothing comes.
///
/// `client` is one for the [wire](SubscriberOptions::wire) of the options. `seed` decides the
/// pauses after failures, and the id by which Pub/Sub knows the streams of one subscriber.
///
/// # Errors
///
/// [`ConnectError::Client`].
pub fn connect<R, P>(
    options: SubscriberOptions,
    client: Client,
    tokens: Option<P>,
    runtime: R,
    seed: u64,
) -> Result<(Subscription, Driver), ConnectError>
where
    R: Runtime,
    P: TokenProvider,
{
    if client.wire() != options.wire() {
        return Err(ConnectError::Client(options.wire()));
    }
    let clock = runtime.clone();
    let shared = Arc::new(Shared::new(Arc::new(options), move || clock.now(), seed));
    let subscription = Subscription::new(Arc::clone(&shared));
    let end = End(Arc::clone(&shared));
    let tasks = Tasks {
        runtime,
        shared,
        client,
        tokens: tokens.map(|tokens| Arc::new(tokens) as Arc<dyn AnyTokens>),
        client_id: client_id(seed),
    };
    let driver = Driver::new(async move {
        // Inside the future, so that it ends with it, polled or not.
        let _end = end;
        drive(tasks).await;
    });
    Ok((subscription, driver))
}

/// Why there is no subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// Its client is for another wire.
    #[error(
        "the subscription speaks {0:?}, and there is no client for that: give it one, or set the \
         other wire (on smol gRPC needs the feature grpc of pubsink-smol)"
    )]
    Client(Wire),
    /// There is no async runtime here to spawn it on.
    #[error("a subscription has to be spawned inside an async runtime")]
    NoRuntime,
}

/// The room for actions that is kept from one turn to the next.
const KEEP: usize = 4_096;

async fn drive<R: Runtime>(tasks: Tasks<R>) {
    let mut timer = pin!(tasks.runtime.timer());
    let mut work = Work::default();
    let mut actions = Vec::new();
    loop {
        let turn = tasks.shared.turn(&mut actions);
        let outputs = actions.iter().filter_map(Action::output);
        tasks.shared.metrics.turn(&turn.tally, outputs);
        // Not under the lock: each is given back.
        drop(turn.returned);
        for task in turn.ended {
            work.ended(task);
        }
        for action in actions.drain(..) {
            match action {
                Action::Keep(end) => work.ends.keep(end),
                Action::Do(output) => work.perform(&tasks, output),
            }
        }
        if actions.capacity() > KEEP {
            actions = Vec::new();
        }
        if turn.closed {
            return;
        }
        if let Some(at) = turn.until {
            timer.as_mut().reset(at);
        }
        wait(&tasks.shared, timer.as_mut(), turn.until).await;
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

/// What is under way. It ends with the driver: nobody would hear of it.
#[derive(Default)]
struct Work {
    tasks: BTreeMap<TaskId, AbortHandle>,
    streams: BTreeMap<StreamId, Arc<Says>>,
    /// The other ends of what is handed out.
    ends: Ends,
}

impl Work {
    fn perform<R: Runtime>(&mut self, tasks: &Tasks<R>, output: SubscribeOutput) {
        match output {
            SubscribeOutput::OpenStream {
                stream,
                ack_deadline,
                refused,
            } => {
                let says = Arc::<Says>::default();
                let task = tasks.stream(stream, ack_deadline, refused, Arc::clone(&says));
                self.streams.insert(stream, says);
                self.tasks.insert(TaskId::Stream(stream), task);
            }
            SubscribeOutput::Ping(stream) => self.say(stream, Says::ping),
            SubscribeOutput::HalfClose(stream) => self.say(stream, Says::close),
            SubscribeOutput::DropStream(stream) => self.stop(TaskId::Stream(stream)),
            SubscribeOutput::Pull {
                call,
                max_messages,
                refused,
            } => {
                let task = tasks.pull(call, max_messages, refused);
                self.tasks.insert(TaskId::Call(call), task);
            }
            SubscribeOutput::Acknowledge { call, ids, refused } => {
                let task = tasks.call(call, About::Acknowledge, ids, refused);
                self.tasks.insert(TaskId::Call(call), task);
            }
            SubscribeOutput::ModifyDeadline {
                call,
                ids,
                seconds,
                refused,
            } => {
                let task = tasks.call(call, About::ModifyDeadline(seconds), ids, refused);
                self.tasks.insert(TaskId::Call(call), task);
            }
            SubscribeOutput::Cancel(call) => self.stop(TaskId::Call(call)),
            SubscribeOutput::LeaseLost { delivery, cause } => self.ends.lost(delivery, &cause),
            SubscribeOutput::Settled {
                delivery, result, ..
            } => self.ends.settled(delivery, result),
            SubscribeOutput::Event(event) => tell(tasks.shared.name(), &event),
            other => tracing::error!(?other, "an output the driver does not know"),
        }
    }

    fn say(&self, stream: StreamId, say: impl FnOnce(&Says)) {
        if let Some(says) = self.streams.get(&stream) {
            unharmed(|| say(says));
        }
    }

    fn ended(&mut self, task: TaskId) {
        self.tasks.remove(&task);
        if let TaskId::Stream(stream) = task {
            self.streams.remove(&stream);
        }
    }

    fn stop(&mut self, id: TaskId) {
        if let Some(task) = self.tasks.get(&id) {
            unharmed(|| task.abort());
        }
        self.ended(id);
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        for task in self.tasks.values() {
            unharmed(|| task.abort());
        }
    }
}

/// Does what wakes a task, which is somebody else's code.
fn unharmed(wake: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(wake)).is_err() {
        tracing::error!("a waker panicked");
    }
}

/// Tells whoever still waits when the driver ends, in whatever way.
struct End(Arc<Shared>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.end();
    }
}
