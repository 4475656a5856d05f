//! The constructor a user calls.

use pubsink_runtime::core::options::{PublisherOptions, Wire};
use pubsink_runtime::core::token::Token;
use pubsink_runtime::seam::{Calls, Runtime, StreamTransport, Transport};
use pubsink_runtime::{Publisher, TokenProvider, connect};

use crate::client::HttpClient;
use crate::http2::Http2Client;
use crate::runtime::Tokio;

/// A publisher for `options`, with the default client of its wire and without credentials.
#[must_use]
pub fn publisher(options: PublisherOptions) -> PublisherBuilder<HttpClient, Token> {
    PublisherBuilder {
        options,
        transport: HttpClient::new(),
        http2: None,
        tokens: None,
        seed: None,
    }
}

/// What a publisher is made of beside its options.
#[derive(Debug)]
pub struct PublisherBuilder<T, P> {
    options: PublisherOptions,
    /// For REST.
    transport: T,
    /// For gRPC; the default client where there is none.
    http2: Option<Calls>,
    tokens: Option<P>,
    seed: Option<u64>,
}

impl<T: Transport, P: TokenProvider> PublisherBuilder<T, P> {
    /// Asks `tokens` for a bearer token before each request. Default: none, and no
    /// `authorization` header, which only an emulator takes.
    pub fn token_provider<Q: TokenProvider>(self, tokens: Q) -> PublisherBuilder<T, Q> {
        PublisherBuilder {
            options: self.options,
            transport: self.transport,
            http2: self.http2,
            tokens: Some(tokens),
            seed: self.seed,
        }
    }

    /// Where the wire is REST, sends through `transport`: a client of your own, or an
    /// [`HttpClient`] with settings.
    pub fn transport<U: Transport>(self, transport: U) -> PublisherBuilder<U, P> {
        PublisherBuilder {
            options: self.options,
            transport,
            http2: self.http2,
            tokens: self.tokens,
            seed: self.seed,
        }
    }

    /// Where the wire is gRPC, sends through `transport`: a client of your own, or an
    /// [`Http2Client`] with settings.
    #[must_use]
    pub fn http2(mut self, transport: impl StreamTransport) -> Self {
        self.http2 = Some(Calls::new(transport));
        self
    }

    /// Makes the pauses of throttled messages the same in every run. Default: by chance.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Starts the publisher on the tokio runtime this is called in.
    ///
    /// # Errors
    ///
    /// [`NoRuntime`] outside of one.
    pub fn spawn(self) -> Result<Publisher, NoRuntime> {
        let runtime = Tokio::current().map_err(|_| NoRuntime)?;
        let seed = self.seed.unwrap_or_else(|| fastrand::u64(..));
        let clone = runtime.clone();
        let (publisher, driver) = match self.options.wire() {
            Wire::Rest => connect(self.options, runtime, self.transport, self.tokens, seed),
            Wire::Grpc => {
                let default = || Calls::new(Http2Client::new());
                let calls = self.http2.unwrap_or_else(default);
                connect(self.options, runtime, calls, self.tokens, seed)
            }
        };
        clone.spawn(driver);
        Ok(publisher)
    }
}

/// There is no tokio runtime here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a publisher has to be spawned inside a tokio runtime")]
pub struct NoRuntime;
