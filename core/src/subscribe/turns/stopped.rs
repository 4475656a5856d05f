//! Ordering keys that wait for what they gave back.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Turns;
use crate::failure::MessageId;
use crate::subscribe::hand::MessageNo;

/// How long a key waits for a message that was given back, from when Pub/Sub has taken it. What
/// was sent before that may come until then.
const BACK: Duration = Duration::from_secs(1);
/// How many messages a key waits for, at most, one after the other.
const HEADS: usize = 3;

/// A message of a key is being given back, and nothing of the key goes until it is back.
///
/// A server that keeps the order sends it again, and then what was behind it. What it had sent
/// before may still come: that goes back as well, or it would overtake.
#[derive(Debug)]
pub(super) struct Stopped {
    /// What is waited for: the message, and where others of the key went back after it, the first
    /// of them. Whichever comes first: the message may have become a dead letter.
    heads: Vec<MessageId>,
    /// What was right behind the last of them. Where that comes first, they are all gone.
    next: Option<MessageId>,
    /// What has come since then, of what had been given back with it.
    pub(super) back: BTreeSet<MessageNo>,
    /// Pub/Sub has taken it: when it is not waited for any more.
    until: Option<Instant>,
}

impl Turns {
    /// A message of `key` is being given back, and what waits behind it, first `next`: nothing more
    /// of it goes until it is back.
    pub(in crate::subscribe) fn stop(
        &mut self,
        key: &Arc<str>,
        head: MessageId,
        next: Option<MessageId>,
    ) {
        self.go_on(key);
        self.change(key, |key| {
            key.stopped = Some(Stopped {
                heads: vec![head],
                next,
                back: BTreeSet::new(),
                until: None,
            });
        });
    }

    /// Another message of a key that waits is being given back: the key waits for that as well.
    pub(in crate::subscribe) fn stop_again(
        &mut self,
        key: &Arc<str>,
        head: &MessageId,
        next: Option<MessageId>,
    ) {
        let known = self.keys.get_mut(key);
        let Some(stopped) = known.and_then(|key| key.stopped.as_mut()) else {
            return;
        };
        // Where something went back right behind the first one, that comes before this.
        if stopped.heads.len() >= HEADS || stopped.next.is_some() {
            return;
        }
        stopped.heads.push(head.clone());
        stopped.next = next;
        if let Some(until) = stopped.until.take() {
            self.reopen.remove(&(until, Arc::clone(key)));
        }
    }

    /// The message that is being given back, and that `key` waits for: the last where there are
    /// several.
    pub(in crate::subscribe) fn waits_for(&self, key: &Arc<str>) -> Option<&MessageId> {
        self.keys.get(key)?.stopped.as_ref()?.heads.last()
    }

    /// What became of a message that was given back is known. Where its key waits for it, gives
    /// what came meanwhile, but for what had been given back with it: a server that keeps the
    /// order sends it again. The message itself may not come again, so it is not waited for much
    /// longer.
    pub(in crate::subscribe) fn given_back(
        &mut self,
        now: Instant,
        key: &Arc<str>,
        head: &MessageId,
    ) -> Vec<MessageNo> {
        let known = self.keys.get_mut(key);
        let stopped = known.and_then(|key| key.stopped.as_mut());
        match stopped.filter(|stopped| stopped.heads.last() == Some(head)) {
            Some(stopped) if stopped.until.is_none() => stopped.until = Some(now + BACK),
            _ => return Vec::new(),
        }
        self.reopen.insert((now + BACK, Arc::clone(key)));
        self.strays(key)
    }

    /// A message of `key` has come; `back` where it had been given back with the one that is waited
    /// for. Gives what of the key is not to overtake it.
    pub(in crate::subscribe) fn comes(
        &mut self,
        key: &Arc<str>,
        no: MessageNo,
        id: &MessageId,
        back: bool,
    ) -> Vec<MessageNo> {
        let known = self.keys.get_mut(key);
        let Some(stopped) = known.and_then(|key| key.stopped.as_mut()) else {
            return Vec::new();
        };
        if stopped.heads.contains(id) {
            self.go_on(key);
            return self.take(key);
        }
        // What comes once Pub/Sub has taken it is as good as what is back.
        if !back || stopped.until.is_some() {
            return Vec::new();
        }
        let first = stopped.back.is_empty();
        if first && stopped.next.as_ref() != Some(id) {
            return Vec::new();
        }
        stopped.back.insert(no);
        match first {
            true => self.strays(key),
            false => Vec::new(),
        }
    }

    /// Takes what waits of a key that is stopped and is not back.
    fn strays(&mut self, key: &Arc<str>) -> Vec<MessageNo> {
        let mut strays = Vec::new();
        self.change(key, |key| {
            let back = key.stopped.as_ref().map(|stopped| &stopped.back);
            let is_back = |no: &MessageNo| back.is_some_and(|back| back.contains(no));
            key.waiting.retain(|no, _| {
                let keeps = is_back(no);
                strays.extend((!keeps).then_some(*no));
                keeps
            });
        });
        strays
    }

    /// When the next key waits no more.
    pub(in crate::subscribe) fn reopens(&self) -> Option<Instant> {
        self.reopen.first().map(|(at, _)| *at)
    }

    /// Lets a key go on that has waited for long enough; tells whether there was one.
    pub(in crate::subscribe) fn reopen(&mut self, now: Instant) -> bool {
        let due = self.reopen.first().filter(|(at, _)| *at <= now);
        let Some((_, key)) = due.cloned() else {
            return false;
        };
        self.go_on(&key);
        self.forget_if_empty(&key);
        true
    }

    /// No key waits any more: nothing goes to a handler from now on.
    pub(in crate::subscribe) fn reopen_all(&mut self) {
        self.reopen.clear();
        self.keys.retain(|_, key| {
            key.stopped = None;
            key.members > 0
        });
    }

    fn go_on(&mut self, name: &Arc<str>) {
        let mut stopped = None;
        self.change(name, |key| stopped = key.stopped.take());
        if let Some(until) = stopped.and_then(|stopped| stopped.until) {
            self.reopen.remove(&(until, Arc::clone(name)));
        }
    }
}
