//! What was said of messages goes to Pub/Sub.

use std::sync::Arc;

use super::{Subscriber, later};
use crate::subscribe::calls::What;
use crate::subscribe::failure::{CallClass, CallFailure, IdFailure};
use crate::subscribe::hand::Place;
use crate::subscribe::io::SubscribeOutput;
use crate::subscribe::leases::Trouble;
use crate::subscribe::outbox::{Batch, Item, Way};
use crate::subscribe::settlement::SettleError;
use crate::text::Text;
use crate::token::Token;

/// How often a batch goes out that is refused as a whole.
const INVALID_TRIES: u32 = 3;
/// How often what no handler has is given back while closing: it comes again by itself.
const CLOSING_TRIES: u32 = 5;

impl Subscriber {
    /// Sends the next batch of one way.
    pub(super) fn send(&mut self, way: Way) -> bool {
        let now = self.now;
        let Some(batch) = self.outbox(way).next(now) else {
            return false;
        };
        self.send_batch(way, batch, None);
        true
    }

    /// A batch was sent, and this is what came of it.
    pub(super) fn sent(
        &mut self,
        way: Way,
        batch: Batch,
        renewed: bool,
        result: Result<(), CallFailure>,
    ) {
        self.outbox(way).ended(&batch);
        let Err(failure) = result else {
            self.outbox(way).well();
            for item in &batch.items {
                self.resolve(way, &batch, item, Ok(()));
            }
            return;
        };
        self.tell_failed(name(way), batch.items.len(), &failure);
        match failure.class {
            CallClass::PerId => self.one_by_one(way, batch, failure),
            CallClass::Unauthenticated if !renewed && failure.refused.is_some() => {
                self.outbox(way).resent(&batch);
                self.send_batch(way, batch, failure.refused);
            }
            class => {
                let trouble = trouble(class);
                // A batch that failed before says nothing of others.
                if trouble != Trouble::Invalid && batch.tries == 0 {
                    let (now, reason) = (self.now, &failure.reason);
                    let outbox = match way {
                        Way::Ack => &mut self.acks,
                        Way::Nack => &mut self.nacks,
                    };
                    outbox.failed(now, trouble, reason, &mut self.rng);
                }
                self.again(way, batch, trouble, &failure);
            }
        }
    }

    fn send_batch(&mut self, way: Way, mut batch: Batch, refused: Option<Token>) {
        let items = std::mem::take(&mut batch.items);
        let mut ids = Vec::with_capacity(items.len());
        for item in items {
            // What was lost meanwhile, or has another ack id, does not go.
            match self.leases.settling(item.lease) {
                Some(id) => {
                    ids.push(id);
                    batch.items.push(item);
                }
                None => self.outbox(way).release(batch.no(), &item),
            }
        }
        if ids.is_empty() {
            self.outbox(way).ended(&batch);
            return;
        }
        let deadline = later(self.now, self.call_time());
        let renewed = refused.is_some();
        let what = What::Settle(way, batch);
        let call = self.calls.begin(self.now, deadline, what, renewed);
        self.outputs.push_back(match way {
            Way::Ack => SubscribeOutput::Acknowledge { call, ids, refused },
            Way::Nack => SubscribeOutput::ModifyDeadline {
                call,
                ids,
                seconds: 0,
                refused,
            },
        });
    }

    /// The answer tells of each ack id; those that it does not name were accepted.
    fn one_by_one(&mut self, way: Way, mut batch: Batch, mut failure: CallFailure) {
        self.outbox(way).well();
        let ids = std::mem::take(&mut failure.ids);
        let items = std::mem::take(&mut batch.items);
        for item in items {
            let id = self.leases.ack_id(item.lease);
            match id.and_then(|id| ids.get(id)) {
                None => self.resolve(way, &batch, &item, Ok(())),
                Some(IdFailure::Permanent(why)) => {
                    let lost = Err(SettleError::LeaseLost(why.clone()));
                    self.resolve(way, &batch, &item, lost);
                }
                Some(IdFailure::Transient(_)) => batch.items.push(item),
            }
        }
        self.again(way, batch, Trouble::Id, &failure);
    }

    /// A batch is sent again, as far as its leases are still ours.
    fn again(&mut self, way: Way, mut batch: Batch, trouble: Trouble, failure: &CallFailure) {
        let spent = trouble == Trouble::Invalid && batch.invalid + 1 >= INVALID_TRIES;
        let over = self.is_over();
        let tired = self.closing.is_some() && batch.tries + 1 >= CLOSING_TRIES;
        let items = std::mem::take(&mut batch.items);
        for item in items {
            let result = if over {
                Err(SettleError::Closed)
            } else if spent {
                Err(SettleError::LeaseLost(refused(failure)))
            } else if tired && !self.is_told(&item) || !self.leases.resume(item.lease, self.now) {
                Err(SettleError::Unconfirmed(Arc::clone(&failure.reason)))
            } else {
                batch.items.push(item);
                continue;
            };
            self.resolve(way, &batch, &item, result);
        }
        if batch.items.is_empty() {
            return;
        }
        let outbox = match way {
            Way::Ack => &mut self.acks,
            Way::Nack => &mut self.nacks,
        };
        outbox.again(self.now, batch, trouble, &mut self.rng);
    }

    /// What became of one item is known.
    fn resolve(&mut self, way: Way, batch: &Batch, item: &Item, result: Result<(), SettleError>) {
        self.outbox(way).release(batch.no(), item);
        if let Some(no) = self.leases.message(item.lease) {
            self.finish(no, result);
        }
    }

    /// Whether a delivery waits for what becomes of an item.
    fn is_told(&self, item: &Item) -> bool {
        let message = self.leases.message(item.lease);
        let known = message.and_then(|no| self.hand.get(no));
        known.is_some_and(
            |known| matches!(&known.place, Place::Settling { told, .. } if told.is_some()),
        )
    }
}

/// What a failure of a whole call means for its ids.
pub(super) fn trouble(class: CallClass) -> Trouble {
    match class {
        CallClass::Transient => Trouble::Transient,
        CallClass::Throttled(asked) => Trouble::Throttled(asked),
        CallClass::Config | CallClass::Unauthenticated => Trouble::Config,
        CallClass::Invalid => Trouble::Invalid,
        CallClass::PerId => Trouble::Id,
    }
}

/// What is said of an ack id whose request was refused too often.
pub(super) fn refused(failure: &CallFailure) -> Text {
    let reason = &failure.reason;
    format!("requests with it were refused, without a word on which id is at fault: {reason}")
        .into()
}

fn name(way: Way) -> &'static str {
    match way {
        Way::Ack => "acknowledge",
        Way::Nack => "nack",
    }
}
