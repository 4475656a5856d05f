//! The hooks of an ordering key, one behind the other while the body of one is checked in.

use std::collections::HashMap;
use std::convert::Infallible;

use async_channel::{Receiver, Sender, bounded};
use pubsink_core::text::Text;

/// The last hook of each ordering key that has no place among its key's messages yet.
#[derive(Debug, Default)]
pub(super) struct Places(HashMap<Text, Receiver<Infallible>>);

/// A hook that goes behind those of its key. Dropped, it lets the next one go.
#[derive(Debug)]
pub(super) struct Place {
    behind: Option<Receiver<Infallible>>,
    /// Closes what the next one waits for.
    _held: Option<Sender<Infallible>>,
}

impl Places {
    /// Whether a hook of the key has to wait for another.
    pub(super) fn is_waiting(&self, key: &Text) -> bool {
        self.0.get(key).is_some_and(|last| !last.is_closed())
    }

    /// The next place of the key; without a key nobody waits.
    pub(super) fn take(&mut self, key: &Text) -> Place {
        if key.is_empty() {
            return Place {
                behind: None,
                _held: None,
            };
        }
        let (held, last) = bounded(1);
        Place {
            behind: self.0.insert(key.clone(), last),
            _held: Some(held),
        }
    }

    /// A hook of the key is finished: nothing is kept of a key that nobody waits for.
    pub(super) fn tidy(&mut self, key: &Text) {
        if !self.is_waiting(key) {
            self.0.remove(key);
        }
    }
}

impl Place {
    /// Waits for the one before; whether there was one.
    pub(super) async fn turn(&mut self) -> bool {
        let Some(behind) = &self.behind else {
            return false;
        };
        // Nothing is ever sent: the channel only closes.
        let _ = behind.recv().await;
        self.behind = None;
        true
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn those_of_a_key_go_one_behind_the_other() {
        let (mut places, key) = (Places::default(), Text::new("k"));
        assert!(!places.is_waiting(&key));
        let (mut first, mut second) = (places.take(&key), places.take(&key));
        let mut third = places.take(&key);
        assert!(places.is_waiting(&key) && !places.is_waiting(&Text::new("other")));
        assert_eq!(first.turn().now_or_never(), Some(false));
        assert_eq!(second.turn().now_or_never(), None);
        drop(first);
        let mut other = places.take(&Text::new("other"));
        assert_eq!(other.turn().now_or_never(), Some(false));
        drop(second);
        assert_eq!(third.turn().now_or_never(), Some(true));
        places.tidy(&key);
        assert!(places.is_waiting(&key), "the last one has no place yet");
        drop(third);
        places.tidy(&key);
        assert_eq!(places.0.len(), 1, "nothing of it is kept");
    }

    #[test]
    fn without_a_key_nobody_waits() {
        let (mut places, none) = (Places::default(), Text::new(""));
        let (_first, mut second) = (places.take(&none), places.take(&none));
        assert_eq!(second.turn().now_or_never(), Some(false));
        assert!(!places.is_waiting(&none));
    }
}
