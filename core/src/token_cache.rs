//! When a token is used again, and when a new one is fetched.

use std::time::{Duration, Instant};

use crate::text::Text;
use crate::token::Token;

/// The least time between two fetches, so that a token service in trouble is asked once a second.
/// One fetch more is made for a token that is refused as soon as it was fetched.
pub const FETCH_PAUSE: Duration = Duration::from_secs(1);

/// A token is fetched anew this long before its end (or half its life, if that is shorter).
/// Google's metadata server caches a token until about then, so that earlier gives the same one.
const REFRESH_BEFORE_END: Duration = Duration::from_secs(240);

/// A token and how long it is good for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedToken {
    /// The token.
    pub token: Token,
    /// How long it is good for, where the source says so. Without it, until it is refused.
    pub expires_in: Option<Duration>,
}

/// Decides between the cached token and a fetch. Holds one token and no clock.
#[derive(Debug, Default)]
pub struct TokenCache {
    cached: Option<Cached>,
    last_fetch: Option<Instant>,
    /// When one was fetched last because the one before was refused.
    last_refused: Option<Instant>,
    last_error: Option<Text>,
}

#[derive(Debug)]
struct Cached {
    token: Token,
    refresh_at: Option<Instant>,
    ends_at: Option<Instant>,
}

impl Cached {
    fn lasts(&self, now: Instant) -> bool {
        self.ends_at.is_none_or(|end| now < end)
    }
}

/// What to do for a token.
#[derive(Debug, PartialEq, Eq)]
pub enum TokenStep {
    /// Use this one.
    Use(Token),
    /// Fetch one; tell [`TokenCache::fetched`].
    Fetch,
    /// There is none: the last fetch failed a moment ago.
    Failed(Text),
}

impl TokenCache {
    /// An empty cache.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A token is wanted; `refused` is one that was refused, if any.
    pub fn want(&mut self, now: Instant, refused: Option<&Token>) -> TokenStep {
        let lately = |at: Option<Instant>| at.is_some_and(|at| now < at + FETCH_PAUSE);
        let paused = lately(self.last_fetch);
        let mut is_refused = false;
        if let Some(cached) = self.cached.as_ref().filter(|cached| cached.lasts(now)) {
            is_refused = Some(&cached.token) == refused;
            let fresh = cached.refresh_at.is_none_or(|at| now < at);
            // The source was asked for another a moment ago, and has no other than this.
            let only = self.last_error.is_none() && lately(self.last_refused);
            if paused && is_refused && only || !is_refused && (fresh || paused) {
                return TokenStep::Use(cached.token.clone());
            }
        }
        let refused_at_once = is_refused && self.last_error.is_none();
        if paused && !refused_at_once {
            let ended = || Text::new("the last token is over, and was fetched a moment ago");
            return TokenStep::Failed(self.last_error.clone().unwrap_or_else(ended));
        }
        if is_refused {
            self.cached = None;
            self.last_refused = Some(now);
        }
        // Counted from its start, so that a fetch that is cut off counts too.
        self.last_fetch = Some(now);
        TokenStep::Fetch
    }

    /// A fetch ended; what to use now. A token that was to be replaced early is used on while it
    /// lasts.
    ///
    /// # Errors
    ///
    /// Why there is no token.
    pub fn fetched(
        &mut self,
        now: Instant,
        result: Result<FetchedToken, Text>,
    ) -> Result<Token, Text> {
        self.last_fetch = Some(now);
        match result {
            Ok(FetchedToken { token, expires_in }) => {
                self.last_error = None;
                let at = |after: Duration| now.checked_add(after);
                let early = |life: Duration| life.saturating_sub(REFRESH_BEFORE_END.min(life / 2));
                self.cached = Some(Cached {
                    token: token.clone(),
                    refresh_at: expires_in.and_then(|life| at(early(life))),
                    ends_at: expires_in.and_then(at),
                });
                Ok(token)
            }
            Err(error) => {
                self.last_error = Some(error.clone());
                self.cached.take_if(|cached| !cached.lasts(now));
                self.cached
                    .as_ref()
                    .map(|cached| cached.token.clone())
                    .ok_or(error)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: fn(u64) -> Duration = Duration::from_secs;

    #[expect(clippy::disallowed_methods, reason = "time has to begin somewhere")]
    fn origin() -> Instant {
        Instant::now()
    }

    fn token(text: &str) -> Token {
        Token::new(text).unwrap()
    }

    fn fetched(text: &str, expires_in: Option<u64>) -> Result<FetchedToken, Text> {
        Ok(FetchedToken {
            token: token(text),
            expires_in: expires_in.map(S),
        })
    }

    #[test]
    fn a_token_is_used_until_minutes_before_its_end() {
        let start = origin();
        let mut cache = TokenCache::new();
        assert_eq!(cache.want(start, None), TokenStep::Fetch);
        let _ = cache.fetched(start, fetched("a", Some(3_600)));
        assert_eq!(
            cache.want(start + S(3_359), None),
            TokenStep::Use(token("a"))
        );
        assert_eq!(cache.want(start + S(3_360), None), TokenStep::Fetch);
        let _ = cache.fetched(start + S(3_360), fetched("b", Some(60)));
        assert_eq!(
            cache.want(start + S(3_389), None),
            TokenStep::Use(token("b"))
        );
        assert_eq!(cache.want(start + S(3_390), None), TokenStep::Fetch);
    }

    #[test]
    fn a_refused_token_is_fetched_anew_at_most_once_a_second() {
        let start = origin();
        let mut cache = TokenCache::new();
        cache.want(start, None);
        let _ = cache.fetched(start, fetched("a", None));
        let a = token("a");
        assert_eq!(cache.want(start + S(10), Some(&a)), TokenStep::Fetch);
        let _ = cache.fetched(start + S(10), fetched("a", None));
        assert_eq!(
            cache.want(start + S(10), Some(&a)),
            TokenStep::Use(a.clone())
        );
        assert_eq!(cache.want(start + S(11), Some(&a)), TokenStep::Fetch);
        let _ = cache.fetched(start + S(11), fetched("b", None));
        assert_eq!(
            cache.want(start + S(11), Some(&a)),
            TokenStep::Use(token("b"))
        );
    }

    #[test]
    fn a_failed_fetch_is_repeated_at_most_once_a_second() {
        let start = origin();
        let mut cache = TokenCache::new();
        assert_eq!(cache.want(start, None), TokenStep::Fetch);
        let _ = cache.fetched(start, Err("down".into()));
        assert_eq!(cache.want(start, None), TokenStep::Failed("down".into()));
        assert_eq!(cache.want(start + S(1), None), TokenStep::Fetch);
        let _ = cache.fetched(start + S(1), fetched("a", None));
        assert_eq!(cache.want(start + S(2), None), TokenStep::Use(token("a")));
    }

    #[test]
    fn a_token_that_still_lasts_outlives_a_failed_refresh() {
        let start = origin();
        let mut cache = TokenCache::new();
        cache.want(start, None);
        let _ = cache.fetched(start, fetched("a", Some(3_600)));
        assert_eq!(cache.want(start + S(3_400), None), TokenStep::Fetch);
        assert_eq!(
            cache.fetched(start + S(3_400), Err("down".into())),
            Ok(token("a"))
        );
        assert_eq!(
            cache.want(start + S(3_400), None),
            TokenStep::Use(token("a"))
        );
        assert_eq!(cache.want(start + S(3_600), None), TokenStep::Fetch);
        assert_eq!(
            cache.fetched(start + S(3_600), Err("down".into())),
            Err("down".into())
        );
    }

    #[test]
    fn a_token_that_is_over_is_never_used_while_the_service_is_down() {
        let start = origin();
        let mut cache = TokenCache::new();
        cache.want(start, None);
        let _ = cache.fetched(start, fetched("a", Some(3_600)));
        let late = start + Duration::from_millis(3_599_500);
        assert_eq!(cache.want(late, None), TokenStep::Fetch);
        assert_eq!(cache.fetched(late, Err("down".into())), Ok(token("a")));
        let over = start + Duration::from_millis(3_600_400);
        let down = TokenStep::Failed("down".into());
        assert_eq!(cache.want(over, None), down);
        assert_eq!(cache.want(over, Some(&token("a"))), down);
    }

    #[test]
    fn a_token_that_is_refused_while_the_service_is_down_is_not_given_again() {
        let start = origin();
        let mut cache = TokenCache::new();
        cache.want(start, None);
        let _ = cache.fetched(start, fetched("a", Some(3_600)));
        assert_eq!(cache.want(start + S(3_400), None), TokenStep::Fetch);
        let _ = cache.fetched(start + S(3_400), Err("down".into()));
        let refused = cache.want(start + S(3_400), Some(&token("a")));
        assert_eq!(refused, TokenStep::Failed("down".into()));
    }

    #[test]
    fn a_token_that_is_refused_as_soon_as_it_was_fetched_is_fetched_once_more() {
        let start = origin();
        let mut cache = TokenCache::new();
        cache.want(start, None);
        let _ = cache.fetched(start, fetched("stale", None));
        let refused = token("stale");
        assert_eq!(cache.want(start, Some(&refused)), TokenStep::Fetch);
        let _ = cache.fetched(start, fetched("b", None));
        assert_eq!(
            cache.want(start, Some(&refused)),
            TokenStep::Use(token("b"))
        );
        // But not again and again.
        assert_eq!(
            cache.want(start, Some(&token("b"))),
            TokenStep::Use(token("b"))
        );
        assert_eq!(
            cache.want(start + S(1), Some(&token("b"))),
            TokenStep::Fetch
        );
    }

    #[test]
    fn a_token_that_is_over_at_once_is_fetched_once_a_second() {
        let start = origin();
        let mut cache = TokenCache::new();
        cache.want(start, None);
        assert_eq!(cache.fetched(start, fetched("a", Some(0))), Ok(token("a")));
        assert!(matches!(cache.want(start, None), TokenStep::Failed(_)));
        assert_eq!(cache.want(start + S(1), None), TokenStep::Fetch);
    }
}
