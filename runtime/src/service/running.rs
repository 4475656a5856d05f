//! The handlings of a subscription that are under way.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use futures_util::future::{AbortHandle, Abortable};
use futures_util::task::AtomicWaker;

use super::contain::contained;
use crate::place::{Place, spawn};

/// Wakes the loop of a subscription.
#[derive(Debug, Default)]
pub(super) struct Signal(AtomicWaker);

impl Signal {
    pub(super) fn register(&self, waker: &Waker) {
        self.0.register(waker);
    }

    /// A waker is foreign code.
    pub(super) fn wake(&self) {
        if contained(|| self.0.wake()).is_err() {
            tracing::error!("a waker panicked");
        }
    }
}

/// The handlings under way: as many as the source has handed out, and those of them whose
/// settlement is not confirmed.
#[derive(Debug)]
pub(super) struct Running {
    state: Mutex<State>,
    signal: Arc<Signal>,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    tasks: BTreeMap<u64, Task>,
    /// Somebody waits for the last one to end.
    watched: bool,
}

#[derive(Debug)]
struct Task {
    abort: AbortHandle,
    /// The handler is done, and its settlement is on its way.
    settling: bool,
}

/// How many there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) handling: usize,
    pub(super) settling: usize,
}

impl Running {
    pub(super) fn new(signal: Arc<Signal>) -> Self {
        Self {
            state: Mutex::default(),
            signal,
        }
    }

    /// Runs `work`, with its number, as a task of its own.
    pub(super) fn spawn<F>(self: &Arc<Self>, place: &dyn Place, work: impl FnOnce(u64) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (abort, registration) = AbortHandle::new_pair();
        let task = Task {
            abort,
            settling: false,
        };
        let number = {
            let mut state = self.lock();
            let number = state.next;
            state.next += 1;
            state.tasks.insert(number, task);
            number
        };
        let ended = Ended(Arc::clone(self), number);
        let work = Abortable::new(work(number), registration);
        spawn(place, async move {
            // What is aborted is dropped here, before it counts as ended.
            let _ = work.await;
            drop(ended);
        });
    }

    /// The handler of this one is done.
    pub(super) fn settling(&self, number: u64) {
        if let Some(task) = self.lock().tasks.get_mut(&number) {
            task.settling = true;
        }
    }

    /// Whether none is under way. From now on the signal tells when the last one ended.
    pub(super) fn is_idle(&self) -> bool {
        let mut state = self.lock();
        state.watched = true;
        state.tasks.is_empty()
    }

    pub(super) fn count(&self) -> Count {
        let state = self.lock();
        let settling = state.tasks.values().filter(|task| task.settling).count();
        Count {
            handling: state.tasks.len() - settling,
            settling,
        }
    }

    /// Stops the handlers. Those whose settlement is on its way are left alone.
    pub(super) fn abort_handlers(&self) {
        self.abort(|task| !task.settling);
    }

    pub(super) fn abort_all(&self) {
        self.abort(|_| true);
    }

    fn abort(&self, which: impl Fn(&Task) -> bool) {
        let tasks: Vec<_> = {
            let state = self.lock();
            let tasks = state.tasks.values().filter(|task| which(task));
            tasks.map(|task| task.abort.clone()).collect()
        };
        // Aborting wakes a task, which is foreign code.
        for task in tasks {
            if contained(|| task.abort()).is_err() {
                tracing::error!("a waker panicked");
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A handling ended, in whatever way.
struct Ended(Arc<Running>, u64);

impl Drop for Ended {
    fn drop(&mut self) {
        let last = {
            let mut state = self.0.lock();
            // Dropped after the lock, with its waker.
            let task = state.tasks.remove(&self.1);
            (task, state.watched && state.tasks.is_empty())
        };
        if last.1 {
            self.0.signal.wake();
        }
    }
}
