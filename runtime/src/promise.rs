//! Answers that are given whatever happens.

use std::future::Future;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;

/// Does the work, and gives what it came to, whatever happens to it.
pub(crate) fn promised<T, F: FnOnce(T)>(
    work: impl Future<Output = T>,
    lost: fn() -> T,
    give: F,
) -> impl Future<Output = ()> {
    let promise = Promise::new(lost, give);
    async move {
        // All of it moves in, so that it is dropped with the task.
        let mut promise = promise;
        let done = AssertUnwindSafe(work).catch_unwind().await;
        promise.value = done.ok();
    }
}

/// A task's answer, given when it ends in any way: done, panicked, aborted, or dropped by its
/// runtime.
struct Promise<T, F: FnOnce(T)> {
    /// What the task came to. None: it did not come to its end.
    value: Option<T>,
    lost: fn() -> T,
    give: Option<F>,
}

impl<T, F: FnOnce(T)> Promise<T, F> {
    /// Gives what the task came to, or `lost`.
    fn new(lost: fn() -> T, give: F) -> Self {
        Self {
            value: None,
            lost,
            give: Some(give),
        }
    }
}

impl<T, F: FnOnce(T)> Drop for Promise<T, F> {
    fn drop(&mut self) {
        let value = self.value.take().unwrap_or_else(self.lost);
        if let Some(give) = self.give.take() {
            give(value);
        }
    }
}
