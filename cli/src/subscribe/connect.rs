//! A subscription, and a publisher of replies, on each runtime.

use std::sync::Arc;

use pubsink_core::options::PublisherOptions;
use pubsink_core::subscribe::SubscriberOptions;
use pubsink_core::token::Token;
use pubsink_tokio::{CachedTokens, NoToken, TokenProvider, Tokio};
use smol::Executor;
use tokio::runtime::{Builder, Handle};

use super::serving::Serving;
use crate::credentials::Source;
use crate::exit::{CommandError, Exit};

/// What is opened, and what for.
pub(crate) struct Opening {
    pub(super) options: SubscriberOptions,
    pub(super) replies: Option<PublisherOptions>,
    pub(super) tokens: Option<Tokens>,
    pub(super) serving: Serving,
}

/// The tokens that subscription and publisher share.
#[derive(Debug, Clone)]
pub(super) struct Tokens(Arc<CachedTokens<Source>>);

impl Tokens {
    pub(super) fn new(tokens: CachedTokens<Source>) -> Self {
        Self(Arc::new(tokens))
    }
}

impl TokenProvider for Tokens {
    async fn token(&self, refused: Option<Token>) -> Result<Token, NoToken> {
        self.0.token(refused).await
    }
}

pub(crate) fn on_tokio(opening: Opening) -> Result<Exit, CommandError> {
    let Opening {
        options,
        replies,
        tokens,
        serving,
    } = opening;
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| CommandError::new("cannot start the runtime", error))?;
    let done = runtime.block_on(async {
        let client = pubsink_tokio::HttpClient::new();
        let subscription = pubsink_tokio::subscription(options).client(client.clone());
        let subscription = match tokens.clone() {
            Some(tokens) => subscription.tokens(tokens).spawn(),
            None => subscription.spawn(),
        };
        let subscription = subscription.map_err(|error| CommandError(error.to_string()))?;
        let publisher = replies.map(|options| {
            let publisher = pubsink_tokio::publisher(options).transport(client.clone());
            match tokens {
                Some(tokens) => publisher.token_provider(tokens).spawn(),
                None => publisher.spawn(),
            }
        });
        let publisher = publisher.transpose();
        let publisher = publisher.map_err(|error| CommandError(error.to_string()))?;
        let runtime = Tokio::new(Handle::current());
        serving.run(runtime, client, subscription, publisher).await
    });
    // A host name that is still being looked up must not hold up the end.
    runtime.shutdown_background();
    done
}

pub(crate) fn on_smol(opening: Opening) -> Result<Exit, CommandError> {
    let Opening {
        options,
        replies,
        tokens,
        serving,
    } = opening;
    let executor = Arc::new(Executor::new());
    let client = pubsink_smol::HttpClient::new();
    let subscription = pubsink_smol::subscription(options).client(client.clone());
    let subscription = match tokens.clone() {
        Some(tokens) => subscription.tokens(tokens).spawn_on(&executor),
        None => subscription.spawn_on(&executor),
    };
    let subscription = subscription.map_err(|error| CommandError(error.to_string()))?;
    let publisher = replies.map(|options| {
        let publisher = pubsink_smol::publisher(options).transport(client.clone());
        match tokens {
            Some(tokens) => publisher.token_provider(tokens).spawn_on(&executor),
            None => publisher.spawn_on(&executor),
        }
    });
    let publisher = publisher.transpose();
    let publisher = publisher.map_err(|error| CommandError(error.to_string()))?;
    let runtime = pubsink_smol::Smol::from(&executor);
    let serving = serving.run(runtime, client, subscription, publisher);
    smol::block_on(executor.run(serving))
}
