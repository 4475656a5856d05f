//! The threads that publish, serve and read replies.

use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::future::ready;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Buf as _;
use futures_util::future::{Either, FutureExt as _, select};
use pubsink_tokio::core::options::PublisherOptions;
use pubsink_tokio::core::publish::Message;
use pubsink_tokio::core::subscribe::{Settlement, SubscriberOptions};
use pubsink_tokio::service::{Context, HandlerBuilder, Reply, Service, ServiceEvent, handler};
use pubsink_tokio::subscribe::SourceEnd;
use pubsink_tokio::{Publisher, Tokio};
use tokio::sync::watch;

use super::arguments::{Arguments, Mode, NUMBER};
use super::marks::{Marks, WINDOW};
use super::measure::Threads;

/// How many messages are with handlers at a time: their replies are published meanwhile.
const HANDLERS: usize = 1_000;
const SHUTDOWN: Duration = Duration::from_secs(30);
/// How many are published before others have their turn.
const TOGETHER: u64 = 256;
/// What follows a publish that failed.
const PAUSE: Duration = Duration::from_millis(100);

type Failure = Box<dyn Error + Send + Sync>;

/// What the threads share.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) handled: Marks,
    pub(crate) answered: Marks,
    pub(crate) threads: Threads,
    pub(crate) troubles: Troubles,
    /// How many messages are confirmed, once no more are published.
    pub(crate) published: OnceLock<u64>,
}

/// What went wrong on the way, and the first of it.
#[derive(Default)]
pub(crate) struct Troubles(AtomicU64, OnceLock<String>);

/// Everything that runs.
pub(crate) struct Traffic {
    pub(crate) state: Arc<State>,
    stop: watch::Sender<bool>,
    threads: Vec<JoinHandle<Result<bool, Failure>>>,
}

impl Traffic {
    /// Starts it. It publishes for so long, and serves until it is stopped.
    pub(crate) fn start(
        arguments: &Arguments,
        address: &str,
        length: Duration,
    ) -> Result<Self, Failure> {
        let (stop, stopped) = watch::channel(false);
        let state = Arc::<State>::default();
        let subscriber = |name| {
            let options = SubscriberOptions::builder("p", name).emulator(address);
            let options = options.wire(arguments.wire).handlers(HANDLERS);
            options.max_outstanding(10 * HANDLERS).build()
        };
        let publisher = |name| {
            let window = usize::try_from(WINDOW).unwrap_or(usize::MAX);
            let options = PublisherOptions::builder("p", name).emulator(address);
            options
                .batch_queue_max(window)
                .batch_queue_tenant(window)
                .build()
        };
        let mut threads = Vec::new();

        let (options, replies) = (subscriber("soak")?, publisher("soak-replies")?);
        let (mode, shared, until) = (arguments.mode, Arc::clone(&state), stopped.clone());
        threads.push(std::thread::spawn(move || {
            shared.threads.service.is_here();
            let marking = Arc::clone(&shared);
            let mark = move |context: Context| {
                marking.handled.mark(number(context.data()));
                context.data().clone()
            };
            let handling = move || match mode {
                Mode::Consume => Ok(handler(move |context| {
                    mark(context);
                    ready(Settlement::Ack)
                })),
                Mode::Answer => Ok(handler(move |context| ready(Reply::new(mark(context))))
                    .reply_to(pubsink_tokio::publisher(replies).spawn()?)),
            };
            serve(shared, until, options, handling)
        }));
        if mode == Mode::Answer {
            let (options, until) = (subscriber("soak-replies")?, stopped.clone());
            let shared = Arc::clone(&state);
            threads.push(std::thread::spawn(move || {
                let marking = Arc::clone(&shared);
                let mark = move |context: Context| {
                    marking.answered.mark(number(context.data()));
                    ready(Settlement::Ack)
                };
                serve(shared, until, options, || Ok(handler(mark)))
            }));
        }
        let (options, mut until) = (publisher("soak")?, stopped);
        let (shared, size) = (Arc::clone(&state), arguments.size);
        threads.push(std::thread::spawn(move || {
            shared.threads.publisher.is_here();
            runtime()?.block_on(async {
                let publisher = pubsink_tokio::publisher(options).spawn()?;
                let end = Instant::now() + length;
                publish(&publisher, &shared, mode, size, end).await;
                // What it took is read until the end.
                let _ = until.changed().await;
                Ok(true)
            })
        }));
        Ok(Self {
            state,
            stop,
            threads,
        })
    }

    /// Stops it, and tells whether nothing was left in hand. What is not done would be waited for
    /// without end.
    pub(crate) fn stop(self, done: bool) -> bool {
        if !done {
            return false;
        }
        let _ = self.stop.send(true);
        let mut clean = true;
        for thread in self.threads {
            clean &= matches!(thread.join(), Ok(Ok(true)));
        }
        clean
    }
}

impl State {
    /// Where a message's way ends.
    pub(crate) fn last(&self, mode: Mode) -> &Marks {
        match mode {
            Mode::Consume => &self.handled,
            Mode::Answer => &self.answered,
        }
    }
}

pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    Ok(runtime?)
}

/// Handles a subscription's messages until it is told to stop.
fn serve(
    state: Arc<State>,
    mut until: watch::Receiver<bool>,
    options: SubscriberOptions,
    handling: impl FnOnce() -> Result<HandlerBuilder, Failure>,
) -> Result<bool, Failure> {
    runtime()?.block_on(async {
        let source = pubsink_tokio::subscription(options).spawn()?;
        let service = Service::builder()
            .subscription(source, handling()?)
            .on_event(move |event| match event {
                ServiceEvent::Handled { .. }
                | ServiceEvent::SourceEnded {
                    end: SourceEnd::Closed,
                    ..
                } => {}
                trouble => state.troubles.note(|| format!("{trouble:?}")),
            })
            .shutdown_grace(SHUTDOWN)
            .build()?;
        let stop = async { drop(until.changed().await) };
        Ok(service
            .run_until(Tokio::current()?, 42, stop)
            .await
            .is_clean())
    })
}

/// Publishes one number after the other while there is room. What fails is published again.
async fn publish(publisher: &Publisher, state: &State, mode: Mode, size: usize, until: Instant) {
    let last = state.last(mode);
    let padding = vec![b'.'; size - NUMBER];
    let send = |number: u64| {
        let data = [&number.to_be_bytes(), &padding[..]].concat();
        publisher.publish(Message::new(data))
    };
    let (mut next, mut unconfirmed) = (0, VecDeque::new());
    let mut paused: Option<Instant> = None;
    loop {
        let over = Instant::now() >= until;
        let room = !over && last.has_room(next);
        if room {
            unconfirmed.push_back((next, send(next)));
            next += 1;
            if next % TOGETHER == 0 {
                tokio::task::yield_now().await;
            }
        }
        let outcome = match unconfirmed.front_mut() {
            None if over => break,
            None => last.moved().map(|()| None).await,
            Some((_, delivery)) if room => delivery.now_or_never(),
            Some((_, delivery)) => match select(delivery, pin!(last.moved())).await {
                Either::Left((outcome, _)) => Some(outcome),
                Either::Right(_) => None,
            },
        };
        let Some(outcome) = outcome else { continue };
        let Some((number, _)) = unconfirmed.pop_front() else {
            continue;
        };
        if let Err(failure) = outcome {
            state.troubles.note(|| failure.to_string());
            // Once for all that failed together, or they would be published one a pause.
            if paused.is_none_or(|paused| paused.elapsed() > PAUSE) {
                tokio::time::sleep(PAUSE).await;
                paused = Some(Instant::now());
            }
            unconfirmed.push_back((number, send(number)));
        }
    }
    let _ = state.published.set(next);
}

fn number(mut data: &[u8]) -> u64 {
    data.try_get_u64().unwrap_or(u64::MAX)
}

impl Troubles {
    fn note(&self, what: impl FnOnce() -> String) {
        self.0.fetch_add(1, Ordering::Relaxed);
        self.1.get_or_init(what);
    }
}

impl fmt::Display for Troubles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, first) = (self.0.load(Ordering::Relaxed), self.1.get());
        match first {
            None => f.write_str("none"),
            Some(first) => write!(f, "{count}, the first {first}"),
        }
    }
}
