//! The time that something may take.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use crate::seam::{Runtime, Timer};

/// Runs `work` within `limit`; none when it was not done.
pub(crate) async fn within<R: Runtime, T>(
    runtime: &R,
    limit: Duration,
    work: impl Future<Output = T>,
) -> Option<T> {
    let mut work = pin!(work);
    // An instant that far ahead may not exist.
    let Some(end) = runtime.now().checked_add(limit) else {
        return Some(work.await);
    };
    let mut timer = pin!(runtime.timer());
    timer.as_mut().reset(end);
    poll_fn(|cx| {
        if let Poll::Ready(done) = work.as_mut().poll(cx) {
            return Poll::Ready(Some(done));
        }
        // By the clock: a timer may fire early.
        while timer.as_mut().poll(cx).is_ready() {
            if runtime.now() >= end {
                return Poll::Ready(None);
            }
            timer.as_mut().reset(end);
        }
        Poll::Pending
    })
    .await
}
