//! Answers that are given whatever happens.

/// A task's answer, given when it ends in any way: done, panicked, aborted, or dropped by its
/// runtime.
pub(super) struct Promise<T, F: FnOnce(T)> {
    /// What the task came to. None: it did not come to its end.
    pub(super) value: Option<T>,
    lost: fn() -> T,
    give: Option<F>,
}

impl<T, F: FnOnce(T)> Promise<T, F> {
    /// Gives what the task came to, or `lost`.
    pub(super) fn new(lost: fn() -> T, give: F) -> Self {
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
