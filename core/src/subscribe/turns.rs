//! Whose turn it is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::hand::MessageNo;
use crate::failure::MessageId;

/// How long a key waits for a message that was given back, from when Pub/Sub has taken it. What
/// was sent before that may come until then.
const BACK: Duration = Duration::from_secs(1);

/// The messages that wait for a handler, in turns: those without an ordering key as they came, of
/// each key one at a time and in order. A key that has to wait stands in nobody's way.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// What may go to a handler now: by number, so the oldest first.
    ready: BTreeSet<MessageNo>,
    /// The keys with a message in hand, and for a moment those that wait for one.
    keys: BTreeMap<Arc<str>, Key>,
    /// When keys wait no more for what they gave back.
    reopen: BTreeSet<(Instant, Arc<str>)>,
}

#[derive(Debug, Default)]
struct Key {
    /// How many of its messages are in hand.
    members: usize,
    /// Those that wait, and whether each may go when its turn comes.
    waiting: BTreeMap<MessageNo, bool>,
    /// The one of them that is ready.
    ready: Option<MessageNo>,
    /// One is with a handler, or held.
    busy: bool,
    /// A message is being given back, and nothing goes until it is back.
    stopped: Option<Stopped>,
}

#[derive(Debug)]
struct Stopped {
    head: MessageId,
    /// What was right behind it. Where that comes first, the message itself is gone: it has become
    /// a dead letter, say.
    next: Option<MessageId>,
    /// What has come since then, of what had been given back with it.
    back: BTreeSet<MessageNo>,
    /// Pub/Sub has taken it: when it is not waited for any more.
    until: Option<Instant>,
}

impl Turns {
    /// How many ordering keys have a message in hand.
    pub(super) fn keys(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.ready.is_empty()
    }

    /// A message of `key` comes in.
    pub(super) fn join(&mut self, key: &str) -> Arc<str> {
        if let Some((name, _)) = self.keys.get_key_value(key) {
            let name = Arc::clone(name);
            self.change(&name, |key| key.members += 1);
            return name;
        }
        let name: Arc<str> = key.into();
        let members = 1;
        let new = Key {
            members,
            ..Key::default()
        };
        self.keys.insert(Arc::clone(&name), new);
        name
    }

    /// A message of `key` is in hand no more.
    pub(super) fn leave(&mut self, key: &Arc<str>) {
        self.change(key, |key| key.members = key.members.saturating_sub(1));
        self.forget_if_empty(key);
    }

    /// A message waits for its turn; `may` tells whether it may go when that comes.
    pub(super) fn wait(&mut self, key: Option<&Arc<str>>, no: MessageNo, may: bool) {
        match key {
            Some(key) => self.change(key, |key| {
                key.waiting.insert(no, may);
            }),
            None if may => {
                self.ready.insert(no);
            }
            None => {
                self.ready.remove(&no);
            }
        }
    }

    /// A message that waits is gone.
    pub(super) fn remove(&mut self, key: Option<&Arc<str>>, no: MessageNo) {
        match key {
            Some(key) => self.change(key, |key| {
                key.waiting.remove(&no);
                if let Some(stopped) = &mut key.stopped {
                    stopped.back.remove(&no);
                }
            }),
            None => {
                self.ready.remove(&no);
            }
        }
    }

    /// The message whose turn it is.
    pub(super) fn next(&self) -> Option<MessageNo> {
        self.ready.first().copied()
    }

    /// A message goes to a handler.
    pub(super) fn begin(&mut self, key: Option<&Arc<str>>, no: MessageNo) {
        self.remove(key, no);
        if let Some(key) = key {
            self.change(key, |key| key.busy = true);
        }
    }

    /// The message of `key` that was with a handler, or held, is so no more.
    pub(super) fn end(&mut self, key: &Arc<str>) {
        self.change(key, |key| key.busy = false);
    }

    /// Takes all messages of `key` that wait.
    pub(super) fn take(&mut self, key: &Arc<str>) -> Vec<MessageNo> {
        self.take_behind(key, None)
    }

    /// Takes those that wait behind one.
    pub(super) fn take_behind(&mut self, key: &Arc<str>, no: Option<MessageNo>) -> Vec<MessageNo> {
        let mut taken = Vec::new();
        self.change(key, |key| {
            let behind = match no {
                Some(no) => key.waiting.split_off(&no),
                None => std::mem::take(&mut key.waiting),
            };
            taken.extend(behind.into_keys());
        });
        taken
    }

    /// A message of `key` is being given back, and what waits behind it, first `next`: nothing more
    /// of it goes until it is back.
    pub(super) fn stop(&mut self, key: &Arc<str>, head: MessageId, next: Option<MessageId>) {
        self.go_on(key);
        self.change(key, |key| {
            key.stopped = Some(Stopped {
                head,
                next,
                back: BTreeSet::new(),
                until: None,
            });
        });
    }

    /// The message that is being given back, and that `key` waits for.
    pub(super) fn waits_for(&self, key: &Arc<str>) -> Option<&MessageId> {
        let stopped = self.keys.get(key)?.stopped.as_ref()?;
        Some(&stopped.head)
    }

    /// What became of a message that was given back is known. Where its key waits for it, gives
    /// what came meanwhile, but for what had been given back with it: a server that keeps the
    /// order sends it again. The message itself may not come again, so it is not waited for much
    /// longer.
    pub(super) fn given_back(
        &mut self,
        now: Instant,
        key: &Arc<str>,
        head: &MessageId,
    ) -> Vec<MessageNo> {
        let known = self.keys.get_mut(key);
        let stopped = known.and_then(|key| key.stopped.as_mut());
        match stopped.filter(|stopped| stopped.head == *head) {
            Some(stopped) if stopped.until.is_none() => stopped.until = Some(now + BACK),
            _ => return Vec::new(),
        }
        self.reopen.insert((now + BACK, Arc::clone(key)));
        self.strays(key)
    }

    /// A message of `key` has come; `back` where it had been given back with the one that is waited
    /// for. Gives what of the key is not to overtake it.
    pub(super) fn comes(
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
        if stopped.head == *id {
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
    pub(super) fn reopens(&self) -> Option<Instant> {
        self.reopen.first().map(|(at, _)| *at)
    }

    /// Lets a key go on that has waited for long enough; tells whether there was one.
    pub(super) fn reopen(&mut self, now: Instant) -> bool {
        let due = self.reopen.first().filter(|(at, _)| *at <= now);
        let Some((_, key)) = due.cloned() else {
            return false;
        };
        self.go_on(&key);
        self.forget_if_empty(&key);
        true
    }

    /// No key waits any more: nothing goes to a handler from now on.
    pub(super) fn reopen_all(&mut self) {
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

    fn forget_if_empty(&mut self, key: &Arc<str>) {
        let known = self.keys.get(key);
        if known.is_some_and(|key| key.members == 0 && key.stopped.is_none()) {
            self.keys.remove(key);
        }
    }

    /// Changes a key, and sees which of its messages is ready then.
    fn change(&mut self, key: &Arc<str>, change: impl FnOnce(&mut Key)) {
        let Some(key) = self.keys.get_mut(key) else {
            return;
        };
        change(key);
        let first = key.waiting.first_key_value();
        let may = first.filter(|(_, may)| **may && !key.busy && key.stopped.is_none());
        let ready = may.map(|(no, _)| *no);
        if ready != key.ready {
            if let Some(before) = key.ready {
                self.ready.remove(&before);
            }
            self.ready.extend(ready);
            key.ready = ready;
        }
    }
}
