//! What is left to do once a lock is given back.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// What may run foreign code: wakers and log subscribers are the user's, and may call back.
#[derive(Default)]
pub(crate) struct After {
    pub(crate) wake: Vec<Waker>,
    /// Dropping one can drop a whole task.
    pub(crate) drop: Vec<Waker>,
    pub(crate) fault: Option<String>,
}

impl After {
    fn run(self) {
        self.wake.into_iter().for_each(wake);
        if let Some(fault) = self.fault {
            tracing::error!(%fault, "a fault of the driver");
        }
    }
}

/// Does something under a lock, and what may run foreign code after it.
pub(crate) fn with<S, T>(state: &Mutex<S>, work: impl FnOnce(&mut S, &mut After) -> T) -> T {
    let mut after = After::default();
    let done = work(&mut lock(state), &mut after);
    after.run();
    done
}

/// Locks. What is locked does not panic; if it did, those who wait still want their answers.
#[inline]
pub(crate) fn lock<S>(state: &Mutex<S>) -> MutexGuard<'_, S> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Wakes a task. A waker that panics must not keep others from hearing.
pub(crate) fn wake(waker: Waker) {
    let woken = catch_unwind(AssertUnwindSafe(|| waker.wake()));
    if woken.is_err() {
        tracing::error!("a waker panicked");
    }
}
