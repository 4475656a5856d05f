//! The constructor a user calls.

use std::fmt;
use std::sync::Arc;

use pubsink_runtime::core::options::{PublisherOptions, Wire};
use pubsink_runtime::core::token::Token;
use pubsink_runtime::seam::{Calls, Runtime as _, StreamTransport, Transport};
use pubsink_runtime::{Publisher, TokenProvider, connect};
use smol::Executor;

use crate::client::HttpClient;
use crate::driver::Driver;
use crate::runtime::Smol;

/// A publisher for `options`, with the default client of its wire and without credentials.
///
/// The default client of gRPC is there with the feature `grpc`.
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
    /// For gRPC; the default client, if any, where there is none.
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
    /// `Http2Client` with settings.
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

    /// Starts the publisher on smol's global executor, from any thread.
    ///
    /// # Errors
    ///
    /// [`NoClient`] without a client for its wire: gRPC needs the feature `grpc`, or a client of
    /// your own.
    pub fn spawn(self) -> Result<Publisher, NoClient> {
        self.spawn_on(Smol::global())
    }

    /// Starts the publisher on an executor of your own: a `&Arc<Executor<'static>>`, which it
    /// does not keep alive, or a `&'static Executor<'static>`.
    ///
    /// It runs while someone runs the executor. When that is dropped, what is left is settled as
    /// failed.
    ///
    /// # Errors
    ///
    /// As [`spawn`](Self::spawn).
    pub fn spawn_on(self, executor: impl Into<Smol>) -> Result<Publisher, NoClient> {
        let runtime = executor.into();
        let (publisher, driver) = self.connect(runtime.clone())?;
        runtime.spawn(driver);
        Ok(publisher)
    }

    /// The publisher, and a driver that runs wherever it is polled: in a local executor, beside
    /// other futures, or in `block_on` on the main thread.
    ///
    /// # Errors
    ///
    /// As [`spawn`](Self::spawn).
    pub fn build(self) -> Result<(Publisher, Driver), NoClient> {
        let executor = Arc::new(Executor::new());
        let (publisher, driver) = self.connect(Smol::from(&executor))?;
        Ok((publisher, Driver::new(executor, driver)))
    }

    fn connect(self, runtime: Smol) -> Result<(Publisher, pubsink_runtime::Driver), NoClient> {
        let seed = self.seed.unwrap_or_else(|| fastrand::u64(..));
        Ok(match self.options.wire() {
            Wire::Rest => connect(self.options, runtime, self.transport, self.tokens, seed),
            Wire::Grpc => {
                let calls = match self.http2 {
                    Some(calls) => calls,
                    None => default_calls(&runtime)?,
                };
                connect(self.options, runtime, calls, self.tokens, seed)
            }
        })
    }
}

/// There is no client for the publisher's wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoClient(());

impl fmt::Display for NoClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "publishing over gRPC needs the feature grpc of pubsink-smol, or a client of your own",
        )
    }
}

impl std::error::Error for NoClient {}

/// Its connections run where the publisher does.
#[cfg(feature = "grpc")]
#[allow(
    clippy::unnecessary_wraps,
    reason = "without the feature there is none"
)]
fn default_calls(runtime: &Smol) -> Result<Calls, NoClient> {
    use crate::http2::{Http2Client, SmolConnector};

    let connector = SmolConnector::on(runtime.clone());
    Ok(Calls::new(
        Http2Client::builder().connector(connector).build(),
    ))
}

#[cfg(not(feature = "grpc"))]
fn default_calls(_: &Smol) -> Result<Calls, NoClient> {
    Err(NoClient(()))
}
