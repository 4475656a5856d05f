//! Transports, token providers and claim stores whose type is forgotten, so that one case can hand any of them
//! to any runtime.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{Request, Response};
use pubsink_core::claim::{ClaimError, ClaimRef};
use pubsink_core::token::Token;
use pubsink_runtime::claims::ClaimStore;
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

/// Any claim store.
#[derive(Clone)]
pub(crate) struct AnyClaims(Arc<dyn DynClaims>);

type Held<'a, T> = BoxFuture<'a, Result<T, ClaimError>>;

trait DynClaims: Send + Sync {
    fn check_in<'a>(&'a self, claim: &'a ClaimRef, body: Bytes) -> Held<'a, ()>;
    fn size<'a>(&'a self, claim: &'a ClaimRef) -> Held<'a, u64>;
    fn fetch<'a>(&'a self, claim: &'a ClaimRef, max: u64) -> Held<'a, Bytes>;
    fn fetch_range<'a>(&'a self, claim: &'a ClaimRef, range: Range<u64>) -> Held<'a, Bytes>;
}

impl<S: ClaimStore> DynClaims for S {
    fn check_in<'a>(&'a self, claim: &'a ClaimRef, body: Bytes) -> Held<'a, ()> {
        Box::pin(ClaimStore::check_in(self, claim, body))
    }

    fn size<'a>(&'a self, claim: &'a ClaimRef) -> Held<'a, u64> {
        Box::pin(ClaimStore::size(self, claim))
    }

    fn fetch<'a>(&'a self, claim: &'a ClaimRef, max: u64) -> Held<'a, Bytes> {
        Box::pin(ClaimStore::fetch(self, claim, max))
    }

    fn fetch_range<'a>(&'a self, claim: &'a ClaimRef, range: Range<u64>) -> Held<'a, Bytes> {
        Box::pin(ClaimStore::fetch_range(self, claim, range))
    }
}

impl AnyClaims {
    pub(crate) fn new(claims: impl ClaimStore) -> Self {
        Self(Arc::new(claims))
    }
}

impl ClaimStore for AnyClaims {
    async fn check_in(&self, claim: &ClaimRef, body: Bytes) -> Result<(), ClaimError> {
        self.0.check_in(claim, body).await
    }

    async fn size(&self, claim: &ClaimRef) -> Result<u64, ClaimError> {
        self.0.size(claim).await
    }

    async fn fetch(&self, claim: &ClaimRef, max: u64) -> Result<Bytes, ClaimError> {
        self.0.fetch(claim, max).await
    }

    async fn fetch_range(&self, claim: &ClaimRef, range: Range<u64>) -> Result<Bytes, ClaimError> {
        self.0.fetch_range(claim, range).await
    }
}
