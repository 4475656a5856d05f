//! What a runtime and an HTTP client have to be able to do.

mod calls;
mod streaming;

use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::{Request, Response};
use pubsink_core::reason::TransportKind;

pub use self::calls::{Calls, Trailers};
pub use self::streaming::{Answer, Downlink, Exchange, Part, StreamTransport, Uplink};

/// An async runtime: a clock, tasks and a timer.
pub trait Runtime: Clone + Send + Sync + 'static {
    /// Its timer.
    type Timer: Timer;

    /// The time, by the runtime's own clock, so that one that can be paused stays so.
    fn now(&self) -> Instant;

    /// Runs a task to its end in the background.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static);

    /// A timer that is not set.
    fn timer(&self) -> Self::Timer;

    /// The wall time, unix milliseconds: a server may name a date to wait for.
    fn unix_ms(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.map_or(0, |since| {
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        })
    }
}

/// A timer that can be set again. It resolves at or after the instant it was last set to. Firing
/// early is harmless: what is due is decided by the clock.
pub trait Timer: Future<Output = ()> + Send + 'static {
    /// Sets it. Whoever waits is woken by the new instant.
    fn reset(self: Pin<&mut Self>, at: Instant);
}

/// An HTTP client.
///
/// It sends each request once: no retries, no redirects. A pooled connection that turns out to be
/// dead is a failure of the request, not a reason to send it again.
///
/// A publisher over gRPC needs one whose responses have [`Trailers`]: [`Calls`].
pub trait Transport: Send + Sync + 'static {
    /// Sends a request and reads its reply, within `limits`. Dropping the future gives the
    /// request up; its connection must not be used again.
    fn send(
        &self,
        request: Request<Bytes>,
        limits: SendLimits,
    ) -> impl Future<Output = Result<Response<Bytes>, TransportError>> + Send;
}

/// What one request may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SendLimits {
    /// The time until there is a connection, from the start of the request.
    pub connect: Duration,
    /// The time until the whole reply is there, from when there was a connection.
    pub response: Duration,
    /// The most bytes of the reply's body to read. What comes after them is not waited for.
    pub body_max: usize,
}

impl SendLimits {
    /// The most bytes of a reply that are read: 1 MiB. The ids of a full request take 30 KiB.
    pub const BODY_MAX: usize = 1024 * 1024;

    /// `timeout` for connecting and for the reply each.
    #[must_use]
    pub fn new(timeout: Duration) -> Self {
        Self {
            connect: timeout,
            response: timeout,
            body_max: Self::BODY_MAX,
        }
    }
}

/// A request that got no reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind}: {detail}")]
#[non_exhaustive]
pub struct TransportError {
    /// Where it broke. [`TransportKind::Connect`] promises that nothing was sent, or that the server
    /// says that it has done nothing with it.
    pub kind: TransportKind,
    /// What the client said.
    pub detail: String,
}

impl TransportError {
    /// An error of `kind`.
    #[must_use]
    pub fn new(kind: TransportKind, detail: impl Into<String>) -> Self {
        Self {
            kind,
            detail: detail.into(),
        }
    }

    /// An error of `kind` that says what `error` and its causes say.
    #[must_use]
    pub fn of(kind: TransportKind, error: &dyn std::error::Error) -> Self {
        let mut detail = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            let text = error.to_string();
            if !detail.contains(&text) {
                detail = format!("{detail}: {text}");
            }
            cause = error.source();
        }
        Self { kind, detail }
    }
}
