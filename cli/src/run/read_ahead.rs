//! How many bytes are read ahead: lines may be short or tens of megabytes.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Counts the bytes of lines that were read and not yet dealt with.
#[derive(Debug)]
pub(super) struct ReadAhead {
    max: usize,
    held: Mutex<usize>,
    freed: Condvar,
}

/// Bytes that are held until this is dropped.
#[derive(Debug)]
pub(super) struct Held(usize, Arc<ReadAhead>);

impl ReadAhead {
    pub(super) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self {
            max,
            held: Mutex::new(0),
            freed: Condvar::new(),
        })
    }

    /// Takes `bytes`, when there is room for them. More than there ever is goes alone.
    pub(super) fn take(self: &Arc<Self>, bytes: usize) -> Held {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let full = |held: &mut usize| *held > 0 && *held + bytes > self.max;
        let mut held = self
            .freed
            .wait_while(held, full)
            .unwrap_or_else(PoisonError::into_inner);
        *held += bytes;
        Held(bytes, Arc::clone(self))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        *self.1.held.lock().unwrap_or_else(PoisonError::into_inner) -= self.0;
        self.1.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn bytes_past_the_limit_wait_until_enough_are_given_back() {
        let ahead = ReadAhead::new(10);
        let large = ahead.take(100);
        let theirs = Arc::clone(&ahead);
        let waiting = thread::spawn(move || theirs.take(10));
        drop(large);
        let held = waiting.join().unwrap();
        assert_eq!(*ahead.held.lock().unwrap(), 10);
        drop(held);
        assert_eq!(*ahead.held.lock().unwrap(), 0);
    }
}
