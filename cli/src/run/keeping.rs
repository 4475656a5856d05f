//! Hooks on their way into the journal.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use pubsink_core::dispatch::{Accepted, EnqueueError};
use pubsink_core::envelope::Envelope;
use pubsink_core::journal::JournalError;
use pubsink_core::text::Text;
use pubsink_runtime::dispatch::{Dispatch, Incoming};
use pubsink_tokio::seam::{Runtime, Timer as _};

/// How many hooks may be on their way, and how many bytes of them: enough for two syncs of the
/// disk at a time.
const HOOKS_MAX: usize = 2_048;
const BYTES_MAX: usize = 32 * 1024 * 1024;
/// How long a hook waits that found no room.
const NO_ROOM: Duration = Duration::from_millis(250);

/// A hook that was read, and by which name the journal is to know it.
#[derive(Debug)]
pub(super) struct Hook {
    pub(super) line: u64,
    pub(super) name: Text,
    pub(super) envelope: Arc<Envelope>,
}

/// What the journal said of a hook.
pub(super) struct Kept {
    pub(super) hook: Hook,
    pub(super) result: Result<Accepted, EnqueueError>,
}

/// Hooks on their way into the journal, and those it had no room for.
pub(super) struct Keeping<R: Runtime> {
    runtime: R,
    dispatch: Dispatch,
    asked: FuturesUnordered<BoxFuture<'static, Kept>>,
    bytes: usize,
    /// Asked again one at a time, once nothing else is asked.
    again: VecDeque<Hook>,
    /// Set while one of them waits.
    timer: Option<Pin<Box<R::Timer>>>,
}

impl<R: Runtime> Keeping<R> {
    pub(super) fn new(runtime: R, dispatch: Dispatch) -> Self {
        Self {
            runtime,
            dispatch,
            asked: FuturesUnordered::new(),
            bytes: 0,
            again: VecDeque::new(),
            timer: None,
        }
    }

    /// Whether there is room for another hook. One that is larger than all of it goes alone.
    pub(super) fn has_room(&self, envelope: &Envelope) -> bool {
        let fits = self.asked.is_empty() || self.bytes + envelope.bytes() <= BYTES_MAX;
        self.again.is_empty() && self.asked.len() < HOOKS_MAX && fits
    }

    pub(super) fn len(&self) -> usize {
        self.asked.len() + self.again.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Asks the journal to keep a hook.
    pub(super) fn ask(&mut self, hook: Hook) {
        self.bytes += hook.envelope.bytes();
        let incoming = Incoming::new(Arc::clone(&hook.envelope)).once(hook.name.clone());
        let acceptance = self.dispatch.enqueue(incoming);
        self.asked.push(Box::pin(async move {
            let result = acceptance.await;
            Kept { hook, result }
        }));
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Kept> {
        loop {
            if let Poll::Ready(Some(kept)) = self.asked.poll_next_unpin(cx) {
                self.bytes -= kept.hook.envelope.bytes();
                return Poll::Ready(kept);
            }
            if !self.asked.is_empty() || self.again.is_empty() {
                return Poll::Pending;
            }
            if let Some(timer) = &mut self.timer {
                match timer.poll_unpin(cx) {
                    Poll::Ready(()) => self.timer = None,
                    Poll::Pending => return Poll::Pending,
                }
            }
            if let Some(hook) = self.again.pop_front() {
                self.ask(hook);
            }
        }
    }

    /// The next answer that is there.
    pub(super) fn next(&mut self) -> Option<Kept> {
        let kept = self.asked.next().now_or_never().flatten()?;
        self.bytes -= kept.hook.envelope.bytes();
        Some(kept)
    }

    /// There was no room for a hook; it is asked for again in a moment.
    pub(super) fn wait(&mut self, hook: Hook) {
        // Before those that came after it.
        let place = self.again.partition_point(|other| other.line < hook.line);
        self.again.insert(place, hook);
        if self.timer.is_none() {
            let mut timer = Box::pin(self.runtime.timer());
            timer.as_mut().reset(self.runtime.now() + NO_ROOM);
            self.timer = Some(timer);
        }
    }

    /// Gives up those there was no room for.
    pub(super) fn give_up(&mut self) -> impl Iterator<Item = Hook> + use<R> {
        std::mem::take(&mut self.again).into_iter()
    }
}

/// Whether there may be room for the hook in a while, as far as its refusal says.
pub(super) fn may_wait(error: &EnqueueError) -> bool {
    matches!(
        error,
        EnqueueError::Busy { .. } | EnqueueError::Journal(JournalError::Full { .. })
    )
}
