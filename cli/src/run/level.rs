//! A level that should not rise past a mark: whoever raises it waits until it has fallen.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_channel::{Receiver, Sender, bounded};

/// Counts what is held. Any number may wait for room.
#[derive(Debug)]
pub(super) struct Level {
    max: usize,
    held: AtomicUsize,
    /// There is room from now on, whatever is held.
    free: AtomicBool,
    /// Waiters wait while it is there, and for its end.
    gate: Mutex<Option<(Sender<()>, Receiver<()>)>>,
}

impl Level {
    pub(super) fn new(max: usize) -> Self {
        Self {
            max,
            held: AtomicUsize::new(0),
            free: AtomicBool::new(false),
            gate: Mutex::new(None),
        }
    }

    /// More is held, whether there is room or not.
    pub(super) fn raise(&self, by: usize) {
        self.held.fetch_add(by, Ordering::SeqCst);
        if self.is_full() {
            self.gate().get_or_insert_with(|| bounded(1));
            // It may have fallen in between.
            self.open_if_room();
        }
    }

    pub(super) fn lower(&self, by: usize) {
        self.held.fetch_sub(by, Ordering::SeqCst);
        self.open_if_room();
    }

    /// There is always room from now on.
    pub(super) fn set_free(&self) {
        self.free.store(true, Ordering::SeqCst);
        self.open_if_room();
    }

    /// Resolves when there is room.
    pub(super) async fn room(&self) {
        loop {
            let gate = self.gate().as_ref().map(|(_, opened)| opened.clone());
            let Some(opened) = gate else {
                return;
            };
            // Nothing is ever sent: the channel only closes.
            let _ = opened.recv().await;
        }
    }

    fn is_full(&self) -> bool {
        self.held.load(Ordering::SeqCst) >= self.max && !self.free.load(Ordering::SeqCst)
    }

    fn open_if_room(&self) {
        if !self.is_full() {
            drop(self.gate().take());
        }
    }

    fn gate(&self) -> MutexGuard<'_, Option<(Sender<()>, Receiver<()>)>> {
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn who_waits_goes_on_when_the_level_has_fallen() {
        let level = Level::new(2);
        level.raise(1);
        assert!(level.room().now_or_never().is_some());
        level.raise(1);
        let (mut one, mut two) = (Box::pin(level.room()), Box::pin(level.room()));
        assert!((&mut one).now_or_never().is_none());
        assert!((&mut two).now_or_never().is_none());
        level.lower(1);
        assert!(one.now_or_never().is_some() && two.now_or_never().is_some());
        level.raise(5);
        assert!(level.room().now_or_never().is_none());
        level.set_free();
        assert!(level.room().now_or_never().is_some());
        level.raise(5);
        assert!(level.room().now_or_never().is_some());
    }
}
