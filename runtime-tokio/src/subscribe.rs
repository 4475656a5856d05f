//! Subscribing: messages in hand, and the constructor of where they come from.

use pubsink_runtime::TokenProvider;
use pubsink_runtime::core::subscribe::{SubscriberOptions, Wire};
use pubsink_runtime::core::token::Token;
use pubsink_runtime::seam::{Runtime as _, StreamTransport, Transport};
pub use pubsink_runtime::subscribe::*;

use crate::client::HttpClient;
use crate::http2::Http2Client;
use crate::runtime::Tokio;

/// A subscription for `options`, with the default client of its wire and without credentials.
///
/// ```no_run
/// use pubsink_tokio::Tokio;
/// use pubsink_tokio::core::subscribe::{Settlement, SubscriberOptions};
/// use pubsink_tokio::service::{Context, Service};
///
/// async fn print(context: Context) -> Settlement {
///     println!("{}", context.message_id());
///     Settlement::Ack
/// }
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let options = SubscriberOptions::builder("my-project", "hooks-sub").build()?;
/// let service = Service::builder()
///     .subscription(pubsink_tokio::subscription(options).spawn()?, print)
///     .build()?;
/// service.run(Tokio::current()?, 42).await;
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
    /// [`Http2Client`] with settings.
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

    /// Starts the subscription on the tokio runtime this is called in.
    ///
    /// # Errors
    ///
    /// [`ConnectError::NoRuntime`] outside of one.
    pub fn spawn(self) -> Result<Subscription, ConnectError> {
        let runtime = Tokio::current().map_err(|_| ConnectError::NoRuntime)?;
        let seed = self.seed.unwrap_or_else(|| fastrand::u64(..));
        let client = match self.options.wire() {
            Wire::Rest => self.rest.unwrap_or_else(|| Client::rest(HttpClient::new())),
            Wire::Grpc => self
                .grpc
                .unwrap_or_else(|| Client::grpc(Http2Client::new())),
        };
        let (subscription, driver) =
            connect(self.options, client, self.tokens, runtime.clone(), seed)?;
        runtime.spawn(driver);
        Ok(subscription)
    }
}
