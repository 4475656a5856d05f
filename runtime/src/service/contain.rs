//! Foreign code, and where its panics end.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;

use pubsink_core::text::Text;

/// Foreign code panicked, with these words where it had some.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a handler or a layer panicked: {0}")]
pub(super) struct Panicked(pub(super) Text);

impl Panicked {
    fn of(panic: &(dyn Any + Send)) -> Self {
        let text = panic
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Self(Text::capped(text.unwrap_or("no words").as_bytes()))
    }
}

/// What `work` gives, unless it panics.
pub(super) fn contained<T>(work: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let panicked = Panicked::of(&*panic);
        // What was thrown may throw again when it is dropped.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(panic)));
        panicked
    })
}

/// What a future gives, unless it panics: when it is polled, or when it is dropped.
pub(super) async fn contained_future<F: Future>(future: F) -> Result<F::Output, Panicked> {
    let mut future = Box::pin(future);
    let done = poll_fn(|cx| match contained(|| future.as_mut().poll(cx)) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(done)) => Poll::Ready(Ok(done)),
        Err(panicked) => Poll::Ready(Err(panicked)),
    })
    .await;
    let dropped = contained(|| drop(future));
    done.and_then(|done| dropped.map(|()| done))
}
