//! A request's body: read once, and telling that it was.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use bytes::{Buf as _, Bytes};
use futures_util::io::AsyncRead;
use futures_util::task::AtomicWaker;
use isahc::AsyncBody;

use super::quiet;

/// A body that cannot be read a second time, which keeps curl from sending a request a second
/// time: for that it would have to rewind the body.
pub(super) struct SendOnce {
    rest: Bytes,
    progress: Arc<Progress>,
}

impl SendOnce {
    pub(super) fn body(bytes: Bytes, progress: &Arc<Progress>) -> AsyncBody {
        if bytes.is_empty() {
            // curl never asks for it, so that there is no telling where the request stands.
            progress.begin();
            return AsyncBody::empty();
        }
        let length = bytes.len() as u64;
        let progress = Arc::clone(progress);
        let body = Self {
            rest: bytes,
            progress,
        };
        AsyncBody::from_reader_sized(body, length)
    }
}

impl AsyncRead for SendOnce {
    /// Called on curl's thread, once there is a connection and before anything is sent on it.
    fn poll_read(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        quiet::silence_this_thread();
        self.progress.begin();
        let length = self.rest.len().min(buffer.len());
        self.rest.copy_to_slice(&mut buffer[..length]);
        Poll::Ready(Ok(length))
    }
}

/// How far a request has come.
#[derive(Debug, Default)]
pub(super) struct Progress {
    begun: AtomicBool,
    waiting: AtomicWaker,
}

impl Progress {
    /// Whether there was a connection and something may have been sent on it.
    pub(super) fn has_begun(&self) -> bool {
        self.begun.load(Ordering::Acquire)
    }

    /// Resolves once there is a connection.
    pub(super) async fn begun(&self) {
        poll_fn(|cx| {
            self.waiting.register(cx.waker());
            if self.has_begun() {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }

    fn begin(&self) {
        if !self.begun.swap(true, Ordering::AcqRel) {
            self.waiting.wake();
        }
    }
}
