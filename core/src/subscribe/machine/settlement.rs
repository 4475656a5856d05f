//! Handlers get messages and say what is to become of them.

use std::time::{Duration, Instant};

use super::{Running, Subscriber};
use crate::failure::MessageId;
use crate::reason::{Reason, TransportKind};
use crate::subscribe::hand::{InHand, MessageNo, Place, Told};
use crate::subscribe::io::{
    DeliveryId, LeaseLost, SubscribeEvent, SubscribeMisuse, SubscribeOutput,
};
use crate::subscribe::outbox::{Item, Way};
use crate::subscribe::settlement::{SettleError, Settlement};

/// How long before the longest that a lease is kept a held message goes back: extensions are whole
/// seconds, and the nack has to arrive.
const NACK_TIME: Duration = Duration::from_secs(2);

impl Subscriber {
    /// Gives messages to handlers, as many as may be with them.
    pub(super) fn hand_out(&mut self) -> bool {
        if self.closing.is_some() {
            return false;
        }
        let mut any = false;
        while self.hand.counts().handling < self.options.handlers()
            && let Some(no) = self.turns.next()
        {
            self.hand_over(no);
            any = true;
        }
        any
    }

    fn hand_over(&mut self, no: MessageNo) {
        let known = self.hand.get(no);
        let key = known.and_then(|known| known.key.clone());
        self.turns.begin(key.as_ref(), no);
        self.last_delivery += 1;
        let delivery = DeliveryId(self.last_delivery);
        let mut message = None;
        self.hand.change(no, |known| {
            let place = std::mem::replace(&mut known.place, Place::Handled(delivery));
            if let Place::Buffered(buffered) = place {
                message = Some(buffered);
            }
        });
        if let Some(message) = message {
            let running = Running {
                message: no,
                since: self.now,
                attempt: message.delivery_attempt,
            };
            self.deliveries.insert(delivery, running);
            self.outputs
                .push_back(SubscribeOutput::Deliver { delivery, message });
        }
    }

    /// A handler is done.
    pub(super) fn settle(
        &mut self,
        delivery: DeliveryId,
        settlement: Settlement,
    ) -> Result<(), SubscribeMisuse> {
        let Some(running) = self.deliveries.remove(&delivery) else {
            return match self.abandoned.remove(&delivery) {
                true => Ok(()),
                false => Err(SubscribeMisuse::UnknownDelivery(delivery)),
            };
        };
        let took = self.now.saturating_duration_since(running.since);
        self.extension.record(took);
        let no = running.message;
        let told = Told {
            delivery,
            settlement,
        };
        if let Some(lost) = self.hand.get(no).and_then(|known| known.lost.clone()) {
            self.tell(told, Err(SettleError::LeaseLost(lost)));
            let again = matches!(settlement, Settlement::Retry | Settlement::RetryAfter(_));
            self.drop_lost(no, again);
            return Ok(());
        }
        let last = self.options.max_delivery_attempts();
        match settlement {
            Settlement::Ack => self.ack(no, told),
            // Pub/Sub moves it to the dead-letter topic.
            Settlement::Drop if last.is_some_and(|last| running.attempt >= Some(last)) => {
                self.nack(no, Some(told));
            }
            Settlement::Drop => self.ack(no, told),
            Settlement::Retry => self.nack(no, Some(told)),
            Settlement::RetryAfter(pause) => self.hold(no, told, pause),
        }
        Ok(())
    }

    /// The longest pause that a [`Settlement::RetryAfter`] of this delivery can ask for `now`; a
    /// longer one is refused with [`SettleError::RetryTooLate`]. None: its lease is lost, or it
    /// waits for no settlement.
    #[must_use]
    pub fn longest_pause(&self, now: Instant, delivery: DeliveryId) -> Option<Duration> {
        let running = self.deliveries.get(&delivery)?;
        let known = self.hand.get(running.message)?;
        let ours = known.lost.is_none();
        ours.then(|| self.pause_max(known, now.max(self.now)))
    }

    /// Gives back what was held for long enough.
    pub(super) fn wake_held(&mut self) -> bool {
        match self.held.first() {
            Some((until, _)) if *until <= self.now => {}
            _ => return false,
        }
        self.release_held();
        true
    }

    /// Gives back the held message that is due first.
    pub(super) fn release_held(&mut self) {
        if let Some((_, no)) = self.held.pop_first()
            && let Some(Place::Held { told, .. }) = self.hand.get(no).map(|known| &known.place)
        {
            let told = *told;
            self.nack(no, Some(told));
        }
    }

    /// Gives back a message that no handler has.
    pub(super) fn give_back(&mut self, no: MessageNo) {
        self.place(no, Way::Nack, None);
    }

    /// A lease has ended before what it was for was done.
    pub(super) fn lose(&mut self, no: MessageNo, cause: LeaseLost) {
        let Some(known) = self.hand.get(no) else {
            return;
        };
        let (key, lease) = (known.key.clone(), known.lease);
        let lost = match &cause {
            LeaseLost::MaxLease => {
                let kept = self.options.max_lease().as_secs();
                format!("it was kept for {kept} s, the longest a lease may be (max_lease)").into()
            }
            LeaseLost::Refused(text) => text.clone(),
            LeaseLost::Expired => "it could not be extended in time".into(),
            LeaseLost::Closed => "the subscriber was closed".into(),
        };
        if let Some(lease) = lease {
            self.leases.end(lease);
        }
        match known.place {
            Place::Handled(delivery) => {
                self.hand.change(no, |known| {
                    known.lease = None;
                    known.lost = Some(lost);
                });
                self.outputs
                    .push_back(SubscribeOutput::LeaseLost { delivery, cause });
            }
            Place::Buffered(_) => {
                let message_id = known.id.clone();
                self.event(SubscribeEvent::LostWaiting { message_id, cause });
                if let Some(key) = &key
                    && self.keeps_order()
                {
                    // It comes again, and those behind it are not to overtake it.
                    self.turns.remove(Some(key), no);
                    for behind in self.turns.take_behind(key, Some(no)) {
                        self.give_back(behind);
                    }
                }
                self.turns.remove(key.as_ref(), no);
                self.forget(no);
            }
            Place::Held { until, told } => {
                self.held.remove(&(until, no));
                self.tell(told, Err(SettleError::LeaseLost(lost)));
                self.drop_lost(no, true);
            }
            Place::Settling { way, .. } => {
                let error = match cause {
                    LeaseLost::Refused(_) => SettleError::LeaseLost(lost),
                    LeaseLost::Closed => SettleError::Closed,
                    LeaseLost::MaxLease | LeaseLost::Expired => {
                        let failure = self.outbox(way).last_failure().cloned();
                        SettleError::Unconfirmed(failure.unwrap_or_else(|| {
                            let detail = lost;
                            let transport = TransportKind::Timeout;
                            Reason::Transport { transport, detail }.into()
                        }))
                    }
                };
                self.finish(no, Err(error));
            }
        }
    }

    /// What became of a message is known: it is in hand no more.
    pub(super) fn finish(&mut self, no: MessageNo, result: Result<(), SettleError>) {
        let Some(known) = self.hand.get(no) else {
            return;
        };
        let Place::Settling { told, .. } = known.place else {
            return;
        };
        let key = known.key.clone().map(|key| (key, known.id.clone()));
        self.forget(no);
        if let Some(told) = told {
            self.tell(told, result);
        }
        if let Some((key, id)) = key {
            let strays = self.turns.given_back(self.now, &key, &id);
            if let Some((first, next)) = self.first_two(&strays) {
                self.turns.stop_again(&key, &first, next);
            }
            for stray in strays {
                self.give_back(stray);
            }
        }
    }

    /// The last word on a delivery.
    pub(super) fn tell(&mut self, told: Told, result: Result<(), SettleError>) {
        self.outputs.push_back(SubscribeOutput::Settled {
            delivery: told.delivery,
            settlement: told.settlement,
            result,
        });
    }

    /// A message whose lease is lost is with no handler any more, and not held. Where it is to
    /// come `again`, those of its key that wait are not to overtake it.
    pub(super) fn drop_lost(&mut self, no: MessageNo, again: bool) {
        if let Some(key) = self.hand.get(no).and_then(|known| known.key.clone()) {
            if again && self.keeps_order() {
                for behind in self.turns.take(&key) {
                    self.give_back(behind);
                }
            }
            self.turns.end(&key);
        }
        self.forget(no);
    }

    /// A message is settled: what is said of it is on its way.
    pub(super) fn post(&mut self, way: Way, no: MessageNo) {
        let Some(known) = self.hand.get(no) else {
            return;
        };
        let (Some(lease), key) = (known.lease, known.key.clone()) else {
            return;
        };
        let item = Item {
            lease,
            key,
            bytes: self.leases.bytes(lease),
            since: self.now,
        };
        self.outbox(way).push(item);
    }

    /// A message is nacked that a handler had, or that was held.
    pub(super) fn nack(&mut self, no: MessageNo, told: Option<Told>) {
        self.place(no, Way::Nack, told);
        let Some(known) = self.hand.get(no) else {
            return;
        };
        let Some(key) = known.key.clone() else {
            return;
        };
        if self.keeps_order() && self.closing.is_none() {
            let head = known.id.clone();
            let behind = self.turns.take(&key);
            let next = self.first_two(&behind).map(|(next, _)| next);
            self.turns.stop(&key, head, next);
            for behind in behind {
                self.give_back(behind);
            }
        }
        self.turns.end(&key);
    }

    /// The ids of the first two.
    fn first_two(&self, messages: &[MessageNo]) -> Option<(MessageId, Option<MessageId>)> {
        let id = |no: &MessageNo| self.hand.get(*no).map(|known| known.id.clone());
        Some((id(messages.first()?)?, messages.get(1).and_then(id)))
    }

    fn ack(&mut self, no: MessageNo, told: Told) {
        self.place(no, Way::Ack, Some(told));
        if let Some(key) = self.hand.get(no).and_then(|known| known.key.clone()) {
            self.turns.end(&key);
        }
    }

    fn hold(&mut self, no: MessageNo, told: Told, pause: Duration) {
        let Some(known) = self.hand.get(no) else {
            return;
        };
        let left = self.pause_max(known, self.now);
        if pause > left {
            let (asked, max) = (pause, left);
            self.tell(told, Err(SettleError::RetryTooLate { asked, max }));
            return self.nack(no, None);
        }
        if self.closing.is_some() || self.held.len() >= self.options.max_held() {
            return self.nack(no, Some(told));
        }
        let until = self.now + pause;
        if let Some(lease) = known.lease {
            self.leases.detach(lease);
        }
        self.hand
            .change(no, |known| known.place = Place::Held { until, told });
        self.held.insert((until, no));
    }

    /// For how long a message can be held from `now` on.
    fn pause_max(&self, known: &InHand, now: Instant) -> Duration {
        let last = known.received + self.options.max_lease();
        let left = last.saturating_duration_since(now);
        left.saturating_sub(NACK_TIME)
    }

    fn place(&mut self, no: MessageNo, way: Way, told: Option<Told>) {
        self.hand
            .change(no, |known| known.place = Place::Settling { way, told });
        self.post(way, no);
    }

    fn forget(&mut self, no: MessageNo) {
        let Some(known) = self.hand.remove(no) else {
            return;
        };
        if let Some(lease) = known.lease {
            self.leases.end(lease);
        }
        if let Some(key) = &known.key {
            self.turns.leave(key);
        }
    }
}
