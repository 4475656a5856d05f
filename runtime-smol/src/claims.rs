//! Claim stores, by URL: directories.
//!
//! Object stores have no client without tokio: `pubsink-tokio` opens those. docs/claims.md is the
//! page for users.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pubsink_runtime::core::claim::ClaimsUrl;

pub use pubsink_runtime::claims::{ClaimStore, DirectoryClaims, MemoryClaims, Unblock, redeem};
pub use pubsink_runtime::core::claim::ClaimsUrlError;

/// The claim store of a [`ClaimsUrl`] that is a directory: `./claims`, `file:///var/lib/claims`.
/// Nothing is done before it is used.
///
/// # Errors
///
/// [`ClaimsUrlError`]: it is no URL of a store, or it is that of an object store.
pub fn open(url: &str) -> Result<DirectoryClaims<SmolPool>, ClaimsUrlError> {
    match ClaimsUrl::parse(url)? {
        ClaimsUrl::Directory(path) => Ok(DirectoryClaims::new(path, SmolPool)),
        ClaimsUrl::Bucket(bucket) => Err(ClaimsUrlError::NoClient {
            scheme: bucket.provider.scheme(),
            runtime: "smol",
            remedy: "use tokio (--runtime tokio), or a local directory",
        }),
        other => Err(ClaimsUrlError::Scheme {
            scheme: other.to_string().into(),
        }),
    }
}

/// smol's threads for blocking work, on any executor.
#[derive(Debug, Clone, Copy, Default)]
pub struct SmolPool;

impl Unblock for SmolPool {
    async fn unblock<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        // A panic would go on in whoever waits.
        smol::unblock(|| catch_unwind(AssertUnwindSafe(work)).ok()).await
    }
}
