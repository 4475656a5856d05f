//! The constructor a user calls.

use std::sync::Arc;

use pubsink_runtime::core::options::PublisherOptions;
use pubsink_runtime::core::token::Token;
use pubsink_runtime::seam::{Runtime as _, Transport};
use pubsink_runtime::{Publisher, TokenProvider, connect};
use smol::Executor;

use crate::client::HttpClient;
use crate::driver::Driver;
use crate::runtime::Smol;

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

    /// Starts the publisher on smol's global executor, from any thread.
    #[must_use]
    pub fn spawn(self) -> Publisher {
        self.spawn_on(Smol::global())
    }

    /// Starts the publisher on an executor of your own: a `&Arc<Executor<'static>>`, which it
    /// does not keep alive, or a `&'static Executor<'static>`.
    ///
    /// It runs while someone runs the executor. When that is dropped, what is left is settled as
    /// failed.
    #[must_use]
    pub fn spawn_on(self, executor: impl Into<Smol>) -> Publisher {
        let runtime = executor.into();
        let seed = seed_or_chance(self.seed);
        let clone = runtime.clone();
        let (publisher, driver) = connect(self.options, runtime, self.transport, self.tokens, seed);
        clone.spawn(driver);
        publisher
    }

    /// The publisher, and a driver that runs wherever it is polled: in a local executor, beside
    /// other futures, or in `block_on` on the main thread.
    pub fn build(self) -> (Publisher, Driver) {
        let executor = Arc::new(Executor::new());
        let runtime = Smol::from(&executor);
        let seed = seed_or_chance(self.seed);
        let (publisher, driver) = connect(self.options, runtime, self.transport, self.tokens, seed);
        (publisher, Driver::new(executor, driver))
    }
}

fn seed_or_chance(seed: Option<u64>) -> u64 {
    seed.unwrap_or_else(|| fastrand::u64(..))
}
