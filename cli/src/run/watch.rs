//! What a dispatcher tells, and how much of it waits to be told on.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use async_channel::{Receiver, unbounded};
use futures_util::StreamExt as _;
use pubsink_core::dispatch::{BreakerPolicy, BreakerState, DispatchOptions, Event};
use pubsink_core::failure::Failure;
use pubsink_core::reason::Reason;

use super::level::Level;
use super::report::Report;

/// How many events may wait before no more rows are claimed.
const UNTOLD_MAX: usize = 4_096;

/// How much of a failure is told.
const CAUSE_CHARS: usize = 200;

/// Events of a dispatcher, in their order.
pub(super) struct Watch {
    events: Pin<Box<Receiver<Event>>>,
    untold: Arc<Level>,
    breaker: Told,
    claims: Claims,
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
            breaker: Told::default(),
            claims: Claims::default(),
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

    /// A hook was delivered whose body lies in the claim store.
    pub(super) fn claimed(&mut self) {
        self.claims.worked();
    }

    /// Tells a person what concerns more than one hook.
    pub(super) fn say(&mut self, event: Event, report: &Report) {
        match event {
            Event::Retry { failure, .. } => match &*failure.reason {
                // That is the claim store's, not the topic's.
                Reason::ClaimCheck(problem) => {
                    if let Some(count) = self.claims.failed() {
                        let why = short(&problem.to_string());
                        report.say(&format!(
                            "pubsink: {why} ({count} so far); hooks with large bodies wait in the \
                             journal, the others go on"
                        ));
                    }
                }
                _ => self.breaker.failed(&failure),
            },
            Event::Breaker { sink, state } => match state {
                BreakerState::Open => {
                    if let Some(words) = self.breaker.opened() {
                        report.say(&format!(
                            "pubsink: {sink} keeps failing; it is left alone for {words}; hooks \
                             wait in the journal"
                        ));
                    }
                }
                BreakerState::Closed => {
                    self.breaker.closed();
                    report.say(&format!("pubsink: {sink} is back"));
                }
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

/// What was told of a claim store that fails: the first failure, the tenth, the hundredth, …
#[derive(Debug, Default)]
struct Claims {
    failures: u64,
}

impl Claims {
    /// One more; how many there are, if that is to be told.
    fn failed(&mut self) -> Option<u64> {
        self.failures += 1;
        let told = self.failures == 10_u64.pow(self.failures.ilog10());
        told.then_some(self.failures)
    }

    /// The store works: the next failure is news again.
    fn worked(&mut self) {
        self.failures = 0;
    }
}

/// What was told of the topic's breaker.
#[derive(Debug)]
struct Told {
    policy: BreakerPolicy,
    /// How long it stays open the next time.
    pause: Duration,
    /// Why the last attempt failed, in short.
    cause: Option<String>,
    last: Option<String>,
}

impl Default for Told {
    fn default() -> Self {
        // The run sets no other.
        let policy = DispatchOptions::default().breaker;
        Self {
            policy,
            pause: policy.open,
            cause: None,
            last: None,
        }
    }
}

impl Told {
    fn failed(&mut self, failure: &Failure) {
        self.cause = Some(short(&failure.to_string()));
    }

    /// It opened; for how long and why, if that is not what was told the last time.
    fn opened(&mut self) -> Option<String> {
        let why = self.cause.as_ref();
        let why = why.map_or_else(String::new, |why| format!(": {why}"));
        let words = format!("{} s{why}", self.pause.as_secs());
        // Each probe that fails doubles it.
        self.pause = self.pause.saturating_mul(2).min(self.policy.max_open);
        let new = self.last.as_ref() != Some(&words);
        self.last = Some(words);
        self.last.clone().filter(|_| new)
    }

    fn closed(&mut self) {
        *self = Self::default();
    }
}

fn short(text: &str) -> String {
    match text.char_indices().nth(CAUSE_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_breaker_is_told_of_while_there_is_something_new() {
        let mut told = Told {
            cause: Some("gone".into()),
            ..Told::default()
        };
        for seconds in [30, 60, 120, 240, 300] {
            assert_eq!(told.opened(), Some(format!("{seconds} s: gone")));
        }
        assert_eq!((told.opened(), told.opened()), (None, None));
        told.cause = Some("slow".into());
        assert_eq!(told.opened().as_deref(), Some("300 s: slow"));
        assert_eq!(told.opened(), None);
        told.closed();
        assert_eq!(told.opened().as_deref(), Some("30 s"));
    }

    #[test]
    fn a_claim_store_that_fails_is_told_of_now_and_then() {
        let mut claims = Claims::default();
        let told: Vec<_> = (0..1_500).filter_map(|_| claims.failed()).collect();
        assert_eq!(told, [1, 10, 100, 1_000]);
        claims.worked();
        assert_eq!(claims.failed(), Some(1));
    }

    #[test]
    fn a_long_cause_is_cut_between_characters() {
        assert_eq!(short("short"), "short");
        let cut = short(&"é".repeat(1_000));
        assert_eq!(cut, "é".repeat(CAUSE_CHARS) + "…");
    }
}
