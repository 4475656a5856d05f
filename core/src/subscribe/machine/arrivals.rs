//! Messages come in, for the first time or again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Subscriber;
use crate::subscribe::hand::{InHand, MessageNo, Place};
use crate::subscribe::io::SubscribeEvent;
use crate::subscribe::leases::{LEAST_SECONDS, LeaseNo, NewLease};
use crate::subscribe::message::{AckId, ReceivedMessage};
use crate::subscribe::outbox::Way;
use crate::wire::subscribe::Unreadable;

/// How long a first extension waits for company, at most: on an exactly-once subscription the
/// message waits for it.
const RECEIPT_LINGER: Duration = Duration::from_millis(10);

/// How long what has come is ours.
#[derive(Debug, Clone, Copy)]
pub(super) enum FirstLease {
    /// A stream says it, in seconds.
    Known(u16),
    /// The subscription has an ack deadline that we do not know: it is extended at once. Pub/Sub's
    /// shortest, and its default, is 10 s.
    Unknown,
}

impl Subscriber {
    /// A message came.
    pub(super) fn arrive(&mut self, message: ReceivedMessage, first: FirstLease) {
        self.received += 1;
        let Some(no) = self.hand.find(&message.message_id) else {
            return self.take(message, first, false);
        };
        let Some(known) = self.hand.get(no) else {
            return;
        };
        let Place::Settling { way: Way::Nack, .. } = known.place else {
            return self.replace(no, message, first);
        };
        // It was to come again, and it has: whatever becomes of the request that asked for it.
        let back = known.key.as_ref().is_some_and(|key| self.gives_back(key));
        self.finish(no, Ok(()));
        self.take(message, first, back);
    }

    /// Messages came that could not be read. They are left to their leases: see
    /// `SubscribeInput::Unreadable`.
    pub(super) fn cannot_read(&mut self, messages: Vec<Unreadable>) {
        if messages.is_empty() {
            return;
        }
        let count = u64::try_from(messages.len()).unwrap_or(u64::MAX);
        self.unreadable = self.unreadable.saturating_add(count);
        self.event(SubscribeEvent::Unreadable(messages));
    }

    /// Whether what `key` waits for, if it does, has been given back, as far as we are concerned.
    fn gives_back(&self, key: &Arc<str>) -> bool {
        let head = self.turns.waits_for(key).and_then(|id| self.hand.find(id));
        let lease = head.and_then(|no| self.hand.get(no)?.lease);
        lease.is_none_or(|lease| self.leases.is_settling(lease))
    }

    /// A message is taken that is not in hand; `back` where it had been given back with the one
    /// that its key waits for.
    fn take(&mut self, message: ReceivedMessage, first: FirstLease, back: bool) {
        let key = match message.ordering_key.as_str() {
            "" => None,
            key => Some(self.turns.join(key)),
        };
        let (id, ack_id) = (message.message_id.clone(), message.ack_id.clone());
        let keyed = key.as_ref().map(|_| id.clone());
        let no = self.hand.insert(InHand {
            id,
            key: key.clone(),
            bytes: message.bytes(),
            received: self.now,
            lease: None,
            lost: None,
            place: Place::Buffered(Arc::new(message)),
        });
        let lease = self.lease(no, ack_id, first, self.now, self.exactly_once);
        self.hand.change(no, |message| message.lease = Some(lease));
        if self.closing.is_some() {
            return self.give_back(no);
        }
        if let (Some(key), Some(id)) = (&key, &keyed) {
            for stray in self.turns.comes(key, no, id, back) {
                self.give_back(stray);
            }
        }
        self.turns.wait(key.as_ref(), no, !self.exactly_once);
    }

    /// A message came again that is in hand: its newest lease counts.
    fn replace(&mut self, no: MessageNo, message: ReceivedMessage, first: FirstLease) {
        self.redelivered += 1;
        let message_id = message.message_id.clone();
        self.event(SubscribeEvent::Redelivered { message_id });
        let Some(known) = self.hand.get(no) else {
            return;
        };
        let (key, received, before) = (known.key.clone(), known.received, known.lease);
        if let Some(before) = before {
            self.leases.end(before);
        }
        let waits = matches!(known.place, Place::Buffered(_));
        let receipt = waits && self.exactly_once;
        let acked = matches!(known.place, Place::Settling { .. });
        let first = match first {
            // The ack is sooner than an extension would be.
            FirstLease::Unknown if acked => FirstLease::Known(LEAST_SECONDS),
            first => first,
        };
        let lease = self.lease(no, message.ack_id.clone(), first, received, receipt);
        let bytes = message.bytes();
        self.hand.change(no, |known| {
            known.lease = Some(lease);
            known.lost = None;
            if let Place::Buffered(buffered) = &mut known.place {
                *buffered = Arc::new(message);
                known.bytes = bytes;
            }
        });
        if waits {
            self.turns.wait(key.as_ref(), no, !receipt);
        } else if acked {
            self.post(Way::Ack, no);
        }
    }

    fn lease(
        &mut self,
        message: MessageNo,
        ack_id: AckId,
        first: FirstLease,
        received: Instant,
        receipt: bool,
    ) -> LeaseNo {
        let (seconds, unknown) = match first {
            FirstLease::Known(seconds) => (seconds, false),
            FirstLease::Unknown => (LEAST_SECONDS, true),
        };
        let linger = self.options.ack_linger().min(RECEIPT_LINGER);
        let new = NewLease {
            message,
            bytes: self.id_bytes(&ack_id),
            ack_id,
            seconds,
            last: received + self.options.max_lease(),
            receipt: (receipt || unknown).then(|| self.now + linger),
        };
        self.leases.begin(self.now, new)
    }
}
