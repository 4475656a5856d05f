//! The other ends of what is handed out.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use pubsink_core::subscribe::{DeliveryId, LeaseLost, SettleError};

use super::delivery::DeliveryEnd;

/// The other ends of what is handed out, by number.
#[derive(Debug, Default)]
pub(super) struct Ends(HashMap<DeliveryId, DeliveryEnd, BuildHasherDefault<ByNumber>>);

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

/// Deliveries are numbered by us, one after another: to spread them costs one multiplication.
#[derive(Debug, Default)]
struct ByNumber(u64);

const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hasher for ByNumber {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(self.0 ^ u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        let spread = number.wrapping_mul(FACTOR);
        self.0 = spread ^ spread >> 32;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
