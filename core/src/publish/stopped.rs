//! The ordering keys that are stopped after a failure.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::admission::Admission;
use crate::failure::ErrorClass;
use crate::options::{OrderingOnFailure, PublisherOptions};
use crate::reason::{Reason, StoppedKey};
use crate::text::Text;

/// Knows which keys are stopped, and why, at a bounded cost.
///
/// It fails closed. A key that cannot be remembered would go on behind its gap, so from then on
/// every key counts as stopped, until all are resumed.
#[derive(Debug)]
pub(super) struct StoppedKeys {
    holds: bool,
    max: usize,
    /// Each a [`Reason::KeyStopped`], made once for all messages that are refused for it.
    keys: BTreeMap<Text, Arc<Reason>>,
    /// Why every key is stopped: the first failure that found no room above.
    every: Option<Arc<Reason>>,
}

/// The first failure of a key.
#[derive(Debug, Clone)]
pub(super) struct FirstFailure {
    pub(super) cause: Arc<Reason>,
    pub(super) class: ErrorClass,
    pub(super) config: bool,
}

/// What stopping a key came to.
#[derive(Debug)]
pub(super) struct Stopped {
    /// What the messages behind the failed one fail for.
    pub(super) reason: Arc<Reason>,
    /// Every other key is stopped from here on, too.
    pub(super) every_key: bool,
}

impl StoppedKeys {
    pub(super) fn new(options: &PublisherOptions) -> Self {
        Self {
            holds: options.ordering_on_failure() == OrderingOnFailure::Hold,
            max: options.max_stopped_keys(),
            keys: BTreeMap::new(),
            every: None,
        }
    }

    /// Whether a failure stops its key.
    pub(super) fn holds(&self) -> bool {
        self.holds
    }

    /// How many keys are remembered as stopped.
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Why every key is stopped, where that is so.
    pub(super) fn every_key(&self) -> Option<&Arc<Reason>> {
        self.every.as_ref()
    }

    /// The stopped keys by name, then the one that every other is stopped for.
    pub(super) fn iter(&self) -> impl Iterator<Item = &StoppedKey> {
        let all = self.keys.values().chain(&self.every);
        all.filter_map(|reason| match &**reason {
            Reason::KeyStopped(stopped) => Some(stopped),
            _ => None,
        })
    }

    /// Why a message cannot join its key. One that resumes its key can.
    pub(super) fn refusal(&self, admission: &Admission) -> Option<Arc<Reason>> {
        let key = admission.ordering_key();
        if key.is_empty() || admission.resumes_key() {
            return None;
        }
        self.keys.get(key).or(self.every.as_ref()).cloned()
    }

    /// A message of `key` failed.
    pub(super) fn stop(&mut self, key: &Text, failure: FirstFailure) -> Stopped {
        if let Some(reason) = self.keys.get(key) {
            return Stopped {
                reason: Arc::clone(reason),
                every_key: false,
            };
        }
        let full = self.keys.len() >= self.max;
        let reason = Arc::new(Reason::KeyStopped(StoppedKey {
            key: key.clone(),
            cause: failure.cause,
            class: failure.class,
            config: failure.config,
            every_key: full,
        }));
        let every_key = full && self.every.is_none();
        if every_key {
            self.every = Some(Arc::clone(&reason));
        } else if !full {
            self.keys.insert(key.clone(), Arc::clone(&reason));
        }
        Stopped { reason, every_key }
    }

    /// The key goes on, unless every key is stopped.
    pub(super) fn resume(&mut self, key: &Text) {
        self.keys.remove(key);
    }

    /// Every key goes on.
    pub(super) fn resume_all(&mut self) {
        self.keys.clear();
        self.every = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::publish::testing::{admission, builder};

    fn table(max: usize) -> StoppedKeys {
        let options = builder()
            .ordering_on_failure(OrderingOnFailure::Hold)
            .max_stopped_keys(max);
        StoppedKeys::new(&options.build().unwrap())
    }

    fn stop(table: &mut StoppedKeys, key: &str, cause: &str) -> Stopped {
        let failure = FirstFailure {
            cause: Arc::new(Reason::NoCredentials {
                detail: cause.into(),
            }),
            class: ErrorClass::Transient,
            config: false,
        };
        table.stop(&key.into(), failure)
    }

    /// The key and the cause that a message of `key` is refused with.
    fn refusal(table: &StoppedKeys, key: &str) -> Option<(String, String)> {
        let reason = table.refusal(&admission(1, &format!("/{key}")))?;
        let Reason::KeyStopped(stopped) = &*reason else {
            panic!("{reason:?}");
        };
        Some((stopped.key.to_string(), stopped.cause.to_string()))
    }

    fn named(key: &str, cause: &str) -> Option<(String, String)> {
        Some((key.into(), format!("no credentials: {cause}")))
    }

    #[test]
    fn a_key_is_stopped_for_its_first_failure_until_it_is_resumed() {
        let mut table = table(8);
        stop(&mut table, "a", "first");
        let again = stop(&mut table, "a", "second");
        assert!(!again.every_key);
        assert_eq!(refusal(&table, "a"), named("a", "first"));
        assert_eq!(refusal(&table, "b"), None);
        assert_eq!(refusal(&table, ""), None);
        table.resume(&"b".into());
        assert_eq!(table.len(), 1);
        table.resume(&"a".into());
        assert_eq!((refusal(&table, "a"), table.len()), (None, 0));
    }

    #[test]
    fn messages_refused_for_one_key_share_the_reason() {
        let mut table = table(8);
        let stopped = stop(&mut table, "a", "x");
        let refused = table.refusal(&admission(1, "/a")).unwrap();
        assert!(Arc::ptr_eq(&stopped.reason, &refused));
    }

    #[test]
    fn a_message_that_resumes_its_key_is_not_refused() {
        let mut table = table(1);
        stop(&mut table, "a", "x");
        stop(&mut table, "b", "y");
        for key in ["a", "b", "c"] {
            assert!(refusal(&table, key).is_some());
            let next = admission(1, &format!("/{key}")).resuming_key();
            assert_eq!(table.refusal(&next), None);
        }
    }

    #[test]
    fn a_key_that_finds_no_room_stops_every_key_until_all_are_resumed() {
        let mut table = table(2);
        stop(&mut table, "b", "1");
        stop(&mut table, "a", "2");
        assert!(stop(&mut table, "c", "3").every_key);
        // Stopped for a reason of its own, but that is kept for nobody else.
        let fourth = stop(&mut table, "d", "4");
        assert!(!fourth.every_key);
        assert_eq!(refusal(&table, "a"), named("a", "2"));
        for key in ["c", "d", "e"] {
            assert_eq!(refusal(&table, key), named("c", "3"));
        }
        assert_eq!(refusal(&table, ""), None);
        let keys: Vec<_> = table.iter().map(|stopped| &*stopped.key).collect();
        assert_eq!(keys, ["a", "b", "c"]);
        let every: Vec<_> = table.iter().map(|stopped| stopped.every_key).collect();
        assert_eq!(every, [false, false, true]);
        assert_eq!(table.len(), 2);

        table.resume(&"a".into());
        table.resume(&"c".into());
        assert_eq!(refusal(&table, "a"), named("c", "3"));
        table.resume_all();
        assert_eq!(refusal(&table, "c"), None);
        assert_eq!((table.len(), table.iter().count()), (0, 0));
    }

    #[test]
    fn the_room_of_a_resumed_key_is_used_again() {
        let mut table = table(1);
        for round in 0..3 {
            let key = format!("key {round}");
            assert!(!stop(&mut table, &key, "x").every_key);
            table.resume(&key.into());
        }
    }
}
