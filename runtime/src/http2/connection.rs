//! One HTTP/2 connection: its first words, and its task.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use h2::client::{Builder, Connection, SendRequest};
use tokio::io::{AsyncRead, AsyncWrite};

use super::heard::Heard;
use super::line::Idle;
use super::pool::{Place, STREAMS_MAX};
use crate::seam::{Runtime, Timer};

/// What a server may send on one stream before it is read. At 50 ms to the server it allows 40 MB/s.
const STREAM_WINDOW: u32 = 2 * 1024 * 1024;

/// What it may send on one connection: all that its streams may. So no stream that is not read
/// holds up the others.
#[allow(clippy::cast_possible_truncation, reason = "it is 100")]
const CONNECTION_WINDOW: u32 = STREAM_WINDOW * STREAMS_MAX as u32;

/// The longest frame that is taken: a response of a stream that lies within one is read where it came,
/// and copied nowhere.
const FRAME_MAX: u32 = 256 * 1024;

/// The most a block of headers may take: what official clients allow. One refused exactly-once
/// request names all its ack ids there.
const HEADERS_MAX: u32 = 4 * 1024 * 1024;

/// Speaks HTTP/2 on a byte stream. Returns when the server has spoken it too, and allows streams:
/// until then nothing of a request was sent.
pub(super) async fn handshake<T>(
    io: Heard<T>,
) -> Result<(SendRequest<Bytes>, Connection<Heard<T>, Bytes>), h2::Error>
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    let (sender, mut connection) = Builder::new()
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_frame_size(FRAME_MAX)
        .max_header_list_size(HEADERS_MAX)
        .enable_push(false)
        // The server's settings change it.
        .initial_max_send_streams(0)
        .handshake(io)
        .await?;
    poll_fn(|cx| match Pin::new(&mut connection).poll(cx) {
        Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
        Poll::Ready(Ok(())) => Poll::Ready(Err(h2::Reason::NO_ERROR.into())),
        Poll::Pending if sender.current_max_send_streams() > 0 => Poll::Ready(Ok(())),
        Poll::Pending => Poll::Pending,
    })
    .await?;
    Ok((sender, connection))
}

/// Runs a connection to its end, which comes when it breaks or nobody uses it any more. After
/// `idle_timeout` without a stream, and at most twice that, its place in the pool is given up.
pub(super) async fn run<R: Runtime, T: AsyncRead + AsyncWrite + Unpin>(
    runtime: R,
    connection: Connection<Heard<T>, Bytes>,
    place: Place,
    idle_timeout: Duration,
) {
    let look = || match place.pool.upgrade() {
        Some(pool) => pool.retire_if_idle(&place.line, idle_timeout),
        None => Idle::Never,
    };
    let mut connection = pin!(connection);
    let mut timer = pin!(runtime.timer());
    let mut idle = look();
    if let Idle::At(at) = idle {
        timer.as_mut().reset(at);
    }
    poll_fn(|cx| {
        // How it ended is told by each stream that was on it.
        if connection.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        while matches!(idle, Idle::At(_)) && timer.as_mut().poll(cx).is_ready() {
            idle = look();
            if let Idle::At(at) = idle {
                timer.as_mut().reset(at);
            }
        }
        Poll::Pending
    })
    .await;
}
