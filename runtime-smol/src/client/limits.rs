//! The times a request may take.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use async_io::Timer;
use futures_util::future::{Either, select};
use pubsink_runtime::core::reason::TransportKind;
use pubsink_runtime::seam::{SendLimits, TransportError};

/// Runs `exchange` within the time to connect, then within the time to answer. It is connected
/// once `begun` resolves.
pub(super) async fn with_timeouts<O>(
    exchange: impl Future<Output = Result<O, TransportError>>,
    begun: impl Future<Output = ()>,
    limits: SendLimits,
) -> Result<O, TransportError> {
    let mut exchange = pin!(exchange);
    let mut begun = pin!(begun);
    let mut connect_timeout = pin!(Timer::after(limits.connect));
    let early = poll_fn(|cx| {
        if let Poll::Ready(done) = exchange.as_mut().poll(cx) {
            return Poll::Ready(Some(done));
        }
        if begun.as_mut().poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        connect_timeout.as_mut().poll(cx).map(|_| {
            let kind = TransportKind::Connect;
            Some(Err(late(kind, "no connection", limits.connect)))
        })
    });
    if let Some(done) = early.await {
        return done;
    }
    match select(exchange, Timer::after(limits.response)).await {
        Either::Left((done, _)) => done,
        Either::Right(_) => Err(late(TransportKind::Timeout, "no reply", limits.response)),
    }
}

/// A time as curl takes it: milliseconds in 31 bits, where 0 means its own default.
pub(super) fn curl_time(time: Duration) -> Duration {
    const LONGEST: Duration = Duration::from_millis(i32::MAX as u64);
    time.clamp(Duration::from_millis(1), LONGEST)
}

fn late(kind: TransportKind, what: &str, limit: Duration) -> TransportError {
    TransportError::new(kind, format!("{what} within {} ms", limit.as_millis()))
}
