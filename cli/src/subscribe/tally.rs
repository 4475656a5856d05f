//! How many messages came to what, and whether it is enough.

use std::fmt;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_channel::{Receiver, Sender, bounded};
use pubsink_core::subscribe::Settlement;
use pubsink_runtime::service::{Context, ServiceEvent};
use tokio::sync::Semaphore;

use crate::say::say;

/// How many failures are told one by one.
const TOLD_MAX: u64 = 10;

/// Counts messages, and lets no more be handled than are to be acked.
pub(super) struct Tally {
    state: Mutex<State>,
    /// The messages that may be handled still, as far as none fails; counted where there is a
    /// count.
    places: Semaphore,
    count: Option<u64>,
    /// Closed once there is enough.
    finish: Sender<()>,
    finished: Receiver<()>,
}

#[derive(Default)]
struct State {
    counts: Counts,
    /// Given back unhandled.
    unhandled: u64,
    told: u64,
    /// Why nothing more can be written.
    broken: Option<io::Error>,
}

/// How many messages came to what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Handled, or on their way.
    received: u64,
    acked: u64,
    /// Not done: they come again.
    retried: u64,
    /// Stopped before their end, or their ack does not count: they come again.
    failed: u64,
}

impl Tally {
    pub(super) fn new(count: Option<u32>) -> Self {
        let (finish, finished) = bounded(1);
        let places = usize::try_from(count.unwrap_or(0)).unwrap_or(usize::MAX);
        Self {
            state: Mutex::default(),
            places: Semaphore::new(places.min(Semaphore::MAX_PERMITS)),
            count: count.map(u64::from),
            finish,
            finished,
        }
    }

    /// Waits until a message may be handled. False: it is given back.
    pub(super) async fn begin(&self) -> bool {
        let free = match (self.count, self.places.is_closed()) {
            (None, closed) => !closed,
            (Some(_), _) => match self.places.acquire().await {
                Ok(place) => {
                    place.forget();
                    true
                }
                Err(_closed) => false,
            },
        };
        let mut state = self.lock();
        match free {
            true => state.counts.received += 1,
            false => state.unhandled += 1,
        }
        free
    }

    /// Hears what became of a message.
    pub(super) fn observe(&self, event: &ServiceEvent) {
        match event {
            ServiceEvent::Handled {
                settlement: Settlement::Ack | Settlement::Drop,
                ..
            } => {
                let acked = {
                    let mut state = self.lock();
                    state.counts.acked += 1;
                    state.counts.acked
                };
                if self.count.is_some_and(|count| acked >= count) {
                    self.finish.close();
                }
            }
            ServiceEvent::Handled { .. } => {
                self.lock().counts.retried += 1;
                self.give_back();
            }
            ServiceEvent::Abandoned { context } => {
                self.lock().counts.failed += 1;
                self.give_back();
                self.fail(context, &"it was stopped before its end");
            }
            ServiceEvent::SettleFailed {
                context,
                settlement: Settlement::Ack,
                error,
            } => {
                {
                    let mut state = self.lock();
                    state.counts.acked = state.counts.acked.saturating_sub(1);
                    state.counts.failed += 1;
                }
                self.give_back();
                self.fail(context, error);
            }
            ServiceEvent::HandlerFailed { context, error }
            | ServiceEvent::Panicked { context, error } => self.fail(context, &&**error),
            ServiceEvent::ReplyFailed { context, error } => self.fail(context, error),
            ServiceEvent::LeaseLost { context, .. } => {
                self.fail(context, &"its lease was lost while it was handled");
            }
            _ => {}
        }
    }

    /// Tells why a message comes again: the first ones, and the log every one.
    pub(super) fn fail(&self, context: &Context, why: &dyn fmt::Display) {
        let told = {
            let mut state = self.lock();
            state.told += 1;
            state.told
        };
        let (id, attempt) = (context.message_id(), context.attempt());
        if told <= TOLD_MAX {
            say(format_args!(
                "pubsink: message {id}, attempt {attempt}: {why}"
            ));
        }
        if told == TOLD_MAX {
            say("pubsink: further failures are only counted");
        }
        tracing::info!(message_id = id.as_str(), attempt, %why, "a message comes again");
    }

    /// Nothing more can be written.
    pub(super) fn broke(&self, error: io::Error) {
        self.lock().broken = Some(error);
        self.finish.close();
    }

    /// What broke the output. A reader that has seen enough is no fault.
    pub(super) fn broken(&self) -> Option<String> {
        let state = self.lock();
        let broken = state.broken.as_ref();
        let fault = broken.filter(|error| error.kind() != io::ErrorKind::BrokenPipe);
        fault.map(io::Error::to_string)
    }

    /// Resolves once there is enough, or nothing more can be written.
    pub(super) async fn finished(&self) {
        // Nothing is ever sent: the channel only closes.
        let _ = self.finished.recv().await;
    }

    /// From now on what comes is given back.
    pub(super) fn close(&self) {
        self.places.close();
    }

    /// Whether less was acked than was to be, though all could be written.
    pub(super) fn is_short(&self) -> bool {
        let state = self.lock();
        let short = self.count.is_some_and(|count| state.counts.acked < count);
        short && state.broken.is_none()
    }

    pub(super) fn counts(&self) -> Counts {
        let state = self.lock();
        let mut counts = state.counts;
        counts.retried = counts.retried.saturating_sub(state.unhandled);
        counts
    }

    /// A message that was handled is not done: another may be.
    fn give_back(&self) {
        // What is given back unhandled, once they are closed, had no place.
        if self.count.is_some() && !self.places.is_closed() {
            self.places.add_permits(1);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            received,
            acked,
            retried,
            failed,
        } = self;
        write!(
            f,
            "{received} received, {acked} acked, {retried} retried, {failed} failed"
        )
    }
}
