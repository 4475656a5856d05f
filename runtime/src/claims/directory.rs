//! Claims in a directory, on any runtime.

use std::fmt;
use std::future::Future;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use pubsink_core::claim::{ClaimError, ClaimRef};

use super::ClaimStore;
use super::files::Files;

/// Runs what blocks, beside a runtime's tasks: its pool of threads.
pub trait Unblock: Send + Sync + 'static {
    /// Runs `work`, and gives what it returns: `None` where it was not run to its end. It may go
    /// on when the future is dropped.
    fn unblock<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> impl Future<Output = Option<T>> + Send;
}

/// Claims as files of a directory: `<directory>/<tenant>/<claim id>`.
///
/// - What was checked in is on disk: the file and the directories it is named in are synced
///   before the answer.
/// - A file is there with all its bytes or not at all, whoever reads and whenever a process is
///   killed, and is never replaced. Several processes may share the directory.
/// - The directory is made when the first body is checked in. Where it is missing when a body is
///   asked for, the store is unavailable: a volume that is not mounted has lost no claims.
/// - The file system needs hard links, as every local one of Unix has, and has to tell names apart
///   by their case where tenants do.
///
/// A body is written as a file of `<directory>/.incoming` first, where a kill may leave it. Such
/// files are removed when they are an hour old, by the next process that checks in.
pub struct DirectoryClaims<U> {
    files: Arc<Files>,
    pool: U,
}

impl<U: Unblock> DirectoryClaims<U> {
    /// The store in `directory`. Nothing is done before it is used.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>, pool: U) -> Self {
        Self {
            files: Arc::new(Files::new(directory.into())),
            pool,
        }
    }

    /// Its directory.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.files.root()
    }

    async fn run<T: Send + 'static>(
        &self,
        claim: &ClaimRef,
        work: impl FnOnce(&Files, &ClaimRef) -> Result<T, ClaimError> + Send + 'static,
    ) -> Result<T, ClaimError> {
        let files = Arc::clone(&self.files);
        let claim = claim.clone();
        let done = self.pool.unblock(move || work(&files, &claim)).await;
        let broken = || Err(ClaimError::unavailable("its runtime did not run the call"));
        done.unwrap_or_else(broken)
    }
}

impl<U: Unblock> ClaimStore for DirectoryClaims<U> {
    async fn check_in(&self, claim: &ClaimRef, body: Bytes) -> Result<(), ClaimError> {
        self.run(claim, move |files, claim| files.check_in(claim, &body))
            .await
    }

    async fn size(&self, claim: &ClaimRef) -> Result<u64, ClaimError> {
        self.run(claim, Files::size).await
    }

    async fn fetch(&self, claim: &ClaimRef, max: u64) -> Result<Bytes, ClaimError> {
        self.run(claim, move |files, claim| files.fetch(claim, max))
            .await
    }

    async fn fetch_range(&self, claim: &ClaimRef, range: Range<u64>) -> Result<Bytes, ClaimError> {
        self.run(claim, move |files, claim| files.fetch_range(claim, &range))
            .await
    }
}

impl<U> fmt::Debug for DirectoryClaims<U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DirectoryClaims")
            .field(&self.files.root())
            .finish()
    }
}
