//! Claim stores, by URL.
//!
//! A directory always; S3, Google Cloud Storage and Azure Blob Storage with the feature
//! `object-store`. docs/claims.md is the page for users.

#[cfg(feature = "object-store")]
mod bucket;
#[cfg(feature = "object-store")]
mod check;
#[cfg(feature = "object-store")]
mod connector;
#[cfg(feature = "object-store")]
mod detail;
mod pool;
#[cfg(feature = "object-store")]
mod settings;

use std::ops::Range;

use bytes::Bytes;
use pubsink_runtime::core::claim::{Bucket, ClaimError, ClaimRef, ClaimsUrl};

#[cfg(feature = "object-store")]
pub use bucket::BucketClaims;
#[cfg(feature = "object-store")]
pub use object_store;
pub use pool::TokioPool;
pub use pubsink_runtime::claims::{ClaimStore, DirectoryClaims, MemoryClaims, Unblock, redeem};
pub use pubsink_runtime::core::claim::ClaimsUrlError;

/// The claim store of a [`ClaimsUrl`]: `./claims`, `file:///var/lib/claims`, `s3://bucket/prefix`,
/// `gs://bucket/prefix`, `az://container/prefix`.
///
/// Credentials, accounts and endpoints of a bucket are read from the environment, where the
/// provider's own tools look for them: `AWS_*`, `GOOGLE_*`, `AZURE_*`, as docs/claims.md lists
/// them. Nothing is sent before the store is used.
///
/// # Errors
///
/// [`ClaimsUrlError`]: it is no URL of a store, its settings do not do, or this crate was built
/// without the feature `object-store`.
pub fn open(url: &str) -> Result<Claims, ClaimsUrlError> {
    let settings = std::env::vars_os().filter_map(|(key, value)| {
        let text = |text: std::ffi::OsString| text.into_string().ok();
        Some((text(key)?, text(value)?))
    });
    open_with(url, settings)
}

/// The same with settings by the names they have in the environment, which is not read. What is
/// not a setting of the store is passed over.
///
/// # Errors
///
/// As [`open`].
pub fn open_with(
    url: &str,
    settings: impl IntoIterator<Item = (String, String)>,
) -> Result<Claims, ClaimsUrlError> {
    match ClaimsUrl::parse(url)? {
        ClaimsUrl::Directory(path) => {
            let directory = DirectoryClaims::new(path, TokioPool);
            Ok(Claims(Kind::Directory(directory)))
        }
        ClaimsUrl::Bucket(bucket) => open_bucket(&bucket, settings),
        other => Err(ClaimsUrlError::Scheme {
            scheme: other.to_string().into(),
        }),
    }
}

/// A claim store that was [opened](open) by its URL.
#[derive(Debug)]
pub struct Claims(Kind);

#[derive(Debug)]
enum Kind {
    Directory(DirectoryClaims<TokioPool>),
    #[cfg(feature = "object-store")]
    Bucket(BucketClaims),
}

#[cfg(feature = "object-store")]
fn open_bucket(
    bucket: &Bucket,
    settings: impl IntoIterator<Item = (String, String)>,
) -> Result<Claims, ClaimsUrlError> {
    let store = settings::store_of(bucket, settings)?;
    let claims = BucketClaims::new(store, &bucket.prefix);
    Ok(Claims(Kind::Bucket(claims)))
}

#[cfg(not(feature = "object-store"))]
fn open_bucket(
    bucket: &Bucket,
    _settings: impl IntoIterator<Item = (String, String)>,
) -> Result<Claims, ClaimsUrlError> {
    Err(ClaimsUrlError::NoClient {
        scheme: bucket.provider.scheme(),
        runtime: "this build of pubsink-tokio",
        remedy: "switch its feature object-store on, or use a local directory",
    })
}

impl ClaimStore for Claims {
    async fn check_in(&self, claim: &ClaimRef, body: Bytes) -> Result<(), ClaimError> {
        match &self.0 {
            Kind::Directory(store) => store.check_in(claim, body).await,
            #[cfg(feature = "object-store")]
            Kind::Bucket(store) => store.check_in(claim, body).await,
        }
    }

    async fn size(&self, claim: &ClaimRef) -> Result<u64, ClaimError> {
        match &self.0 {
            Kind::Directory(store) => store.size(claim).await,
            #[cfg(feature = "object-store")]
            Kind::Bucket(store) => store.size(claim).await,
        }
    }

    async fn fetch(&self, claim: &ClaimRef, max: u64) -> Result<Bytes, ClaimError> {
        match &self.0 {
            Kind::Directory(store) => store.fetch(claim, max).await,
            #[cfg(feature = "object-store")]
            Kind::Bucket(store) => store.fetch(claim, max).await,
        }
    }

    async fn fetch_range(&self, claim: &ClaimRef, range: Range<u64>) -> Result<Bytes, ClaimError> {
        match &self.0 {
            Kind::Directory(store) => store.fetch_range(claim, range).await,
            #[cfg(feature = "object-store")]
            Kind::Bucket(store) => store.fetch_range(claim, range).await,
        }
    }
}
