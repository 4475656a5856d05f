//! Where bearer tokens come from.

use std::future::Future;
use std::time::Instant;

use futures_util::lock::Mutex;
use pubsink_core::text::Text;
use pubsink_core::token::{InvalidToken, Token};
use pubsink_core::token_cache::{FetchedToken, TokenCache, TokenStep};

/// Gives the bearer token of a request. Asked once for each request, so it should remember its
/// token: see [`CachedTokens`].
pub trait TokenProvider: Send + Sync + 'static {
    /// A token. `refused` is the one Pub/Sub just refused: a fresh one is wanted then, and the
    /// same one again means there is no other.
    fn token(&self, refused: Option<Token>) -> impl Future<Output = Result<Token, NoToken>> + Send;
}

/// Why there is no token. Shown to operators: it must not contain a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoToken(pub String);

impl From<InvalidToken> for NoToken {
    fn from(invalid: InvalidToken) -> Self {
        Self(invalid.to_string())
    }
}

/// One token for ever.
impl TokenProvider for Token {
    async fn token(&self, _refused: Option<Self>) -> Result<Self, NoToken> {
        Ok(self.clone())
    }
}

/// A provider made of an async function.
#[derive(Debug, Clone)]
pub struct TokenFn<F>(pub F);

impl<F, T> TokenProvider for TokenFn<F>
where
    F: Fn(Option<Token>) -> T + Send + Sync + 'static,
    T: Future<Output = Result<Token, NoToken>> + Send,
{
    async fn token(&self, refused: Option<Token>) -> Result<Token, NoToken> {
        (self.0)(refused).await
    }
}

/// Fetches a new token: from a metadata server, a command, a key.
pub trait TokenSource: Send + Sync + 'static {
    /// A new token.
    fn fetch(&self) -> impl Future<Output = Result<FetchedToken, NoToken>> + Send;
}

/// Remembers the token of a source: it is fetched by one caller at a time, anew minutes before it
/// ends or when it was refused, and at most once a second.
#[derive(Debug)]
pub struct CachedTokens<S> {
    source: S,
    cache: Mutex<TokenCache>,
    now: fn() -> Instant,
}

impl<S: TokenSource> CachedTokens<S> {
    /// Remembers the token of `source`.
    #[must_use]
    pub fn new(source: S) -> Self {
        Self {
            source,
            cache: Mutex::new(TokenCache::new()),
            now: Instant::now,
        }
    }
}

impl<S: TokenSource> TokenProvider for CachedTokens<S> {
    async fn token(&self, refused: Option<Token>) -> Result<Token, NoToken> {
        // Held while fetching: the others wait for the same token.
        let mut cache = self.cache.lock().await;
        let no_token = |detail: Text| NoToken(detail.as_str().to_owned());
        match cache.want((self.now)(), refused.as_ref()) {
            TokenStep::Use(token) => Ok(token),
            TokenStep::Failed(detail) => Err(no_token(detail)),
            TokenStep::Fetch => {
                let fetched = self.source.fetch().await;
                let fetched = fetched.map_err(|NoToken(detail)| Text::from(detail));
                cache.fetched((self.now)(), fetched).map_err(no_token)
            }
        }
    }
}
