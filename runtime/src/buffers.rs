//! Buffers that requests are encoded in, used again.

use std::sync::{Mutex, PoisonError};

/// The buffers of requests that were answered, for those that follow. There are never more than
/// requests were in flight at once, or twice as many where they are compressed, and none is kept
/// once nothing was in flight for a while.
#[derive(Debug, Default)]
pub(crate) struct Buffers(Mutex<Vec<Vec<u8>>>);

impl Buffers {
    /// The one that was used last, or one without room.
    pub(crate) fn take(&self) -> Vec<u8> {
        self.with(Vec::pop).unwrap_or_default()
    }

    /// Keeps one for the next request.
    pub(crate) fn give(&self, buffer: Vec<u8>) {
        self.with(|kept| kept.push(buffer));
    }

    /// Whether there are any.
    pub(crate) fn are_kept(&self) -> bool {
        self.with(|kept| !kept.is_empty())
    }

    /// Lets go of all.
    pub(crate) fn clear(&self) {
        drop(self.with(std::mem::take));
    }

    fn with<T>(&self, work: impl FnOnce(&mut Vec<Vec<u8>>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
