//! Work inside of a span.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;
use tracing::Span;

/// Does the work inside of the span: what it logs is inside, and so is what is logged as it is
/// dropped before its end.
///
/// Every enter of a span costs whoever keeps it, so it is entered once for each poll and no more:
/// of work that has ended nothing is left that had to be dropped inside.
pub(crate) fn in_span<W: Future>(span: &Span, work: W) -> InSpan<'_, W> {
    InSpan {
        span,
        work: Some(work),
    }
}

pin_project! {
    pub(crate) struct InSpan<'a, W> {
        span: &'a Span,
        #[pin]
        work: Option<W>,
    }

    impl<W> PinnedDrop for InSpan<'_, W> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            if this.work.is_some() {
                let _entered = this.span.enter();
                this.work.set(None);
            }
        }
    }
}

impl<W: Future> Future for InSpan<'_, W> {
    type Output = W::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<W::Output> {
        let mut this = self.project();
        let Some(work) = this.work.as_mut().as_pin_mut() else {
            // Polled after it was ready.
            return Poll::Pending;
        };
        let _entered = this.span.enter();
        let done = ready!(work.poll(cx));
        this.work.set(None);
        Poll::Ready(done)
    }
}
