//! What `OrderingOnFailure::Hold` promises, followed from outside the machine.

use std::collections::{BTreeMap, BTreeSet};

use pubsink_core::failure::{Failure, Outcome};
use pubsink_core::options::{OrderingOnFailure, PublisherOptions};
use pubsink_core::publish::{Admission, Gauges, Input};
use pubsink_core::reason::{Reason, TransportKind};

use super::Recorded;
use super::look::Tagged as _;

#[derive(Debug)]
pub(crate) struct Holding {
    holds: bool,
    max: usize,
    /// Keys of which a message failed since they were last resumed.
    failed: BTreeSet<String>,
    /// As many of them as can be remembered.
    listed: BTreeSet<String>,
    /// One more failed than could be remembered, since all were resumed.
    every: bool,
    /// The key of each message that is held.
    keys: BTreeMap<u64, String>,
    /// Messages that came while their key was stopped.
    barred: BTreeSet<u64>,
    /// Keys that go on by a message's own word, which only counts if it is admitted; and whether
    /// they were listed.
    vouched: BTreeMap<String, (u64, bool)>,
}

impl Holding {
    pub(crate) fn new(options: &PublisherOptions) -> Self {
        Self {
            holds: options.ordering_on_failure() == OrderingOnFailure::Hold,
            max: options.max_stopped_keys(),
            failed: BTreeSet::new(),
            listed: BTreeSet::new(),
            every: false,
            keys: BTreeMap::new(),
            barred: BTreeSet::new(),
            vouched: BTreeMap::new(),
        }
    }

    pub(crate) fn before(&mut self, input: &Input<u64>) {
        match input {
            Input::Admit { tag, admission } => self.admit(*tag, admission),
            Input::Resume { key } => {
                self.resume(key);
                self.vouched.remove(&**key);
            }
            Input::ResumeAll => {
                self.failed.clear();
                self.listed.clear();
                self.vouched.clear();
                self.every = false;
            }
            _ => {}
        }
    }

    fn admit(&mut self, tag: u64, admission: &Admission) {
        let key = admission.ordering_key().to_string();
        if admission.resumes_key() && self.failed.contains(&key) {
            let listed = self.listed.contains(&key);
            self.resume(&key);
            self.vouched.insert(key.clone(), (tag, listed));
        } else if self.is_stopped(&key) && !admission.resumes_key() {
            self.barred.insert(tag);
        }
        self.keys.insert(tag, key);
    }

    fn resume(&mut self, key: &str) {
        self.failed.remove(key);
        self.listed.remove(key);
    }

    fn is_stopped(&self, key: &str) -> bool {
        !key.is_empty() && (self.every || self.failed.contains(key))
    }

    pub(crate) fn check(&self, gauges: &Gauges) {
        assert!(gauges.stopped_keys <= if self.holds { self.max } else { 0 });
        assert!(self.holds || !gauges.every_key_stopped);
    }

    /// Nothing of a key is sent behind a failure.
    pub(crate) fn sent(&self, request: &Recorded) {
        for message in &request.messages {
            let (tag, key) = (message.tag(), &message.ordering_key);
            assert!(!self.failed.contains(key), "{tag} is sent, {key} failed");
            assert!(!self.barred.contains(&tag), "{tag} came to a stopped key");
        }
    }

    pub(crate) fn settled(&mut self, tag: u64, outcome: &Outcome) {
        let key = self.keys.remove(&tag).unwrap();
        let barred = self.barred.remove(&tag);
        let Err(failure) = outcome else {
            assert!(!barred, "{tag} came to a stopped key and was delivered");
            return;
        };
        match kind_of(failure) {
            Kind::Stopped => {
                assert!(self.holds && (barred || self.is_stopped(&key)), "{tag}");
                assert!(!failure.may_have_been_stored);
                self.not_admitted(tag, &key);
            }
            Kind::NotSent => self.not_admitted(tag, &key),
            Kind::Failed => {
                assert!(!barred, "{tag} came to a stopped key and failed: {failure}");
                self.fail(key);
            }
        }
    }

    fn fail(&mut self, key: String) {
        if !self.holds || key.is_empty() || self.failed.contains(&key) {
            return;
        }
        if self.listed.len() < self.max {
            self.listed.insert(key.clone());
        } else {
            self.every = true;
        }
        self.failed.insert(key);
    }

    /// A message that was to resume its key was refused, so that it did not.
    fn not_admitted(&mut self, tag: u64, key: &str) {
        let Some((_, listed)) = self.vouched.get(key).copied().filter(|by| by.0 == tag) else {
            return;
        };
        self.vouched.remove(key);
        self.failed.insert(key.to_owned());
        // Another key may have taken its place here, which had none in truth.
        if listed && self.listed.len() < self.max {
            self.listed.insert(key.to_owned());
        } else if listed {
            self.every = true;
        }
    }
}

enum Kind {
    Stopped,
    /// Refused, or given up while closing: that stops no key.
    NotSent,
    Failed,
}

fn kind_of(failure: &Failure) -> Kind {
    match &*failure.reason {
        Reason::KeyStopped(_) => Kind::Stopped,
        Reason::BatchQueueFull { .. } => Kind::NotSent,
        Reason::Transport {
            transport: TransportKind::Closed,
            ..
        } => Kind::NotSent,
        _ => Kind::Failed,
    }
}
