//! What is left to do once a lock is given back.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use pubsink_core::envelope::Envelope;
use pubsink_core::publish::Unsent;

/// What may run foreign code: wakers, log subscribers and the memory that data lies in are the user's,
/// and may call back.
#[derive(Default)]
pub(crate) struct After {
    pub(crate) wake: Vec<Waker>,
    drop: Vec<Foreign>,
    pub(crate) fault: Option<String>,
}

/// What is dropped after a lock is given back: its `Drop` may be the user's.
#[expect(dead_code, reason = "it is there to be dropped")]
pub(crate) enum Foreign {
    /// Can drop a whole task.
    Waker(Waker),
    /// Data can be the memory of whoever published it.
    Message(Unsent),
    Hook(Arc<Envelope>),
}

impl From<Waker> for Foreign {
    fn from(waker: Waker) -> Self {
        Self::Waker(waker)
    }
}

impl From<Unsent> for Foreign {
    fn from(message: Unsent) -> Self {
        Self::Message(message)
    }
}

impl From<Arc<Envelope>> for Foreign {
    fn from(hook: Arc<Envelope>) -> Self {
        Self::Hook(hook)
    }
}

impl After {
    pub(crate) fn drop(&mut self, what: impl IntoIterator<Item: Into<Foreign>>) {
        self.drop.extend(what.into_iter().map(Into::into));
    }

    fn run(self) {
        self.wake.into_iter().for_each(wake);
        self.drop.into_iter().for_each(let_go);
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

/// Drops what may be foreign. One that panics must not keep others from their outcomes.
pub(crate) fn let_go<T>(foreign: T) {
    if catch_unwind(AssertUnwindSafe(|| drop(foreign))).is_err() {
        tracing::error!("dropping a waker or the data of a message panicked");
    }
}

/// Wakes a task. A waker that panics must not keep others from hearing.
pub(crate) fn wake(waker: Waker) {
    let woken = catch_unwind(AssertUnwindSafe(|| waker.wake()));
    if woken.is_err() {
        tracing::error!("a waker panicked");
    }
}
