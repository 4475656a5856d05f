//! Looking at what a simulation did.

use std::collections::BTreeMap;
use std::time::Duration;

use http::header::AUTHORIZATION;
use pubsink_core::failure::{Class, Failure};
use pubsink_core::publish::{Gauges, RequestId};
use pubsink_core::reason::{Reason, StoppedKey};
use pubsink_core::testing::{SentMessage, SentRequest, Settled};

use super::{Sim, messages};

/// The number at the head of a message's data.
pub(crate) trait Tagged {
    fn tag(&self) -> u64;
}

impl Tagged for SentMessage {
    fn tag(&self) -> u64 {
        let digits = self.data.iter().take_while(|byte| byte.is_ascii_digit());
        let digits: Vec<_> = digits.copied().collect();
        String::from_utf8(digits).unwrap().parse().unwrap()
    }
}

/// The `authorization` header of a request.
pub(crate) trait Authorized {
    fn authorization(&self) -> Option<&str>;
}

impl Authorized for SentRequest {
    fn authorization(&self) -> Option<&str> {
        let header = self.http.headers().get(AUTHORIZATION);
        header.map(|value| value.to_str().unwrap())
    }
}

impl Sim {
    /// Admits the plain messages `tags`, now.
    pub(crate) fn admit_all(&mut self, tags: impl IntoIterator<Item = u64>) {
        for tag in tags {
            self.admit(tag, messages::message(tag));
        }
    }

    /// The tags of each request.
    pub(crate) fn sent(&self) -> Vec<Vec<u64>> {
        let requests = self.requests().iter();
        requests
            .map(|request| {
                request
                    .messages
                    .iter()
                    .map(|message| message.tag())
                    .collect()
            })
            .collect()
    }

    /// How many messages each request had.
    pub(crate) fn sent_counts(&self) -> Vec<usize> {
        self.requests()
            .iter()
            .map(|request| request.messages.len())
            .collect()
    }

    /// When each request was sent, in ms.
    pub(crate) fn sent_at(&self) -> Vec<u128> {
        self.requests()
            .iter()
            .map(|request| request.at.as_millis())
            .collect()
    }

    /// The tags of everything the server stored, in order.
    pub(crate) fn stored_tags(&self) -> Vec<u64> {
        self.stored()
            .iter()
            .map(|stored| stored.message.tag())
            .collect()
    }

    /// The stopped key that `tag` failed for.
    pub(crate) fn stopped(&self, tag: u64) -> &StoppedKey {
        let failure = self.failure(tag);
        assert_eq!(failure.class, Class::Transient);
        assert!(!failure.may_have_been_stored);
        match &*failure.reason {
            Reason::KeyStopped(stopped) => stopped,
            other => panic!("{tag}: {other}"),
        }
    }

    /// The id `tag` was delivered under.
    pub(crate) fn delivered(&self, tag: u64) -> &str {
        match &self.settled_of(tag).outcome {
            Ok(delivered) => delivered.message_id.as_str(),
            Err(failure) => panic!("{tag} failed: {failure}"),
        }
    }

    pub(crate) fn failure(&self, tag: u64) -> &Failure {
        match &self.settled_of(tag).outcome {
            Ok(delivered) => panic!("{tag} was delivered: {delivered:?}"),
            Err(failure) => failure,
        }
    }

    /// Class and kind of reason of a failure.
    pub(crate) fn why(&self, tag: u64) -> (Class, &'static str) {
        let failure = self.failure(tag);
        (failure.class, failure.reason.kind())
    }

    pub(crate) fn settled_of(&self, tag: u64) -> &Settled<u64> {
        let mut outcomes = self.outcomes().iter();
        outcomes.find(|settled| settled.tag == tag).unwrap()
    }

    pub(crate) fn settled(&self) -> BTreeMap<u64, &Settled<u64>> {
        let outcomes = self.outcomes().iter();
        outcomes.map(|settled| (settled.tag, settled)).collect()
    }

    pub(crate) fn deliveries(&self) -> usize {
        self.outcomes()
            .iter()
            .filter(|settled| settled.outcome.is_ok())
            .count()
    }

    /// When the token provider was asked, and whether for a fresh token.
    pub(crate) fn asked(&self) -> Vec<(Duration, bool)> {
        self.watch.borrow().asked.clone()
    }

    pub(crate) fn cancelled(&self) -> Vec<RequestId> {
        self.watch.borrow().cancelled.clone()
    }

    /// The most requests that were on the wire at once: batched, direct.
    pub(crate) fn most_in_flight(&self) -> [usize; 2] {
        self.watch.borrow().most_in_flight
    }

    /// Everything that came out, as `Debug` shows it.
    pub(crate) fn shown(&self) -> String {
        self.watch.borrow().shown.clone()
    }

    /// Everything is settled, every flush is told of and nothing is held.
    pub(crate) fn assert_quiescent(&self) {
        let watch = self.watch.borrow();
        assert_eq!(watch.held(), 0, "messages without an outcome");
        assert_eq!(watch.flushes(), 0, "flushes without an end");
        let gauges = self.machine().gauges();
        let mut idle = Gauges::default();
        // Keys stay stopped, bounded, until somebody resumes them.
        idle.stopped_keys = gauges.stopped_keys;
        idle.every_key_stopped = gauges.every_key_stopped;
        assert_eq!(gauges, idle);
    }
}
