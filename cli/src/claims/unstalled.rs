//! A connection that ends when its other side stops reading.

use std::future::Future as _;
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// Writes fail where for a while nothing of them is taken.
#[derive(Debug)]
pub(super) struct Unstalled<S> {
    stream: S,
    limit: Duration,
    timer: Pin<Box<Sleep>>,
    /// Since the timer was set.
    waiting: bool,
}

impl<S> Unstalled<S> {
    pub(super) fn new(stream: S, limit: Duration) -> Self {
        Self {
            stream,
            limit,
            timer: Box::pin(sleep(limit)),
            waiting: false,
        }
    }

    /// A write's result, unless it has been waited for too long.
    fn in_time<T>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.waiting = false;
            return written;
        }
        if !self.waiting {
            self.waiting = true;
            self.timer.as_mut().reset(Instant::now() + self.limit);
        }
        ready!(self.timer.as_mut().poll(cx));
        Poll::Ready(Err(ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Unstalled<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Unstalled<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.in_time(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.in_time(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.in_time(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.in_time(cx, shut)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
    use tokio::runtime::{Builder, Runtime};
    use tokio::time::timeout;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(30);

    /// Its time is simulated.
    fn runtime() -> Runtime {
        let mut builder = Builder::new_current_thread();
        builder.enable_time().start_paused(true).build().unwrap()
    }

    #[test]
    fn who_stops_reading_is_left_after_the_limit() {
        runtime().block_on(async {
            let (ours, _theirs) = duplex(10);
            let mut ours = Unstalled::new(ours, LIMIT);
            let started = Instant::now();
            let failed = ours.write_all(&[0; 11]).await.unwrap_err();
            assert_eq!(failed.kind(), ErrorKind::TimedOut);
            assert!(started.elapsed() >= LIMIT);
        });
    }

    #[test]
    fn who_reads_slowly_is_not() {
        runtime().block_on(async {
            let (ours, mut theirs) = duplex(1);
            let mut ours = Unstalled::new(ours, LIMIT);
            let reading = tokio::spawn(async move {
                for _ in 0..10 {
                    sleep(LIMIT * 2 / 3).await;
                    theirs.read_exact(&mut [0]).await.unwrap();
                }
            });
            let written = timeout(LIMIT * 20, ours.write_all(&[0; 10])).await;
            written.unwrap().unwrap();
            reading.await.unwrap();
        });
    }
}
