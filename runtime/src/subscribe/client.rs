//! What a subscription's calls and streams travel on, its type forgotten.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use pubsink_core::subscribe::Wire;

use crate::seam::{
    Answer, Downlink, Exchange, Part, SendLimits, StreamTransport, Transport, TransportError,
    Uplink,
};

/// The client that a subscription's calls and streams travel on. Its type is forgotten: it is
/// asked once for each call, and for each part of a stream, which a box is nothing beside.
#[derive(Clone)]
pub struct Client(pub(super) Line);

/// By wire.
#[derive(Clone)]
pub(super) enum Line {
    Rest(Arc<dyn AnyTransport>),
    Grpc(Arc<dyn AnyStreams>),
}

impl Client {
    /// A client for [`Wire::Rest`].
    #[must_use]
    pub fn rest(transport: impl Transport) -> Self {
        Self(Line::Rest(Arc::new(transport)))
    }

    /// A client for [`Wire::Grpc`].
    #[must_use]
    pub fn grpc(transport: impl StreamTransport) -> Self {
        Self(Line::Grpc(Arc::new(transport)))
    }

    /// The wire it is for.
    #[must_use]
    pub fn wire(&self) -> Wire {
        match self.0 {
            Line::Rest(_) => Wire::Rest,
            Line::Grpc(_) => Wire::Grpc,
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Client").field(&self.wire()).finish()
    }
}

type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A [`Transport`].
pub(super) trait AnyTransport: Send + Sync {
    fn send(
        &self,
        request: Request<Bytes>,
        limits: SendLimits,
    ) -> Boxed<'_, Result<Response<Bytes>, TransportError>>;
}

impl<T: Transport> AnyTransport for T {
    fn send(
        &self,
        request: Request<Bytes>,
        limits: SendLimits,
    ) -> Boxed<'_, Result<Response<Bytes>, TransportError>> {
        Box::pin(Transport::send(self, request, limits))
    }
}

/// An open stream.
pub(super) type AnyExchange = Exchange<Box<dyn AnyUp>, Box<dyn AnyDown>>;

/// A [`StreamTransport`].
pub(super) trait AnyStreams: Send + Sync {
    fn call(
        &self,
        request: Request<Bytes>,
        limits: SendLimits,
    ) -> Boxed<'_, Result<Answer, TransportError>>;

    fn open(
        &self,
        request: Request<()>,
        connect: Duration,
    ) -> Boxed<'_, Result<AnyExchange, TransportError>>;
}

impl<S: StreamTransport> AnyStreams for S {
    fn call(
        &self,
        request: Request<Bytes>,
        limits: SendLimits,
    ) -> Boxed<'_, Result<Answer, TransportError>> {
        Box::pin(StreamTransport::call(self, request, limits))
    }

    fn open(
        &self,
        request: Request<()>,
        connect: Duration,
    ) -> Boxed<'_, Result<AnyExchange, TransportError>> {
        Box::pin(async move {
            let Exchange { up, down } = StreamTransport::open(self, request, connect).await?;
            Ok(Exchange {
                up: Box::new(up) as Box<dyn AnyUp>,
                down: Box::new(down) as Box<dyn AnyDown>,
            })
        })
    }
}

/// An [`Uplink`].
pub(super) trait AnyUp: Send {
    fn send(&mut self, chunk: Bytes) -> Boxed<'_, Result<(), TransportError>>;
    fn close(self: Box<Self>);
}

impl<U: Uplink> AnyUp for U {
    fn send(&mut self, chunk: Bytes) -> Boxed<'_, Result<(), TransportError>> {
        Box::pin(Uplink::send(self, chunk))
    }

    fn close(self: Box<Self>) {
        Uplink::close(*self);
    }
}

/// A [`Downlink`].
pub(super) trait AnyDown: Send {
    fn next(&mut self) -> Boxed<'_, Option<Result<Part, TransportError>>>;
}

impl<D: Downlink> AnyDown for D {
    fn next(&mut self) -> Boxed<'_, Option<Result<Part, TransportError>>> {
        Box::pin(Downlink::next(self))
    }
}
