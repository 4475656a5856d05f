//! Where a dispatcher or a service runs, its type forgotten.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::time::Instant;

use futures_util::FutureExt as _;

use crate::seam::{Runtime, Timer};

/// A [`Runtime`] whose type is forgotten, so that handlers and handles have none either.
pub(crate) trait Place: Send + Sync {
    fn now(&self) -> Instant;
    fn spawn_boxed(&self, task: Pin<Box<dyn Future<Output = ()> + Send>>);
    fn timer(&self) -> Pin<Box<dyn Timer>>;
}

impl<R: Runtime> Place for R {
    fn now(&self) -> Instant {
        Runtime::now(self)
    }

    fn spawn_boxed(&self, task: Pin<Box<dyn Future<Output = ()> + Send>>) {
        Runtime::spawn(self, task);
    }

    fn timer(&self) -> Pin<Box<dyn Timer>> {
        Box::pin(Runtime::timer(self))
    }
}

/// Runs a task in the background. It ends by itself when it panics: not every runtime survives that.
pub(crate) fn spawn(place: &dyn Place, task: impl Future<Output = ()> + Send + 'static) {
    let task = AssertUnwindSafe(task).catch_unwind().map(|_| ());
    place.spawn_boxed(Box::pin(task));
}
