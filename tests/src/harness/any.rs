//! Transports and token providers whose type is forgotten, so that one case can hand any of them
//! to any runtime.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{Request, Response};
use pubsink_core::token::Token;
use pubsink_runtime::seam::{SendLimits, Transport, TransportError};
use pubsink_runtime::{NoToken, TokenProvider};

pub(crate) type Sent = Result<Response<Bytes>, TransportError>;

/// Any transport.
#[derive(Clone)]
pub(crate) struct AnyTransport(Arc<dyn DynTransport>);

trait DynTransport: Send + Sync {
    fn send(&self, request: Request<Bytes>, limits: SendLimits) -> BoxFuture<'_, Sent>;
}

impl<T: Transport> DynTransport for T {
    fn send(&self, request: Request<Bytes>, limits: SendLimits) -> BoxFuture<'_, Sent> {
        Box::pin(Transport::send(self, request, limits))
    }
}

impl AnyTransport {
    pub(crate) fn new(transport: impl Transport) -> Self {
        Self(Arc::new(transport))
    }
}

impl Transport for AnyTransport {
    async fn send(&self, request: Request<Bytes>, limits: SendLimits) -> Sent {
        self.0.send(request, limits).await
    }
}

/// Any token provider.
#[derive(Clone)]
pub(crate) struct AnyTokens(Arc<dyn DynTokens>);

type Given = Result<Token, NoToken>;

trait DynTokens: Send + Sync {
    fn token(&self, refused: Option<Token>) -> BoxFuture<'_, Given>;
}

impl<P: TokenProvider> DynTokens for P {
    fn token(&self, refused: Option<Token>) -> BoxFuture<'_, Given> {
        Box::pin(TokenProvider::token(self, refused))
    }
}

impl AnyTokens {
    pub(crate) fn new(tokens: impl TokenProvider) -> Self {
        Self(Arc::new(tokens))
    }
}

impl TokenProvider for AnyTokens {
    async fn token(&self, refused: Option<Token>) -> Given {
        self.0.token(refused).await
    }
}
