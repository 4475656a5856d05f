//! Looking at what a simulation did.

use std::time::Duration;

use pubsink_core::failure::{Class, Failure};
use pubsink_core::publish::{Gauges, Input};

use super::Sim;
use super::messages;

impl Sim {
    /// Admits the plain messages `tags`, now.
    pub(crate) fn admit_all(&mut self, tags: impl IntoIterator<Item = u64>) {
        for tag in tags {
            self.admit(tag, messages::message(tag));
        }
    }

    /// Has the plain message `tag` admitted at `at` after the beginning.
    pub(crate) fn admit_at(&mut self, at: Duration, tag: u64) {
        let admission = pubsink_core::publish::Admission::message(
            messages::message(tag),
            self.publisher.options(),
        );
        let admission = admission.unwrap();
        self.schedule(at - self.elapsed(), Input::Admit { tag, admission });
    }

    /// The tags of each request.
    pub(crate) fn sent(&self) -> Vec<Vec<u64>> {
        let requests = self.requests.iter();
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
        self.requests
            .iter()
            .map(|request| request.messages.len())
            .collect()
    }

    /// When each request was sent, in ms.
    pub(crate) fn sent_at(&self) -> Vec<u128> {
        self.requests
            .iter()
            .map(|request| request.at.as_millis())
            .collect()
    }

    /// The tags of everything the server stored, in order.
    pub(crate) fn stored_tags(&self) -> Vec<u64> {
        self.stored
            .iter()
            .map(|(_, message)| message.tag())
            .collect()
    }

    /// The id `tag` was delivered under.
    pub(crate) fn delivered(&self, tag: u64) -> &str {
        match &self.settled[&tag].outcome {
            Ok(delivered) => delivered.message_id.as_str(),
            Err(failure) => panic!("{tag} failed: {failure}"),
        }
    }

    pub(crate) fn failure(&self, tag: u64) -> &Failure {
        match &self.settled[&tag].outcome {
            Ok(delivered) => panic!("{tag} was delivered: {delivered:?}"),
            Err(failure) => failure,
        }
    }

    /// Class and kind of reason of a failure.
    pub(crate) fn why(&self, tag: u64) -> (Class, &'static str) {
        let failure = self.failure(tag);
        (failure.class, failure.reason.kind())
    }

    pub(crate) fn deliveries(&self) -> usize {
        self.settled
            .values()
            .filter(|settled| settled.outcome.is_ok())
            .count()
    }

    /// Everything is settled, every flush is told of and nothing is held.
    pub(crate) fn assert_quiescent(&self) {
        assert_eq!(self.watch.held(), 0, "messages without an outcome");
        assert_eq!(self.watch.flushes(), 0, "flushes without an end");
        assert_eq!(self.publisher.gauges(), Gauges::default());
    }
}
