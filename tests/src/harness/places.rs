//! How many cases run at a time.

use std::sync::{Condvar, Mutex};

/// Cases at a time that work: most of their time they wait, too.
const WORKING: usize = 6;
/// Cases at a time that do little but wait. Those that take a minute and more begin first, so that
/// the others have places beside them.
const WAITING: usize = 40;

/// The places that are free.
#[derive(Debug)]
pub(super) struct Places {
    working: Free,
    waiting: Free,
}

#[derive(Debug)]
struct Free {
    count: Mutex<usize>,
    more: Condvar,
}

/// A case's place, until it is dropped.
#[must_use = "a place is free again when this is dropped"]
pub(super) struct Place<'a>(&'a Free);

impl Default for Places {
    fn default() -> Self {
        let free = |count| Free {
            count: Mutex::new(count),
            more: Condvar::new(),
        };
        Self {
            working: free(WORKING),
            waiting: free(WAITING),
        }
    }
}

impl Places {
    /// Threads for everybody who has a place, or waits for one, where so many cases only wait.
    pub(super) fn threads(waiting: usize) -> usize {
        WORKING + waiting
    }

    /// Waits for a place.
    pub(super) fn take(&self, waits: bool) -> Place<'_> {
        let free = match waits {
            true => &self.waiting,
            false => &self.working,
        };
        let count = free.count.lock().unwrap();
        let mut count = free.more.wait_while(count, |count| *count == 0).unwrap();
        *count -= 1;
        Place(free)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        *self.0.count.lock().unwrap() += 1;
        self.0.more.notify_one();
    }
}
