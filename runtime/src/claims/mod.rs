//! Where bodies lie that are too large to travel.
//!
//! - [`ClaimStore`]: what a store is. [`redeem`] is how a consumer gets a body out of one.
//! - [`DirectoryClaims`]: a directory, on any runtime that can [run what blocks](Unblock).
//! - [`MemoryClaims`]: for tests and demonstrations.
//!
//! The runtimes' own crates open one by its URL.

mod directory;
mod files;
mod memory;

use std::future::Future;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
pub use directory::{DirectoryClaims, Unblock};
pub use memory::MemoryClaims;
use pubsink_core::claim::{ClaimError, ClaimRef, verify, verify_size};

/// An object store for bodies, by claim ref. Nothing here ever deletes one.
///
/// Its errors name no credential and no secret part of an address.
pub trait ClaimStore: Send + Sync + 'static {
    /// Checks a body in under its ref. When it returns `Ok`, the body outlives the machine as far
    /// as the store promises that for anything.
    ///
    /// A ref that has this body already is fine: a call whose reply was lost is made again. A ref
    /// that has another body keeps it, and this is a [`ClaimError::Integrity`].
    fn check_in(
        &self,
        claim: &ClaimRef,
        body: Bytes,
    ) -> impl Future<Output = Result<(), ClaimError>> + Send;

    /// The size of what lies under a ref, in bytes.
    fn size(&self, claim: &ClaimRef) -> impl Future<Output = Result<u64, ClaimError>> + Send;

    /// All that lies under a ref, unless it has more than `max` bytes: then it is not read.
    fn fetch(
        &self,
        claim: &ClaimRef,
        max: u64,
    ) -> impl Future<Output = Result<Bytes, ClaimError>> + Send;

    /// A part of what lies under a ref. The part ends where the object does, so one that starts
    /// behind it is empty.
    fn fetch_range(
        &self,
        claim: &ClaimRef,
        range: Range<u64>,
    ) -> impl Future<Output = Result<Bytes, ClaimError>> + Send;
}

/// Redeems a claim: the body, once it is known to be the one that was checked in. `size` and
/// `sha256` are what the message says of it.
///
/// # Errors
///
/// [`ClaimError::TooLarge`] for a body over `max` bytes, before anything is asked of the store;
/// [`ClaimError::Integrity`] where other bytes lie there; and what the store says.
pub async fn redeem(
    store: &impl ClaimStore,
    claim: &ClaimRef,
    size: u64,
    sha256: &str,
    max: u64,
) -> Result<Bytes, ClaimError> {
    if size > max {
        return Err(ClaimError::TooLarge { size, max });
    }
    let body = match store.fetch(claim, size).await {
        // There is more than was checked in.
        Err(ClaimError::TooLarge { size: found, .. }) => {
            verify_size(found, size)?;
            return Err(ClaimError::TooLarge { size: found, max });
        }
        fetched => fetched?,
    };
    verify(&body, size, sha256)?;
    Ok(body)
}

/// A store that somebody else holds, too.
impl<S: ClaimStore> ClaimStore for Arc<S> {
    async fn check_in(&self, claim: &ClaimRef, body: Bytes) -> Result<(), ClaimError> {
        (**self).check_in(claim, body).await
    }

    async fn size(&self, claim: &ClaimRef) -> Result<u64, ClaimError> {
        (**self).size(claim).await
    }

    async fn fetch(&self, claim: &ClaimRef, max: u64) -> Result<Bytes, ClaimError> {
        (**self).fetch(claim, max).await
    }

    async fn fetch_range(&self, claim: &ClaimRef, range: Range<u64>) -> Result<Bytes, ClaimError> {
        (**self).fetch_range(claim, range).await
    }
}

/// A store whose type is forgotten, so that what holds it has none either.
pub(crate) trait AnyClaimStore: Send + Sync {
    fn check_in<'a>(
        &'a self,
        claim: &'a ClaimRef,
        body: Bytes,
    ) -> Pin<Box<dyn Future<Output = Result<(), ClaimError>> + Send + 'a>>;
}

impl<S: ClaimStore> AnyClaimStore for S {
    fn check_in<'a>(
        &'a self,
        claim: &'a ClaimRef,
        body: Bytes,
    ) -> Pin<Box<dyn Future<Output = Result<(), ClaimError>> + Send + 'a>> {
        Box::pin(ClaimStore::check_in(self, claim, body))
    }
}
