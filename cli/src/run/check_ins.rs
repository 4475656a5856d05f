//! Where large bodies are checked in, so many at a time.

use std::sync::Arc;

use bytes::Bytes;
use pubsink_core::claim::{ClaimError, ClaimRef};
use pubsink_tokio::claims::ClaimStore as _;
use smol::lock::{Semaphore, SemaphoreGuard};

use crate::claims::Store;

/// A claim store, and how many bodies go there at once.
#[derive(Debug, Clone)]
pub(super) struct CheckIns(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    store: Store,
    free: Semaphore,
}

/// The right to check one body in.
pub(super) struct Turn<'a> {
    store: &'a Store,
    _one: SemaphoreGuard<'a>,
}

impl CheckIns {
    pub(super) fn new(store: Store, at_once: usize) -> Self {
        Self(Arc::new(Shared {
            store,
            free: Semaphore::new(at_once),
        }))
    }

    /// Waits until there are few enough under way.
    pub(super) async fn turn(&self) -> Turn<'_> {
        Turn {
            _one: self.0.free.acquire().await,
            store: &self.0.store,
        }
    }
}

impl Turn<'_> {
    pub(super) async fn check_in(&self, claim: &ClaimRef, body: Bytes) -> Result<(), ClaimError> {
        self.store.check_in(claim, body).await
    }
}
