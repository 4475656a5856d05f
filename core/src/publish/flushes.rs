//! Which flushes are done.

use std::collections::VecDeque;

/// The stretch between two flushes that a message was admitted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stretch(u64);

/// Knows for each flush whether everything admitted before it is settled, at the cost of one
/// counter for each flush that waits.
#[derive(Debug)]
pub(super) struct Flushes<T> {
    /// The number of the first stretch below.
    first: u64,
    /// Unsettled messages of each stretch, and the flush that ended it. The last one is open.
    stretches: VecDeque<(usize, Option<T>)>,
}

impl<T> Flushes<T> {
    pub(super) fn new() -> Self {
        Self {
            first: 0,
            stretches: VecDeque::from([(0, None)]),
        }
    }

    /// Counts an admitted message.
    pub(super) fn admit(&mut self) -> Stretch {
        let last = self.stretches.len() - 1;
        self.stretches[last].0 += 1;
        Stretch(self.first + last as u64)
    }

    /// Counts a settled one.
    pub(super) fn settle(&mut self, stretch: Stretch) {
        let at = usize::try_from(stretch.0 - self.first);
        if let Some((unsettled, _)) = at.ok().and_then(|at| self.stretches.get_mut(at)) {
            *unsettled -= 1;
        }
    }

    /// A flush waits for everything admitted so far.
    pub(super) fn flush(&mut self, tag: T) {
        let last = self.stretches.len() - 1;
        self.stretches[last].1 = Some(tag);
        self.stretches.push_back((0, None));
    }

    /// The next flush that is done.
    pub(super) fn pop_done(&mut self) -> Option<T> {
        match self.stretches.front_mut() {
            Some((0, tag @ Some(_))) => {
                let tag = tag.take();
                self.stretches.pop_front();
                self.first += 1;
                tag
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flush_with_nothing_before_it_is_done_at_once() {
        let mut flushes = Flushes::new();
        assert_eq!(flushes.pop_done(), None);
        flushes.flush('a');
        flushes.flush('b');
        assert_eq!(flushes.pop_done(), Some('a'));
        assert_eq!(flushes.pop_done(), Some('b'));
        assert_eq!(flushes.pop_done(), None);
    }

    #[test]
    fn a_flush_waits_for_what_came_before_it_and_for_nothing_after() {
        let mut flushes = Flushes::new();
        let first = flushes.admit();
        flushes.flush('a');
        let second = flushes.admit();
        flushes.flush('b');
        let third = flushes.admit();
        flushes.settle(second);
        // b waits for first too: it came before it.
        assert_eq!(flushes.pop_done(), None);
        flushes.settle(first);
        assert_eq!(flushes.pop_done(), Some('a'));
        assert_eq!(flushes.pop_done(), Some('b'));
        flushes.settle(third);
        assert_eq!(flushes.pop_done(), None);
        assert_eq!(flushes.stretches.len(), 1);
    }
}
