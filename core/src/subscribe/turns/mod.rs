//! Whose turn it is.

mod stopped;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use self::stopped::Stopped;
use super::hand::MessageNo;

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
