//! Subscribing: messages in hand, and the constructor of where they come from.

use std::sync::Arc;

use pubsink_runtime::TokenProvider;
use pubsink_runtime::core::subscribe::{SubscriberOptions, Wire};
use pubsink_runtime::core::token::Token;
use pubsink_runtime::seam::{Runtime as _, StreamTransport, Transport};
pub use pubsink_runtime::subscribe::*;
use smol::Executor;

use crate::client::HttpClient;
use crate::driver::Driver;
use crate::runtime::Smol;

/// A subscription for `options`, with the default client of its wire and without credentials.
///
/// The default client of gRPC is there with the feature `grpc`.
///
/// ```no_run
/// use pubsink_smol::Smol;
/// use pubsink_smol::core::subscribe::{Settlement, SubscriberOptions, Wire};
/// use pubsink_smol::service::{Context, Service};
///
/// async fn print(context: Context) -> Settlement {
///     println!("{}", context.message_id());
///     Settlement::Ack
/// }
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let options = SubscriberOptions::builder("my-project", "hooks-sub").wire(Wire::Rest).build()?;
/// let service = Service::builder()
///     .subscription(pubsink_smol::subscription(options).spawn()?, print)
///     .build()?;
/// service.run(Smol::global(), 42).await;
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn subscription(options: SubscriberOptions) -> SubscriptionBuilder<Token> {
    SubscriptionBuilder {
        options,
        rest: None,
        grpc: None,
        tokens: None,
        seed: None,
    }
}

/// What a subscription is made of beside its options.
#[derive(Debug)]
pub struct SubscriptionBuilder<P> {
    options: SubscriberOptions,
    rest: Option<Client>,
    grpc: Option<Client>,
    tokens: Option<P>,
    seed: Option<u64>,
}

impl<P: TokenProvider> SubscriptionBuilder<P> {
    /// Asks `tokens` for a bearer token before each call and stream. Default: none, and no
    /// `authorization` header, which only an emulator takes.
    pub fn tokens<Q: TokenProvider>(self, tokens: Q) -> SubscriptionBuilder<Q> {
        SubscriptionBuilder {
            options: self.options,
            rest: self.rest,
            grpc: self.grpc,
            tokens: Some(tokens),
            seed: self.seed,
        }
    }

    /// Where the wire is REST, sends through `transport`: a client of your own, or an
    /// [`HttpClient`] with settings.
    #[must_use]
    pub fn client(mut self, transport: impl Transport) -> Self {
        self.rest = Some(Client::rest(transport));
        self
    }

    /// Where the wire is gRPC, sends through `transport`: a client of your own, or an
    /// `Http2Client` with settings.
    #[must_use]
    pub fn http2(mut self, transport: impl StreamTransport) -> Self {
        self.grpc = Some(Client::grpc(transport));
        self
    }

    /// Makes the pauses after failures the same in every run, and the id by which Pub/Sub knows
    /// its streams. Default: by chance.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Starts the subscription on smol's global executor, from any thread.
    ///
    /// # Errors
    ///
    /// [`ConnectError::Client`] without a client for its wire: gRPC needs the feature `grpc`, or
    /// a client of your own.
    pub fn spawn(self) -> Result<Subscription, ConnectError> {
        self.spawn_on(Smol::global())
    }

    /// Starts the subscription on an executor of your own: a `&Arc<Executor<'static>>`, which it
    /// does not keep alive, or a `&'static Executor<'static>`.
    ///
    /// It runs while someone runs the executor. When that is dropped, whoever waits is told.
    ///
    /// # Errors
    ///
    /// As [`spawn`](Self::spawn).
    pub fn spawn_on(self, executor: impl Into<Smol>) -> Result<Subscription, ConnectError> {
        let runtime = executor.into();
        let (subscription, driver) = self.connect(runtime.clone())?;
        runtime.spawn(driver);
        Ok(subscription)
    }

    /// The subscription, and a driver that runs wherever it is polled: in a local executor,
    /// beside other futures, or in `block_on` on the main thread.
    ///
    /// # Errors
    ///
    /// As [`spawn`](Self::spawn).
    pub fn build(self) -> Result<(Subscription, Driver), ConnectError> {
        let executor = Arc::new(Executor::new());
        let (subscription, driver) = self.connect(Smol::from(&executor))?;
        Ok((subscription, Driver::new(executor, driver)))
    }

    fn connect(
        self,
        runtime: Smol,
    ) -> Result<(Subscription, pubsink_runtime::Driver), ConnectError> {
        let seed = self.seed.unwrap_or_else(|| fastrand::u64(..));
        let client = match self.options.wire() {
            Wire::Rest => self.rest.unwrap_or_else(|| Client::rest(HttpClient::new())),
            Wire::Grpc => match self.grpc {
                Some(client) => client,
                None => default_grpc(&runtime)?,
            },
        };
        connect(self.options, client, self.tokens, runtime, seed)
    }
}

/// Its connections run where the subscription does.
#[cfg(feature = "grpc")]
#[allow(
    clippy::unnecessary_wraps,
    reason = "without the feature there is none"
)]
fn default_grpc(runtime: &Smol) -> Result<Client, ConnectError> {
    use crate::http2::{Http2Client, SmolConnector};

    let connector = SmolConnector::on(runtime.clone());
    Ok(Client::grpc(
        Http2Client::builder().connector(connector).build(),
    ))
}

#[cfg(not(feature = "grpc"))]
fn default_grpc(_: &Smol) -> Result<Client, ConnectError> {
    Err(ConnectError::Client(Wire::Grpc))
}
