//! The seam on tokio.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use pubsink_runtime::seam::{Runtime, Timer};
use tokio::runtime::{Handle, TryCurrentError};
use tokio::time::Sleep;

/// A tokio runtime. Time is tokio's own, so a paused clock works in tests.
#[derive(Debug, Clone)]
pub struct Tokio(Handle);

impl Tokio {
    /// The runtime this is called in.
    ///
    /// # Errors
    ///
    /// Outside of one.
    pub fn current() -> Result<Self, TryCurrentError> {
        Handle::try_current().map(Self)
    }

    /// The runtime of `handle`.
    #[must_use]
    pub fn new(handle: Handle) -> Self {
        Self(handle)
    }
}

impl Runtime for Tokio {
    type Timer = TokioTimer;

    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.0.spawn(task);
    }

    fn timer(&self) -> TokioTimer {
        TokioTimer(None)
    }
}

/// A tokio sleep that can be set again.
#[derive(Debug)]
pub struct TokioTimer(Option<Pin<Box<Sleep>>>);

impl Timer for TokioTimer {
    fn reset(mut self: Pin<&mut Self>, at: Instant) {
        let at = tokio::time::Instant::from_std(at);
        match &mut self.0 {
            Some(sleep) => sleep.as_mut().reset(at),
            none => *none = Some(Box::pin(tokio::time::sleep_until(at))),
        }
    }
}

impl Future for TokioTimer {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.0 {
            Some(sleep) => sleep.as_mut().poll(cx),
            None => Poll::Pending,
        }
    }
}
