//! What is left to do once a lock is given back.

use std::panic::{AssertUnwindSafe, catch_unwind};
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
    pub(crate) fn run(self) {
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
