//! Which numbers were seen, in bounded memory.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

/// The most messages between their publish and the end of their way.
pub(crate) const WINDOW: u64 = 20_000;
/// How far numbers may be apart: none is published that is further from the lowest missing one.
const SPAN: u64 = 1 << 22;

/// A bit for each number from the lowest that was not seen.
pub(crate) struct Marks {
    bits: Mutex<Box<[u64]>>,
    /// All below were seen.
    base: AtomicU64,
    seen: AtomicU64,
    duplicates: AtomicU64,
    room: Notify,
}

impl Default for Marks {
    fn default() -> Self {
        let words = usize::try_from(SPAN / 64).unwrap_or_default();
        Self {
            bits: Mutex::new(vec![0; words].into()),
            base: AtomicU64::default(),
            seen: AtomicU64::default(),
            duplicates: AtomicU64::default(),
            room: Notify::default(),
        }
    }
}

impl Marks {
    /// Marks a number as seen.
    pub(crate) fn mark(&self, number: u64) {
        let mut bits = self.bits.lock().unwrap_or_else(PoisonError::into_inner);
        let mut base = self.base.load(Ordering::Relaxed);
        let (word, bit) = place(number);
        // What nobody published is one too many, too.
        if number < base || number - base >= SPAN || bits[word] & bit != 0 {
            self.duplicates.fetch_add(1, Ordering::Relaxed);
            return;
        }
        bits[word] |= bit;
        loop {
            let (word, bit) = place(base);
            if bits[word] & bit == 0 {
                break;
            }
            bits[word] &= !bit;
            base += 1;
        }
        self.base.store(base, Ordering::Relaxed);
        self.seen.fetch_add(1, Ordering::Relaxed);
        self.room.notify_one();
    }

    /// Whether `next` may be published, all below it being published.
    pub(crate) fn has_room(&self, next: u64) -> bool {
        let in_flight = next - self.seen();
        in_flight < WINDOW && next < self.base.load(Ordering::Relaxed) + SPAN
    }

    /// Resolves when something was seen.
    pub(crate) async fn moved(&self) {
        self.room.notified().await;
    }

    pub(crate) fn seen(&self) -> u64 {
        self.seen.load(Ordering::Relaxed)
    }

    pub(crate) fn duplicates(&self) -> u64 {
        self.duplicates.load(Ordering::Relaxed)
    }
}

fn place(number: u64) -> (usize, u64) {
    let word = usize::try_from(number % SPAN / 64).unwrap_or_default();
    (word, 1 << (number % 64))
}
