//! The messages in hand.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;

use super::io::DeliveryId;
use super::leases::LeaseNo;
use super::message::ReceivedMessage;
use super::outbox::Way;
use super::settlement::Settlement;
use crate::failure::MessageId;
use crate::text::Text;

/// The number of a message in hand: by it they are in the order of their arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MessageNo(u64);

#[cfg(test)]
impl MessageNo {
    pub(super) fn of(number: u64) -> Self {
        Self(number)
    }
}

/// A message in hand.
#[derive(Debug)]
pub(super) struct InHand {
    pub(super) id: MessageId,
    pub(super) key: Option<Arc<str>>,
    pub(super) bytes: usize,
    /// When it came for the first time.
    pub(super) received: Instant,
    /// None: it is lost, while its handler goes on.
    pub(super) lease: Option<LeaseNo>,
    /// How its lease was lost.
    pub(super) lost: Option<Text>,
    pub(super) place: Place,
}

/// Where a message is.
#[derive(Debug)]
pub(super) enum Place {
    /// It waits for a handler.
    Buffered(Arc<ReceivedMessage>),
    /// A handler has it.
    Handled(DeliveryId),
    /// It is kept until it may come again.
    Held { until: Instant, told: Told },
    /// What became of it is on its way to Pub/Sub.
    Settling {
        way: Way,
        /// The delivery that waits for the outcome; none where the machine gave it back.
        told: Option<Told>,
    },
}

/// Who is told what became of a settlement.
#[derive(Debug, Clone, Copy)]
pub(super) struct Told {
    pub(super) delivery: DeliveryId,
    pub(super) settlement: Settlement,
}

/// How many messages are where.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Those that count against the flow control, and their bytes.
    pub(super) outstanding: usize,
    pub(super) bytes: usize,
    pub(super) handling: usize,
    pub(super) held: usize,
    pub(super) settling: usize,
    /// Of them, those that a delivery waits for.
    pub(super) told: usize,
}

/// The messages in hand.
#[derive(Debug, Default)]
pub(super) struct Hand {
    last: u64,
    messages: BTreeMap<MessageNo, InHand>,
    /// Only looked up, never iterated. Without a random key, so that equal runs stay equal.
    by_id: HashMap<MessageId, MessageNo, BuildHasherDefault<DefaultHasher>>,
    counts: Counts,
}

impl Hand {
    pub(super) fn counts(&self) -> &Counts {
        &self.counts
    }

    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    pub(super) fn get(&self, no: MessageNo) -> Option<&InHand> {
        self.messages.get(&no)
    }

    /// The message in hand that has this id. One without an id is like no other.
    pub(super) fn find(&self, id: &MessageId) -> Option<MessageNo> {
        self.by_id.get(id).copied()
    }

    pub(super) fn insert(&mut self, message: InHand) -> MessageNo {
        self.last += 1;
        let no = MessageNo(self.last);
        if !message.id.as_str().is_empty() {
            self.by_id.insert(message.id.clone(), no);
        }
        self.counts.add(&message);
        self.messages.insert(no, message);
        no
    }

    /// Changes a message in hand; its id stays.
    pub(super) fn change(&mut self, no: MessageNo, change: impl FnOnce(&mut InHand)) {
        if let Some(message) = self.messages.get_mut(&no) {
            self.counts.remove(message);
            change(message);
            self.counts.add(message);
        }
    }

    /// The id of a message that stays for long stops being a slice of the answer that brought it,
    /// which may be large.
    pub(super) fn detach(&mut self, no: MessageNo) {
        let Some(message) = self.messages.get_mut(&no) else {
            return;
        };
        let text = Bytes::copy_from_slice(message.id.as_str().as_bytes());
        if let Some(id) = MessageId::from_utf8(text)
            && self.by_id.remove(&message.id).is_some()
        {
            self.by_id.insert(id.clone(), no);
            message.id = id;
        }
    }

    pub(super) fn remove(&mut self, no: MessageNo) -> Option<InHand> {
        let message = self.messages.remove(&no)?;
        self.by_id.remove(&message.id);
        self.counts.remove(&message);
        Some(message)
    }

    /// When the one came that is in hand for longest.
    pub(super) fn oldest(&self) -> Option<Instant> {
        let (_, first) = self.messages.first_key_value()?;
        Some(first.received)
    }

    /// Those that wait for a handler.
    pub(super) fn buffered(&self) -> Vec<MessageNo> {
        let messages = self.messages.iter();
        let buffered = messages.filter(|(_, message)| matches!(message.place, Place::Buffered(_)));
        buffered.map(|(no, _)| *no).collect()
    }

    /// All of them.
    pub(super) fn all(&self) -> Vec<MessageNo> {
        self.messages.keys().copied().collect()
    }
}

impl Counts {
    fn add(&mut self, message: &InHand) {
        self.count(message, |count, by| *count += by);
    }

    fn remove(&mut self, message: &InHand) {
        self.count(message, |count, by| *count -= by);
    }

    fn count(&mut self, message: &InHand, count: fn(&mut usize, usize)) {
        let outstanding = match &message.place {
            Place::Buffered(_) => true,
            Place::Handled(_) => {
                count(&mut self.handling, 1);
                message.lease.is_some()
            }
            Place::Held { .. } => {
                count(&mut self.held, 1);
                true
            }
            Place::Settling { told, .. } => {
                count(&mut self.settling, 1);
                count(&mut self.told, usize::from(told.is_some()));
                false
            }
        };
        if outstanding {
            count(&mut self.outstanding, 1);
            count(&mut self.bytes, message.bytes);
        }
    }
}
