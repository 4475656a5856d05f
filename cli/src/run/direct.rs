//! From memory: each hook is attempted until it is delivered or given up.

use std::convert::Infallible;
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::Duration;

use async_channel::{Receiver, bounded};
use futures_util::future::{BoxFuture, Either, select};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use pubsink_core::envelope::Envelope;
use pubsink_core::publish::Admission;
use pubsink_tokio::seam::Runtime;

use super::attempts::{Attempts, Begun, Finished};
use super::left::Left;
use super::lines::Line;
use super::report::{Of, Report};
use super::way::Way;
use super::window::{Share, Window};
use crate::interrupt::Interrupt;

/// Hooks in memory, as many as the publisher takes.
pub(super) struct Direct<R> {
    attempts: Attempts<R>,
    window: Window,
    under_way: FuturesUnordered<BoxFuture<'static, Hook>>,
}

/// A hook that is finished, and which it was.
pub(super) struct Hook {
    line: u64,
    envelope: Envelope,
    share: Share,
    finished: Finished,
}

impl<R: Runtime> Direct<R> {
    pub(super) fn new(attempts: Attempts<R>) -> Self {
        Self {
            window: Window::new(attempts.publisher.options()),
            under_way: FuturesUnordered::new(),
            attempts,
        }
    }

    /// Waits until a hook has its place in its ordering key, or is given up.
    async fn placed(&mut self, place: &Receiver<Infallible>, report: &mut Report) {
        let mut placed = pin!(place.recv());
        while let Either::Right((Some(hook), _)) =
            select(placed.as_mut(), self.under_way.next()).await
        {
            self.settle(hook, report);
        }
    }
}

impl<R: Runtime> Way for Direct<R> {
    type Step = Hook;

    async fn send(
        &mut self,
        line: Line,
        envelope: Envelope,
        report: &mut Report,
        interrupt: &Interrupt,
    ) -> bool {
        let claim = self.attempts.claim(&envelope);
        let attempt = match &claim {
            Ok(claim) => self.attempts.begin(&envelope, 1, claim.clone()),
            Err(_) => self.attempts.begin(&envelope, 1, None),
        };
        let options = self.attempts.publisher.options();
        let admission = match &claim {
            Ok(_) => Admission::hook(&envelope, &attempt.context, options),
            Err(error) => Err(error.clone().into()),
        };
        let share = Share {
            tenant: (admission.as_ref().ok()).and_then(|admission| admission.tenant().cloned()),
            // All of it is held until its last attempt, what is not sent (method, path, cookies)
            // and what is refused too.
            bytes: (line.text.len()).max(admission.as_ref().map_or(0, Admission::size)),
        };
        let mut asked = pin!(interrupt.asked());
        while !self.window.has_room(&share) {
            match select(asked.as_mut(), self.under_way.next()).await {
                Either::Right((Some(hook), _)) => self.settle(hook, report),
                Either::Left(_) | Either::Right((None, _)) => break,
            }
        }
        // The room may be there because of it.
        if interrupt.is_asked() {
            return false;
        }
        self.window.take(&share);
        let (mut begun, mut place) = (None, None);
        if let (Ok(admission), Ok(Some(_))) = (&admission, &claim) {
            let (holds, held) = bounded(1);
            begun = Some(Begun::CheckIn(holds));
            // Those behind it must not overtake it.
            place = (!admission.ordering_key().is_empty()).then_some(held);
        }
        let publisher = &self.attempts.publisher;
        let begun = begun.unwrap_or_else(|| Begun::Sent(publisher.admit(admission)));
        let attempts = self.attempts.clone();
        let line = line.number;
        self.under_way.push(Box::pin(async move {
            let finished = attempts.finish(&envelope, attempt, begun).await;
            Hook {
                line,
                envelope,
                share,
                finished,
            }
        }));
        if let Some(place) = place {
            self.placed(&place, report).await;
        }
        true
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Hook> {
        match self.under_way.poll_next_unpin(cx) {
            Poll::Ready(Some(hook)) => Poll::Ready(hook),
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    }

    fn settle(&mut self, hook: Hook, report: &mut Report) {
        let replay_id = self.attempts.context.replay_id.as_deref();
        let mut next = Some(hook);
        while let Some(hook) = next {
            self.window.give_back(&hook.share);
            let of = Of {
                line: Some(hook.line),
                envelope: &hook.envelope,
                replay_id,
            };
            report.finished(of, &hook.finished);
            next = self.under_way.next().now_or_never().flatten();
        }
        report.flush();
    }

    fn under_way(&self) -> usize {
        self.under_way.len()
    }

    fn flush(&mut self) {
        drop(self.attempts.publisher.flush());
    }

    fn shut_down(&mut self, limit: Duration, _report: &mut Report) {
        drop(self.attempts.publisher.shutdown(limit));
    }

    async fn finish(&mut self, report: &mut Report) {
        while let Some(hook) = self.under_way.next().await {
            self.settle(hook, report);
        }
    }

    async fn end(&mut self) -> Left {
        Left::default()
    }

    fn has_failed(&self) -> bool {
        false
    }
}
