//! Claims in an object store.

use std::fmt;
use std::future::{Future, poll_fn};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{Error, GetOptions, ObjectStore, ObjectStoreExt as _, PutMode, PutOptions};
use pubsink_runtime::claims::ClaimStore;
use pubsink_runtime::core::claim::{
    ClaimError, ClaimRef, object_key, sha256_hex, verify, verify_size,
};
use tokio::time::timeout;

use super::detail::{claim_error, detail};

/// The most a call takes, with everything: finding credentials, connecting, a second try. A
/// dispatcher stops an attempt after as long, and tries again by itself.
const CALL_MAX: Duration = Duration::from_secs(30);

/// Claims in an object store: `<prefix>/<tenant>/<claim id>`.
///
/// A body is put where nothing is, by a conditional request, so that what lies there is never
/// replaced. A store that has no such requests (`AWS_CONDITIONAL_PUT=disabled`) is looked at
/// first; only there two bodies that are put under one ref at the same moment could replace each
/// other.
pub struct BucketClaims {
    store: Arc<dyn ObjectStore>,
    prefix: String,
}

impl BucketClaims {
    /// The claims of `store` whose names start with `prefix`, for a store that the caller has made
    /// himself. See [`open`](super::open) for one by its URL.
    #[must_use]
    pub fn new(store: impl ObjectStore, prefix: &str) -> Self {
        Self {
            store: Arc::new(store),
            prefix: prefix.to_owned(),
        }
    }

    fn path(&self, claim: &ClaimRef) -> Result<Path, ClaimError> {
        let path = Path::parse(object_key(&self.prefix, claim));
        path.map_err(|error| ClaimError::unavailable(error.to_string()))
    }

    async fn size_of(&self, path: &Path) -> Result<u64, ClaimError> {
        let found = match self.store.head(path).await {
            Ok(found) => return Ok(found.size),
            // The reply to a HEAD does not tell what was not found, claim or bucket.
            Err(Error::NotFound { .. }) => self.store.get_opts(path, GetOptions::default()).await,
            Err(error) => Err(error),
        };
        Ok(found.map_err(|error| claim_error(&error))?.meta.size)
    }

    async fn put(&self, path: &Path, body: Bytes, mode: PutMode) -> Result<(), Error> {
        let options = PutOptions::from(mode);
        let put = self.store.put_opts(path, body.into(), options).await;
        put.map(drop)
    }

    /// Whether the body is the one that lies there.
    async fn check_same(&self, path: &Path, body: &Bytes) -> Result<(), ClaimError> {
        let size = body.len() as u64;
        let found = match self.store.get_opts(path, GetOptions::default()).await {
            // It was refused for one that is gone again, or not there yet.
            Err(Error::NotFound { .. }) => {
                return Err(ClaimError::unavailable(
                    "it refused the body for one that is there, and then had none",
                ));
            }
            found => found.map_err(|error| claim_error(&error))?,
        };
        verify_size(found.meta.size, size)?;
        let found = found.bytes().await.map_err(|error| claim_error(&error))?;
        verify(&found, size, &sha256_hex(body))
    }

    /// Puts a body in a store that cannot refuse it for one that is there.
    async fn put_unless_there(&self, path: &Path, body: Bytes) -> Result<(), ClaimError> {
        let put = match self.store.head(path).await {
            Ok(_) => return self.check_same(path, &body).await,
            Err(Error::NotFound { .. }) => self.put(path, body, PutMode::Overwrite).await,
            Err(error) => Err(error),
        };
        // It is the bucket that was not found.
        put.map_err(|error| ClaimError::unavailable(detail(&error)))
    }
}

impl ClaimStore for BucketClaims {
    async fn check_in(&self, claim: &ClaimRef, body: Bytes) -> Result<(), ClaimError> {
        let path = self.path(claim)?;
        in_time(async {
            match self.put(&path, body.clone(), PutMode::Create).await {
                Ok(()) => Ok(()),
                Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => {
                    self.check_same(&path, &body).await
                }
                Err(Error::NotImplemented { .. }) => self.put_unless_there(&path, body).await,
                // Where it is a `NotFound` it is the bucket's.
                Err(error) => Err(ClaimError::unavailable(detail(&error))),
            }
        })
        .await
    }

    async fn size(&self, claim: &ClaimRef) -> Result<u64, ClaimError> {
        let path = self.path(claim)?;
        in_time(self.size_of(&path)).await
    }

    async fn fetch(&self, claim: &ClaimRef, max: u64) -> Result<Bytes, ClaimError> {
        let path = self.path(claim)?;
        in_time(async {
            let found = self.store.get_opts(&path, GetOptions::default()).await;
            let found = found.map_err(|error| claim_error(&error))?;
            // Its head says so, before a byte of it is read.
            let size = found.meta.size;
            if size > max {
                return Err(ClaimError::TooLarge { size, max });
            }
            let body = found.bytes().await.map_err(|error| claim_error(&error))?;
            match body.len() as u64 == size {
                true => Ok(body),
                false => Err(ClaimError::unavailable("its reply was cut short")),
            }
        })
        .await
    }

    async fn fetch_range(&self, claim: &ClaimRef, range: Range<u64>) -> Result<Bytes, ClaimError> {
        let path = self.path(claim)?;
        in_time(async {
            if range.is_empty() {
                self.size_of(&path).await?;
                return Ok(Bytes::new());
            }
            let part = self.store.get_range(&path, range.clone()).await;
            match part.map_err(|error| claim_error(&error)) {
                // Stores refuse a range that starts behind the end, each in its own way.
                Err(refused @ ClaimError::Unavailable { .. }) => match self.size_of(&path).await {
                    Ok(size) if range.start >= size => Ok(Bytes::new()),
                    _ => Err(refused),
                },
                part => part,
            }
        })
        .await
    }
}

impl fmt::Debug for BucketClaims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // By its Display, since a store's Debug may show its settings.
        f.debug_struct("BucketClaims")
            .field("store", &self.store.to_string())
            .field("prefix", &self.prefix)
            .finish()
    }
}

async fn in_time<T>(call: impl Future<Output = Result<T, ClaimError>>) -> Result<T, ClaimError> {
    let late = || {
        let limit = CALL_MAX.as_secs();
        Err(ClaimError::unavailable(format!(
            "no answer within {limit} s"
        )))
    };
    let answer = timeout(CALL_MAX, without_panic(call)).await;
    answer.unwrap_or_else(|_| late())
}

/// A client that panics, over a credential it was given for one, fails the call and not the
/// program.
async fn without_panic<T>(
    call: impl Future<Output = Result<T, ClaimError>>,
) -> Result<T, ClaimError> {
    let mut call = pin!(call);
    // The call is not gone on with after it, and what it shares is the client's.
    let poll = poll_fn(|context| {
        let polled = catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(context)));
        let panicked = || Err(ClaimError::unavailable("the store's client panicked"));
        polled.unwrap_or_else(|_| Poll::Ready(panicked()))
    });
    poll.await
}
