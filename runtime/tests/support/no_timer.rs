//! A timer that never fires: lingers end with a flush.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use pubsink_runtime::seam::Timer;

pub(crate) struct NoTimer;

impl Timer for NoTimer {
    fn reset(self: Pin<&mut Self>, _at: Instant) {}
}

impl Future for NoTimer {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }
}
