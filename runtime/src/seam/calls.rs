//! Calls over gRPC for a publisher.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Request, Response};

use super::{Answer, SendLimits, StreamTransport, Transport, TransportError};

/// The headers after the body of a response, in its [extensions](Response::extensions). Over gRPC
/// they say what became of the request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trailers(pub HeaderMap);

/// What a publisher over gRPC sends with: the calls of a [`StreamTransport`] as a [`Transport`],
/// whose responses carry their [`Trailers`].
///
/// The client's type is forgotten: it is asked once a request, which a box is nothing beside.
#[derive(Clone)]
pub struct Calls(Arc<dyn AnyCalls>);

impl Calls {
    /// The calls of `transport`.
    #[must_use]
    pub fn new(transport: impl StreamTransport) -> Self {
        Self(Arc::new(transport))
    }
}

impl Transport for Calls {
    async fn send(
        &self,
        request: Request<Bytes>,
        limits: SendLimits,
    ) -> Result<Response<Bytes>, TransportError> {
        let Answer {
            mut parts,
            body,
            trailers,
        } = self.0.call(request, limits).await?;
        parts.extensions.insert(Trailers(trailers));
        Ok(Response::from_parts(parts, body))
    }
}

impl fmt::Debug for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Calls")
    }
}

type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

trait AnyCalls: Send + Sync {
    fn call(
        &self,
        request: Request<Bytes>,
        limits: SendLimits,
    ) -> Boxed<'_, Result<Answer, TransportError>>;
}

impl<S: StreamTransport> AnyCalls for S {
    fn call(
        &self,
        request: Request<Bytes>,
        limits: SendLimits,
    ) -> Boxed<'_, Result<Answer, TransportError>> {
        Box::pin(StreamTransport::call(self, request, limits))
    }
}
