//! Bodies in foreign memory, whose `Drop` is foreign code.

use std::cell::Cell;

use bytes::Bytes;

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
    static DROPPED: Cell<usize> = const { Cell::new(0) };
}

/// A body that is noticed when a machine drops it.
pub(super) fn body(data: &[u8]) -> Bytes {
    Bytes::from_owner(Owner(data.to_vec()))
}

/// Has a machine do something, during which it drops no body. A driver does this under a lock.
pub(super) fn inside<T>(work: impl FnOnce() -> T) -> T {
    INSIDE.set(true);
    let done = work();
    INSIDE.set(false);
    assert_eq!(DROPPED.get(), 0, "the machine itself dropped bodies");
    done
}

struct Owner(Vec<u8>);

impl AsRef<[u8]> for Owner {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        DROPPED.set(DROPPED.get() + usize::from(INSIDE.get()));
    }
}
