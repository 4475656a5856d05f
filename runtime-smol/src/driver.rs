//! A driver that needs no executor.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use smol::Executor;

/// Runs a publisher and its requests, a dispatcher and its attempts, or a subscription and its
/// calls, all inside this one future: any executor, or a plain `block_on`, is enough.
///
/// It ends when what it runs was closed and everything is settled; dropped before that, it gives
/// what is under way up and settles what is left as failed. While nobody polls it nothing is sent,
/// and requests in flight may run out of time.
#[must_use = "nothing is sent until the driver runs"]
pub struct Driver(Pin<Box<dyn Future<Output = ()> + Send>>);

impl Driver {
    /// Runs `driver` and the tasks it spawns on `executor`, which nobody else runs.
    pub(crate) fn new(executor: Arc<Executor<'static>>, driver: pubsink_runtime::Driver) -> Self {
        Self(Box::pin(async move { executor.run(driver).await }))
    }
}

impl Future for Driver {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(cx)
    }
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Driver")
    }
}
