//! What is left to do once a lock is given back.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};
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
        for waker in self.wake {
            // One that panics must not keep the others from hearing.
            let woken = catch_unwind(AssertUnwindSafe(|| waker.wake()));
            if woken.is_err() {
                tracing::error!("a waker panicked");
            }
        }
        if let Some(fault) = self.fault {
            tracing::error!(%fault, "a fault of the driver");
        }
    }
}

/// Does something under a lock, and what may run foreign code after it.
pub(crate) fn with<S, T>(state: &Mutex<S>, work: impl FnOnce(&mut S, &mut After) -> T) -> T {
    let mut after = After::default();
    // What is locked does not panic; if it did, those who wait still want their answers.
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    let done = work(&mut state, &mut after);
    drop(state);
    after.run();
    done
}
