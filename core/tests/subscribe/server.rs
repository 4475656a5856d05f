//! A subscription with real leases: what is not extended in time comes again, under a new ack id.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use pubsink_core::failure::MessageId;
use pubsink_core::reason::Reason;
use pubsink_core::subscribe::{AckId, CallClass, CallFailure, IdFailure, ReceivedMessage};

/// A subscription.
#[derive(Default)]
pub(crate) struct Server {
    pub(crate) exactly_once: bool,
    /// Messages of a key go out in order; with one that comes again all later ones do, and an ack
    /// that overtakes an earlier one is dropped.
    pub(crate) ordered: bool,
    /// A nacked message goes before all others, not behind them.
    pub(crate) nacked_first: bool,
    pub(crate) max_attempts: Option<u32>,
    stored: Vec<Stored>,
    /// What can be delivered, in order.
    queue: BTreeMap<i64, usize>,
    leases: BTreeMap<AckId, Lease>,
    ends: BTreeSet<(Instant, AckId)>,
    serial: u64,
    front: i64,
    back: i64,
    pub(crate) lapsed: Vec<Lapsed>,
    pub(crate) acked: Vec<String>,
    pub(crate) dead: Vec<String>,
    /// How often each lease was extended.
    pub(crate) extended: BTreeMap<String, usize>,
}

/// A lease that has ended without a word.
#[derive(Debug, Clone)]
pub(crate) struct Lapsed {
    pub(crate) id: String,
    pub(crate) ack_id: AckId,
}

struct Stored {
    id: String,
    key: String,
    bytes: usize,
    attempts: u32,
    state: State,
}

#[derive(Debug, Clone, PartialEq)]
enum State {
    Queued(i64),
    Leased(AckId),
    Done,
}

struct Lease {
    message: usize,
    end: Instant,
}

impl Server {
    pub(crate) fn publish(&mut self, id: &str, key: &str, bytes: usize) {
        let at = self.stored.len();
        self.stored.push(Stored {
            id: id.to_owned(),
            key: key.to_owned(),
            bytes,
            attempts: 0,
            state: State::Done,
        });
        self.enqueue(at, false);
    }

    pub(crate) fn has_messages(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Messages that are neither acked nor dead letters.
    pub(crate) fn left(&self) -> usize {
        let left = self.stored.iter().filter(|m| m.state != State::Done);
        left.count()
    }

    /// How many messages somebody has.
    pub(crate) fn leased(&self) -> usize {
        self.leases.len()
    }

    pub(crate) fn deliver(
        &mut self,
        now: Instant,
        max: usize,
        seconds: u16,
    ) -> Vec<ReceivedMessage> {
        let mut delivered = Vec::new();
        while delivered.len() < max
            && let Some((_, at)) = self.queue.pop_first()
        {
            self.serial += 1;
            let message = &mut self.stored[at];
            message.attempts += 1;
            let ack_id = AckId::from(format!("{}#{}", message.id, self.serial).as_str());
            message.state = State::Leased(ack_id.clone());
            let end = now + Duration::from_secs(seconds.into());
            self.ends.insert((end, ack_id.clone()));
            self.leases
                .insert(ack_id.clone(), Lease { message: at, end });
            let id = MessageId::from_utf8(&message.id).unwrap();
            let mut received = ReceivedMessage::new(ack_id, id, vec![b'x'; message.bytes]);
            received.ordering_key.clone_from(&message.key);
            received.delivery_attempt = self.max_attempts.map(|_| message.attempts);
            delivered.push(received);
        }
        delivered
    }

    pub(crate) fn acknowledge(&mut self, ids: &[AckId]) -> Result<(), CallFailure> {
        let mut failed = BTreeMap::new();
        for id in ids {
            let Some(lease) = self.leases.get(id) else {
                failed.insert(id.clone(), gone());
                continue;
            };
            let at = lease.message;
            if self.ordered && self.overtakes(at) {
                continue;
            }
            self.unlease(id);
            self.stored[at].state = State::Done;
            self.acked.push(self.stored[at].id.clone());
        }
        self.confirm(failed)
    }

    pub(crate) fn modify(
        &mut self,
        now: Instant,
        ids: &[AckId],
        seconds: u16,
    ) -> Result<(), CallFailure> {
        let mut failed = BTreeMap::new();
        for id in ids {
            let Some(lease) = self.leases.get_mut(id) else {
                failed.insert(id.clone(), gone());
                continue;
            };
            if seconds == 0 {
                let at = lease.message;
                self.again(at, self.nacked_first);
                continue;
            }
            let end = now + Duration::from_secs(seconds.into());
            self.ends.remove(&(lease.end, id.clone()));
            self.ends.insert((end, id.clone()));
            lease.end = end;
            let id = &self.stored[lease.message].id;
            *self.extended.entry(id.clone()).or_default() += 1;
        }
        self.confirm(failed)
    }

    /// Ends the leases that nobody extended.
    pub(crate) fn lapse(&mut self, now: Instant) {
        while let Some((end, ack_id)) = self.ends.first().cloned() {
            if end > now {
                return;
            }
            let at = self.leases[&ack_id].message;
            let id = self.stored[at].id.clone();
            self.lapsed.push(Lapsed { id, ack_id });
            self.again(at, false);
        }
    }

    /// Ends the lease of a message at once, as a server does that has lost it.
    pub(crate) fn lose(&mut self, id: &str) {
        let at = self
            .stored
            .iter()
            .position(|message| message.id == id)
            .unwrap();
        assert!(
            matches!(self.stored[at].state, State::Leased(_)),
            "{id} is not leased"
        );
        self.again(at, true);
    }

    pub(crate) fn next_end(&self) -> Option<Instant> {
        self.ends.first().map(|(end, _)| *end)
    }

    /// A leased message is to be delivered again.
    fn again(&mut self, at: usize, first: bool) {
        let key = self.stored[at].key.clone();
        if self.ordered && !key.is_empty() {
            let last = self.stored.len();
            let later = (at + 1..last).filter(|n| self.stored[*n].key == key);
            for n in later.collect::<Vec<_>>() {
                if matches!(self.stored[n].state, State::Leased(_)) {
                    self.enqueue(n, false);
                }
            }
        }
        let message = &self.stored[at];
        if self.max_attempts.is_some_and(|max| message.attempts >= max) {
            self.dead.push(message.id.clone());
            if let State::Leased(id) = message.state.clone() {
                self.unlease(&id);
            }
            self.stored[at].state = State::Done;
            return;
        }
        self.enqueue(at, first);
    }

    fn enqueue(&mut self, at: usize, first: bool) {
        if let State::Leased(id) = self.stored[at].state.clone() {
            self.unlease(&id);
        }
        let place = if self.ordered {
            i64::try_from(at).unwrap()
        } else if first {
            self.front -= 1;
            self.front
        } else {
            self.back += 1;
            self.back
        };
        self.queue.insert(place, at);
        self.stored[at].state = State::Queued(place);
    }

    fn unlease(&mut self, id: &AckId) {
        if let Some(lease) = self.leases.remove(id) {
            self.ends.remove(&(lease.end, id.clone()));
        }
    }

    fn overtakes(&self, at: usize) -> bool {
        let key = &self.stored[at].key;
        let mut earlier = self.stored[..at].iter();
        !key.is_empty() && earlier.any(|m| m.key == *key && m.state != State::Done)
    }

    fn confirm(&self, failed: BTreeMap<AckId, IdFailure>) -> Result<(), CallFailure> {
        if !self.exactly_once || failed.is_empty() {
            return Ok(());
        }
        Err(per_id(failed))
    }
}

/// An answer that tells of single ack ids.
pub(crate) fn per_id(ids: BTreeMap<AckId, IdFailure>) -> CallFailure {
    let mut failure = CallFailure::new(CallClass::PerId, status(400));
    failure.ids = ids;
    failure
}

pub(crate) fn status(http: u16) -> Reason {
    let body = "as it was told".into();
    Reason::Status { http, body }
}

fn gone() -> IdFailure {
    IdFailure::Permanent("PERMANENT_FAILURE_INVALID_ACK_ID".into())
}
