//! Closing: nothing more is taken, handlers end, what they said is told to Pub/Sub.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Subscriber;
use crate::reason::Reason;
use crate::subscribe::calls::What;
use crate::subscribe::hand::Told;
use crate::subscribe::io::{LeaseLost, SubscribeEvent, SubscribeOutput};
use crate::subscribe::outbox::Haste;
use crate::subscribe::settlement::{SettleError, Settlement};

/// How long streams have to end once handlers and acks are done.
const STREAM_ENDING: Duration = Duration::from_secs(2);
/// How long pulls have to end, since nothing more is taken. One that brings something does so at once;
/// one that waits would only be brought what is given back.
const PULL_ENDING: Duration = Duration::from_millis(800);
/// How long what is on its way to Pub/Sub has when the deadline has passed.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How long handlers have when it closes by itself.
const GRACE: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) struct Closing {
    began: Instant,
    deadline: Option<Instant>,
    /// The deadline has passed, and the handlers were given up.
    over: bool,
    /// Since when handlers and acks are done.
    done: Option<Instant>,
}

impl Closing {
    pub(super) fn is_over(&self) -> bool {
        self.over
    }
}

impl Subscriber {
    /// Takes nothing more.
    pub(super) fn close(&mut self, deadline: Option<Instant>) {
        if let Some(closing) = &mut self.closing {
            // Closed twice, the sooner deadline counts.
            closing.deadline = closing.deadline.into_iter().chain(deadline).min();
            return;
        }
        self.closing = Some(Closing {
            began: self.now,
            deadline,
            over: false,
            done: None,
        });
        if let Some(id) = self.streams.half_close(self.now) {
            self.outputs.push_back(SubscribeOutput::HalfClose(id));
        }
        self.acks.hasten(Haste::Soon);
        self.nacks.hasten(Haste::Soon);
        while !self.held.is_empty() {
            self.release_held();
        }
        for no in self.hand.buffered() {
            let key = self.hand.get(no).and_then(|known| known.key.clone());
            self.turns.remove(key.as_ref(), no);
            self.give_back(no);
        }
        self.turns.reopen_all();
    }

    /// It is the operator's to mend: closes by itself.
    pub(super) fn give_up(&mut self, reason: Arc<Reason>) {
        self.gave_up = Some(Arc::clone(&reason));
        self.event(SubscribeEvent::GaveUp(reason));
        self.close(self.now.checked_add(GRACE));
    }

    /// The steps of closing that are due.
    pub(super) fn close_down(&mut self) -> bool {
        let Some(closing) = &mut self.closing else {
            return false;
        };
        let past = |at: Option<Instant>| at.is_some_and(|at| at <= self.now);
        if closing.over {
            let end = closing.deadline.and_then(|at| at.checked_add(LAST_WORDS));
            let left = !self.hand.is_empty() || self.calls.len() > 0;
            if past(end) && left {
                self.abort();
                return true;
            }
        } else if past(closing.deadline) {
            closing.over = true;
            self.abandon();
            return true;
        }
        let done = self.deliveries.is_empty() && self.hand.counts().told == 0;
        if done && let Some(closing) = &mut self.closing {
            closing.done.get_or_insert(self.now);
        }
        self.end_pulls() || (done && self.end_asking())
    }

    /// When the next step of closing is due.
    pub(super) fn closing_timer(&self) -> Option<Instant> {
        let closing = self.closing.as_ref()?;
        let deadline = closing.deadline;
        let end = match closing.over {
            true => deadline.and_then(|at| at.checked_add(LAST_WORDS)),
            false => deadline,
        };
        let streams = closing.done.filter(|_| self.streams.len() > 0);
        let stream = streams.and_then(|done| done.checked_add(STREAM_ENDING));
        let pulls = (self.calls.pulls().0 > 0).then_some(closing.began);
        let pull = pulls.and_then(|began| began.checked_add(PULL_ENDING));
        let all = [stream, pull, end].into_iter().flatten();
        all.filter(|at| *at > self.now).min()
    }

    /// Ends pulls that had their time.
    fn end_pulls(&mut self) -> bool {
        let began = self.closing.as_ref().map(|closing| closing.began);
        let since = began.map(|began| self.now.saturating_duration_since(began));
        since.is_some_and(|since| since >= PULL_ENDING)
            && self.cancel_all(|what| matches!(what, What::Pull(_)))
    }

    /// Ends streams and extensions, once handlers and acks are done and streams had their time.
    fn end_asking(&mut self) -> bool {
        let Some(done) = self.closing.as_ref().and_then(|closing| closing.done) else {
            return false;
        };
        let since = self.now.saturating_duration_since(done);
        if since >= STREAM_ENDING
            && let Some(id) = self.streams.take_any()
        {
            self.outputs.push_back(SubscribeOutput::DropStream(id));
            return true;
        }
        self.hand.is_empty() && self.cancel_all(|what| matches!(what, What::Extend { .. }))
    }

    fn cancel_all(&mut self, which: impl Fn(&What) -> bool) -> bool {
        let calls = self.calls.of(which);
        let any = !calls.is_empty();
        for id in calls {
            self.cancel(id);
        }
        any
    }

    /// The deadline has passed: what handlers have goes back, in last calls.
    fn abandon(&mut self) {
        for (delivery, no) in self.hand.handled() {
            self.deliveries.remove(&delivery);
            self.abandoned.insert(delivery);
            let ours = self.hand.get(no).is_some_and(|known| known.lease.is_some());
            if ours {
                self.outputs.push_back(SubscribeOutput::LeaseLost {
                    delivery,
                    cause: LeaseLost::Closed,
                });
            }
            let settlement = Settlement::Retry;
            let told = Told {
                delivery,
                settlement,
            };
            self.tell(told, Err(SettleError::Closed));
            match ours {
                true => self.nack(no, None),
                false => self.drop_lost(no, false),
            }
        }
        self.cancel_all(|what| !matches!(what, What::Settle(..)));
        while let Some(id) = self.streams.take_any() {
            self.outputs.push_back(SubscribeOutput::DropStream(id));
        }
        self.acks.hasten(Haste::Now);
        self.nacks.hasten(Haste::Now);
    }

    /// The last words had their time: what is unknown stays so.
    fn abort(&mut self) {
        self.cancel_all(|_| true);
        self.acks.clear();
        self.nacks.clear();
        for no in self.hand.all() {
            self.lose(no, LeaseLost::Closed);
        }
    }
}
