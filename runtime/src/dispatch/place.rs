//! Where a dispatcher runs, its type forgotten.

use std::future::Future;
use std::pin::Pin;
use std::time::Instant;

use crate::seam::Runtime;

/// A [`Runtime`] whose type is forgotten, so that a handle has none either: it makes calls to the
/// journal that go on whether somebody waits for them or not.
pub(super) trait Place: Send + Sync {
    fn now(&self) -> Instant;
    fn spawn(&self, task: Pin<Box<dyn Future<Output = ()> + Send>>);
}

impl<R: Runtime> Place for R {
    fn now(&self) -> Instant {
        Runtime::now(self)
    }

    fn spawn(&self, task: Pin<Box<dyn Future<Output = ()> + Send>>) {
        Runtime::spawn(self, task);
    }
}
