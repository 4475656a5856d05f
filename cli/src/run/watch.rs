//! What a dispatcher tells, and how much of it waits to be told on.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use async_channel::{Receiver, unbounded};
use futures_util::StreamExt as _;
use pubsink_core::dispatch::{BreakerState, Event};
use pubsink_core::failure::Failure;

use super::level::Level;
use super::report::Report;

/// How many events may wait before no more rows are claimed.
const UNTOLD_MAX: usize = 4_096;

/// Events of a dispatcher, in their order.
pub(super) struct Watch {
    events: Pin<Box<Receiver<Event>>>,
    untold: Arc<Level>,
    /// Why the last attempt failed that is tried again.
    last_failure: Option<Failure>,
}

impl Watch {
    /// A watch, and the observer to give to the dispatcher.
    pub(super) fn new() -> (Self, impl Fn(&Event) + Send + Sync + 'static) {
        // Bounded by the level: rows are claimed only while there is room.
        let (sender, events) = unbounded();
        let untold = Arc::new(Level::new(UNTOLD_MAX));
        let theirs = Arc::clone(&untold);
        let observer = move |event: &Event| {
            theirs.raise(1);
            // Nobody listens any more at the very end.
            let _ = sender.try_send(event.clone());
        };
        let watch = Self {
            events: Box::pin(events),
            untold,
            last_failure: None,
        };
        (watch, observer)
    }

    pub(super) fn untold(&self) -> Arc<Level> {
        Arc::clone(&self.untold)
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Event> {
        match self.events.poll_next_unpin(cx) {
            Poll::Ready(Some(event)) => {
                self.untold.lower(1);
                Poll::Ready(event)
            }
            // Its driver ended: nothing more happens.
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    }

    /// The next event, if there is one.
    pub(super) fn next(&mut self) -> Option<Event> {
        let event = self.events.try_recv().ok()?;
        self.untold.lower(1);
        Some(event)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Tells a person what concerns more than one hook.
    pub(super) fn say(&mut self, event: Event, report: &Report) {
        match event {
            Event::Retry { failure, .. } => self.last_failure = Some(failure),
            Event::Breaker { sink, state } => match state {
                BreakerState::Open => {
                    let why = self.last_failure.take();
                    let why = why.map_or_else(String::new, |why| format!(" ({why})"));
                    report.say(&format!(
                        "pubsink: {sink} keeps failing{why}; it is left alone for a while, and \
                         hooks wait in the journal"
                    ));
                }
                BreakerState::Closed => report.say(&format!("pubsink: {sink} is back")),
                BreakerState::Probing => {}
            },
            Event::Journal { what, error } => report.say(&format!(
                "pubsink: {error}; the journal is asked again ({what})"
            )),
            Event::UnknownSink(sink) => report.say(&format!(
                "pubsink: the journal has hooks for {sink}, which stay in it"
            )),
            _ => {}
        }
    }
}
