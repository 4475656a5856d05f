//! A claim store, on whichever runtime.

use std::ops::Range;
use std::panic::AssertUnwindSafe;

use bytes::Bytes;
use futures_util::FutureExt as _;
use pubsink_core::claim::{ClaimError, ClaimRef};
use pubsink_smol::claims::{DirectoryClaims, SmolPool};
use pubsink_tokio::claims::{ClaimStore, Claims, ClaimsUrlError};

use crate::exit::CommandError;

/// A claim store that was opened for the runtime it is used on.
#[derive(Debug)]
pub(crate) enum Store {
    /// A directory or a bucket.
    Tokio(Claims),
    /// A directory.
    Smol(DirectoryClaims<SmolPool>),
}

impl Store {
    /// Opens the store of `--claims` on tokio. Nothing is sent.
    pub(crate) fn on_tokio(url: &str) -> Result<Self, CommandError> {
        opened(pubsink_tokio::claims::open(url)).map(Self::Tokio)
    }

    /// Opens the store of `--claims` on smol. Nothing is sent.
    pub(crate) fn on_smol(url: &str) -> Result<Self, CommandError> {
        opened(pubsink_smol::claims::open(url)).map(Self::Smol)
    }
}

/// What a store answers, or that it panicked: that ends neither a run nor a server.
pub(crate) async fn caught<T>(
    call: impl Future<Output = Result<T, ClaimError>>,
) -> Result<T, ClaimError> {
    let done = AssertUnwindSafe(call).catch_unwind().await;
    done.unwrap_or_else(|_| Err(ClaimError::unavailable("it panicked")))
}

/// Says which flag was wrong.
pub(super) fn opened<S>(store: Result<S, ClaimsUrlError>) -> Result<S, CommandError> {
    store.map_err(|error| CommandError::new("--claims", error))
}

impl ClaimStore for Store {
    async fn check_in(&self, claim: &ClaimRef, body: Bytes) -> Result<(), ClaimError> {
        match self {
            Self::Tokio(store) => store.check_in(claim, body).await,
            Self::Smol(store) => store.check_in(claim, body).await,
        }
    }

    async fn size(&self, claim: &ClaimRef) -> Result<u64, ClaimError> {
        match self {
            Self::Tokio(store) => store.size(claim).await,
            Self::Smol(store) => store.size(claim).await,
        }
    }

    async fn fetch(&self, claim: &ClaimRef, max: u64) -> Result<Bytes, ClaimError> {
        match self {
            Self::Tokio(store) => store.fetch(claim, max).await,
            Self::Smol(store) => store.fetch(claim, max).await,
        }
    }

    async fn fetch_range(&self, claim: &ClaimRef, range: Range<u64>) -> Result<Bytes, ClaimError> {
        match self {
            Self::Tokio(store) => store.fetch_range(claim, range).await,
            Self::Smol(store) => store.fetch_range(claim, range).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::panic, reason = "it is the store's")]
    fn a_store_that_panics_is_unavailable() {
        let broken = async { panic!("a bug") };
        let broken: Result<u64, _> = smol::block_on(caught(broken));
        assert_eq!(broken, Err(ClaimError::unavailable("it panicked")));
        let fine = smol::block_on(caught(async { Ok(1) }));
        assert_eq!(fine, Ok(1));
    }
}
