//! What gRPC travels on: calls whose answers have trailers, and streams.

use std::future::Future;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, response};

use super::{SendLimits, TransportError};

/// An HTTP/2 client. It knows nothing of what the bodies are.
///
/// Like a [`Transport`](super::Transport) it sends each request once: no retries, no redirects.
pub trait StreamTransport: Send + Sync + 'static {
    /// The sending side of its streams.
    type Up: Uplink;
    /// The receiving side of its streams.
    type Down: Downlink;

    /// Sends a request and reads its whole answer, within `limits`. Dropping the future gives the
    /// request up, and tells the server so.
    ///
    /// A 200 whose body is over the limit is an error, since its trailers come after that; any
    /// other answer is cut.
    fn call(
        &self,
        request: Request<Bytes>,
        limits: SendLimits,
    ) -> impl Future<Output = Result<Answer, TransportError>> + Send;

    /// Opens a stream. `connect` is the time until there is a connection.
    ///
    /// It does not wait for an answer: Pub/Sub sends its headers with the first message.
    fn open(
        &self,
        request: Request<()>,
        connect: Duration,
    ) -> impl Future<Output = Result<Exchange<Self::Up, Self::Down>, TransportError>> + Send;
}

/// A whole answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Status and headers. An answer that is an error from the start may have all it says here.
    pub parts: response::Parts,
    /// The body.
    pub body: Bytes,
    /// The headers after the body.
    pub trailers: HeaderMap,
}

/// An open stream. The two sides are independent.
#[derive(Debug)]
pub struct Exchange<U, D> {
    /// What is sent.
    pub up: U,
    /// What comes.
    pub down: D,
}

/// The sending side of a stream. Dropping it closes it.
pub trait Uplink: Send + 'static {
    /// Sends a chunk of the body: waits until the server takes more, then hands the chunk over.
    /// So at most one chunk is held here. A future that is dropped has sent nothing of it.
    fn send(&mut self, chunk: Bytes) -> impl Future<Output = Result<(), TransportError>> + Send;

    /// Ends the body; the server may go on sending. Does not wait.
    fn close(self)
    where
        Self: Sized,
    {
    }
}

/// The receiving side of a stream. Dropping it before its end gives the whole stream up, both
/// sides, and tells the server so.
pub trait Downlink: Send + 'static {
    /// The next part; none after the end or an error. A future that is dropped has taken nothing.
    ///
    /// Only what is asked for is taken from the server's window, so that a server that is faster
    /// than its reader has to wait.
    fn next(&mut self) -> impl Future<Output = Option<Result<Part, TransportError>>> + Send;
}

/// A part of what comes on a stream, in this order: one head, any number of chunks, at most one
/// set of trailers.
#[derive(Debug, Clone)]
pub enum Part {
    /// Status and headers.
    Head(response::Parts),
    /// A chunk of the body, cut anywhere.
    Data(Bytes),
    /// The headers after the body.
    Trailers(HeaderMap),
}
