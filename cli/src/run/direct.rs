//! From memory: each hook is attempted until it is delivered or given up.

use std::pin::pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::{BoxFuture, Either, select};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use pubsink_core::envelope::Envelope;
use pubsink_core::publish::Admission;
use pubsink_core::text::Text;
use pubsink_tokio::seam::Runtime;

use super::attempts::{Attempts, Begun, Finished};
use super::left::Left;
use super::lines::Line;
use super::places::Places;
use super::report::{Of, Report};
use super::way::Way;
use super::window::{Share, Window};
use crate::interrupt::Interrupt;

/// Hooks in memory, as many as the publisher takes.
pub(super) struct Direct<R> {
    attempts: Attempts<R>,
    window: Window,
    places: Places,
    under_way: FuturesUnordered<BoxFuture<'static, Hook>>,
}

/// A hook that is finished, and which it was.
pub(super) struct Hook {
    line: u64,
    envelope: Envelope,
    share: Share,
    /// Its ordering key, where it waited for its place there.
    key: Option<Text>,
    finished: Finished,
}

impl<R: Runtime> Direct<R> {
    pub(super) fn new(attempts: Attempts<R>) -> Self {
        Self {
            window: Window::new(attempts.publisher.options()),
            places: Places::default(),
            under_way: FuturesUnordered::new(),
            attempts,
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
        let key = admission.as_ref().ok().map(Admission::ordering_key);
        let key = key.filter(|key| matches!(claim, Ok(Some(_))) || self.places.is_waiting(key));
        let key = key.cloned();
        let begun = match &key {
            // Those behind a body that is checked in must not overtake it.
            Some(key) => Begun::Waits(self.places.take(key)),
            None => Begun::Sent(self.attempts.publisher.admit(admission)),
        };
        let attempts = self.attempts.clone();
        let line = line.number;
        self.under_way.push(Box::pin(async move {
            let finished = attempts.finish(&envelope, attempt, begun).await;
            Hook {
                line,
                envelope,
                share,
                key,
                finished,
            }
        }));
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
            if let Some(key) = &hook.key {
                self.places.tidy(key);
            }
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
