//! The constructor a user calls.

use pubsink_runtime::core::options::PublisherOptions;
use pubsink_runtime::core::token::Token;
use pubsink_runtime::seam::{Runtime, Transport};
use pubsink_runtime::{Publisher, TokenProvider, connect};

use crate::client::HttpClient;
use crate::runtime::Tokio;

/// A publisher for `options`, with the default HTTP client and without credentials.
#[must_use]
pub fn publisher(options: PublisherOptions) -> PublisherBuilder<HttpClient, Token> {
    PublisherBuilder {
        options,
        transport: HttpClient::new(),
        tokens: None,
        seed: None,
    }
}

/// What a publisher is made of beside its options.
#[derive(Debug)]
pub struct PublisherBuilder<T, P> {
    options: PublisherOptions,
    transport: T,
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
            tokens: Some(tokens),
            seed: self.seed,
        }
    }

    /// Sends through `transport`: a client of your own, or an [`HttpClient`] with settings.
    pub fn transport<U: Transport>(self, transport: U) -> PublisherBuilder<U, P> {
        PublisherBuilder {
            options: self.options,
            transport,
            tokens: self.tokens,
            seed: self.seed,
        }
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
        let (publisher, driver) = connect(self.options, runtime, self.transport, self.tokens, seed);
        clone.spawn(driver);
        Ok(publisher)
    }
}

/// There is no tokio runtime here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a publisher has to be spawned inside a tokio runtime")]
pub struct NoRuntime;
