//! Messages are pulled.

use std::time::{Duration, Instant};

use super::arrivals::FirstLease;
use super::{Subscriber, later};
use crate::subscribe::asking::Attempt;
use crate::subscribe::calls::What;
use crate::subscribe::failure::CallFailure;
use crate::subscribe::io::{CallId, SubscribeMisuse, SubscribeOutput};
use crate::subscribe::message::ReceivedMessage;
use crate::subscribe::pauses::Pauses;

/// The most messages that Pub/Sub gives in one answer.
const PULL_MAX: usize = 1_000;
/// How many pulls are in flight at most. One waits for messages; the second keeps a busy
/// subscription from waiting for the way there and back.
const PULLS: usize = 2;
/// How long a pull may take beyond connecting and answering. Pub/Sub holds one that finds nothing
/// for 90 s.
const PULL_TIME: Duration = Duration::from_secs(110);
/// A pull that brings nothing in less than this did not wait for messages.
const INSTANT: Duration = Duration::from_secs(1);
/// The pauses between such answers.
const PAUSES: Pauses = Pauses {
    first: Duration::from_millis(50),
    max: Duration::from_secs(1),
};
/// While handlers have work, room is let grow to this part of the whole before more is asked for:
/// a request for each message would be the alternative.
const ROOM: usize = 10;

/// How the pulls went.
#[derive(Debug, Default)]
pub(super) struct Pulls {
    /// The last one brought something.
    busy: bool,
    /// So many in a row brought nothing, at once.
    empty: u32,
    not_before: Option<Instant>,
}

impl Pulls {
    pub(super) fn not_before(&self) -> Option<Instant> {
        self.not_before
    }

    /// A pull brought so many messages.
    fn brought(&mut self, now: Instant, took: Duration, messages: usize) {
        self.busy = messages > 0;
        if self.busy || took >= INSTANT {
            self.empty = 0;
            return;
        }
        self.empty = self.empty.saturating_add(1);
        self.not_before = Some(now + PAUSES.whole(self.empty));
    }
}

impl Subscriber {
    /// Pulls, where there is room for more.
    pub(super) fn pull(&mut self) -> bool {
        let now = self.now;
        let paused = self.pulls.not_before.is_some_and(|at| at > now) || !self.asking.may(now);
        if !self.is_rest() || self.closing.is_some() || paused || !self.has_room() {
            return false;
        }
        let (pulls, pulling) = self.calls.pulls();
        let max = self.options.max_outstanding();
        let taken = self.hand.counts().outstanding + pulling;
        let room = max.saturating_sub(taken);
        let enough = match pulls {
            // Where no handler has to wait for a message, it may as well be a good many.
            0 if self.turns.is_idle() => 1,
            0 => (max / ROOM).clamp(1, PULL_MAX),
            _ if pulls < PULLS && self.pulls.busy && !self.asking.is_failing() => {
                (max / 2).clamp(1, PULL_MAX)
            }
            _ => return false,
        };
        if room < enough {
            return false;
        }
        let messages = room.min(PULL_MAX);
        let refused = self.asking.begin();
        let time = self
            .options
            .timeout()
            .saturating_mul(2)
            .saturating_add(PULL_TIME);
        let deadline = later(now, time);
        let call = self
            .calls
            .begin(now, deadline, What::Pull(messages), refused.is_some());
        self.outputs.push_back(SubscribeOutput::Pull {
            call,
            max_messages: u32::try_from(messages).unwrap_or(u32::MAX),
            refused,
        });
        true
    }

    /// A pull was answered.
    pub(super) fn pulled(
        &mut self,
        id: CallId,
        result: Result<Vec<ReceivedMessage>, CallFailure>,
    ) -> Result<(), SubscribeMisuse> {
        match self.calls.get(id).map(|call| &call.what) {
            Some(What::Pull(_)) => {}
            None if self.calls.knows(id) => {
                self.pulled_late(result);
                return Ok(());
            }
            _ => return Err(SubscribeMisuse::UnknownCall(id)),
        }
        let Some(call) = self.calls.end(id) else {
            return Ok(());
        };
        match result {
            Ok(messages) => {
                let took = self.now.saturating_duration_since(call.began);
                self.pulls.brought(self.now, took, messages.len());
                self.asking.well();
                self.take_pulled(messages);
            }
            Err(failure) => self.pull_failed(call.began, call.renewed, &failure),
        }
        Ok(())
    }

    pub(super) fn pull_failed(&mut self, began: Instant, renewed: bool, failure: &CallFailure) {
        self.pulls.busy = false;
        if self.closing.is_some() {
            return;
        }
        let attempt = Attempt {
            began,
            brought: false,
            renewed,
        };
        self.interrupted(failure.clone(), attempt);
    }

    /// A pull was given up, and was answered all the same: its messages are leased to us, and
    /// would stay so for nobody.
    fn pulled_late(&mut self, result: Result<Vec<ReceivedMessage>, CallFailure>) {
        if let Ok(messages) = result
            && !self.is_over()
            && !self.is_closed()
        {
            self.take_pulled(messages);
        }
    }

    fn take_pulled(&mut self, messages: Vec<ReceivedMessage>) {
        for message in messages {
            self.arrive(message, FirstLease::Unknown);
        }
    }
}
