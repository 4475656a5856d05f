//! The messages in hand.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use foldhash::fast::FixedState;

use super::io::DeliveryId;
use super::leases::LeaseNo;
use super::message::ReceivedMessage;
use super::numbered::{No, Numbered};
use super::outbox::Way;
use super::settlement::Settlement;
use crate::failure::MessageId;
use crate::text::Text;

/// The number of a message in hand: by it they are in the order of their arrival.
pub(super) type MessageNo = No;

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
    messages: Numbered<InHand>,
    /// In the order of their arrival, with some that are gone. The first is not.
    order: VecDeque<MessageNo>,
    /// Only looked up, never iterated.
    by_id: HashMap<MessageId, MessageNo, FixedState>,
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
        self.messages.get(no)
    }

    /// The message in hand that has this id. One without an id is like no other.
    pub(super) fn find(&self, id: &MessageId) -> Option<MessageNo> {
        self.by_id.get(id).copied()
    }

    pub(super) fn insert(&mut self, message: InHand) -> MessageNo {
        self.counts.add(&message);
        let id = (!message.id.as_bytes().is_empty()).then(|| message.id.clone());
        let no = self.messages.insert(message);
        if let Some(id) = id {
            self.by_id.insert(id, no);
        }
        self.order.push_back(no);
        no
    }

    /// Changes a message in hand; its id stays.
    pub(super) fn change(&mut self, no: MessageNo, change: impl FnOnce(&mut InHand)) {
        if let Some(message) = self.messages.get_mut(no) {
            self.counts.remove(message);
            change(message);
            self.counts.add(message);
        }
    }

    pub(super) fn remove(&mut self, no: MessageNo) -> Option<InHand> {
        let message = self.messages.remove(no)?;
        self.by_id.remove(&message.id);
        self.counts.remove(&message);
        self.tidy();
        Some(message)
    }

    /// When the one came that is in hand for longest.
    pub(super) fn oldest(&self) -> Option<Instant> {
        let first = self.messages.get(*self.order.front()?)?;
        Some(first.received)
    }

    /// Those that wait for a handler.
    pub(super) fn buffered(&self) -> Vec<MessageNo> {
        let messages = self.messages.sorted().into_iter();
        let buffered = messages.filter(|(_, message)| matches!(message.place, Place::Buffered(_)));
        buffered.map(|(no, _)| no).collect()
    }

    /// Those that a handler has, in the order in which they were handed out.
    pub(super) fn handled(&self) -> Vec<(DeliveryId, MessageNo)> {
        let handled = self
            .messages
            .sorted()
            .into_iter()
            .filter_map(|(no, message)| {
                let Place::Handled(delivery) = message.place else {
                    return None;
                };
                Some((delivery, no))
            });
        let mut handled: Vec<_> = handled.collect();
        handled.sort_unstable();
        handled
    }

    /// All of them.
    pub(super) fn all(&self) -> Vec<MessageNo> {
        self.messages
            .sorted()
            .into_iter()
            .map(|(no, _)| no)
            .collect()
    }
}

impl Hand {
    /// Forgets those that are gone of the order: at its front, and all once they are the most.
    fn tidy(&mut self) {
        while let Some(first) = self.order.front()
            && self.messages.get(*first).is_none()
        {
            self.order.pop_front();
        }
        if self.order.len() > 2 * self.messages.len() + ORDER_SLACK {
            let messages = &self.messages;
            self.order.retain(|no| messages.get(*no).is_some());
        }
    }
}

/// So many that are gone are never worth a look at all.
const ORDER_SLACK: usize = 64;

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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn in_hand(id: &str, received: Instant) -> InHand {
        let id = MessageId::from_utf8(id).unwrap();
        let message = ReceivedMessage::new("a".into(), id.clone(), "");
        InHand {
            id,
            key: None,
            bytes: 1,
            received,
            lease: None,
            lost: None,
            place: Place::Buffered(Arc::new(message)),
        }
    }

    #[test]
    fn they_are_found_by_ids_of_any_length() {
        #[expect(clippy::disallowed_methods, reason = "time has to begin somewhere")]
        let now = Instant::now();
        let mut hand = Hand::default();
        let ids = (0..60).map(|length| "1".repeat(length));
        let ids: Vec<_> = ids.map(|id| in_hand(&id, now)).collect();
        let find = |hand: &Hand, length: usize| {
            let id = MessageId::from_utf8("1".repeat(length));
            hand.find(&id.unwrap())
        };
        let numbers: Vec<_> = ids.into_iter().map(|one| hand.insert(one)).collect();
        // One without an id is like no other.
        assert_eq!(find(&hand, 0), None);
        for (length, no) in numbers.iter().enumerate().skip(1) {
            assert_eq!(find(&hand, length), Some(*no));
            hand.remove(*no);
            assert_eq!(find(&hand, length), None);
        }
        assert!(!hand.is_empty() && hand.by_id.is_empty());
    }

    #[test]
    fn the_oldest_is_known_and_those_that_are_gone_are_forgotten() {
        #[expect(clippy::disallowed_methods, reason = "time has to begin somewhere")]
        let now = Instant::now();
        let at = |number| now + Duration::from_secs(number);
        let mut hand = Hand::default();
        let first = hand.insert(in_hand("first", at(0)));
        for number in 1..10_000 {
            let no = hand.insert(in_hand("next", at(number)));
            assert_eq!(hand.oldest(), Some(at(0)));
            hand.remove(no);
            assert!(hand.order.len() <= ORDER_SLACK + 2);
        }
        let last = hand.insert(in_hand("last", at(20_000)));
        assert_eq!(hand.all(), [first, last]);
        hand.remove(first);
        assert_eq!(hand.oldest(), Some(at(20_000)));
        hand.remove(last);
        assert_eq!((hand.oldest(), hand.order.len()), (None, 0));
    }
}
