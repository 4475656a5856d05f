//! The other ends of what is handed out.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use pubsink_core::subscribe::{DeliveryId, LeaseLost, SettleError};

use super::delivery::DeliveryEnd;

/// The other ends of what is handed out, by number.
#[derive(Debug, Default)]
pub(super) struct Ends(HashMap<DeliveryId, DeliveryEnd, FixedState>);

impl Ends {
    pub(super) fn keep(&mut self, end: DeliveryEnd) {
        self.0.insert(end.id(), end);
    }

    pub(super) fn lost(&self, delivery: DeliveryId, cause: &LeaseLost) {
        if let Some(end) = self.0.get(&delivery) {
            end.lost(cause);
        }
    }

    pub(super) fn settled(&mut self, delivery: DeliveryId, result: Result<(), SettleError>) {
        if let Some(end) = self.0.remove(&delivery) {
            end.settled(result);
        }
    }
}
