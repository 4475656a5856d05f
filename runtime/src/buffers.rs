//! Buffers that requests are encoded in, used again.

use std::sync::{Mutex, PoisonError};

/// The buffers of requests that were answered, for those that follow: as many as requests were in
/// flight at once, or twice as many where they are compressed. Those that nothing needs are let go,
/// since one can be as large as a request.
#[derive(Debug, Default)]
pub(crate) struct Buffers(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// The one that was used last is the first to be used again.
    buffers: Vec<Vec<u8>>,
    /// How many of them, from the front, were not used since the last time that was asked.
    unused: usize,
}

impl Buffers {
    /// The one that was used last, or one without room.
    pub(crate) fn take(&self) -> Vec<u8> {
        let taken = self.with(|kept| {
            let taken = kept.buffers.pop();
            kept.unused = kept.unused.min(kept.buffers.len());
            taken
        });
        taken.unwrap_or_default()
    }

    /// Keeps one for the next request.
    pub(crate) fn give(&self, buffer: Vec<u8>) {
        self.with(|kept| kept.buffers.push(buffer));
    }

    /// Whether there are any.
    pub(crate) fn are_kept(&self) -> bool {
        self.with(|kept| !kept.buffers.is_empty())
    }

    /// Lets go of those that were not used since the last call.
    pub(crate) fn let_go_unused(&self) {
        let unused: Vec<_> = self.with(|kept| {
            let unused = kept.buffers.drain(..kept.unused).collect();
            kept.unused = kept.buffers.len();
            unused
        });
        drop(unused);
    }

    fn with<T>(&self, work: impl FnOnce(&mut Kept) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sizes of those that are kept.
    fn kept(buffers: &Buffers) -> Vec<usize> {
        let sizes = |kept: &mut Kept| kept.buffers.iter().map(Vec::capacity).collect();
        buffers.with(sizes)
    }

    #[test]
    fn as_many_are_kept_as_were_in_use_at_once() {
        let buffers = Buffers::default();
        for size in [100, 200, 300] {
            buffers.give(Vec::with_capacity(size));
        }
        buffers.let_go_unused();
        assert_eq!(kept(&buffers), [100, 200, 300]);
        // One at a time, often, and two at once.
        for _ in 0..9 {
            buffers.give(buffers.take());
        }
        let both = [buffers.take(), buffers.take()];
        let [first, second] = both;
        buffers.give(second);
        buffers.give(first);
        buffers.let_go_unused();
        assert_eq!(kept(&buffers), [200, 300]);
        buffers.give(buffers.take());
        buffers.let_go_unused();
        assert_eq!(kept(&buffers), [300]);
        // All are in use when that is asked.
        let last = buffers.take();
        buffers.let_go_unused();
        buffers.give(last);
        buffers.let_go_unused();
        assert_eq!(kept(&buffers), [300]);
        buffers.let_go_unused();
        assert!(!buffers.are_kept());
        assert_eq!(buffers.take().capacity(), 0);
    }
}
