//! Claims in memory.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use pubsink_core::claim::{ClaimError, ClaimRef, object_key, sha256_hex, verify};

use super::ClaimStore;

/// Claims in memory, for tests and demonstrations: they are gone with the process, while the
/// messages that name them are not. Clones share what they hold.
#[derive(Clone)]
pub struct MemoryClaims(Arc<Shared>);

struct Shared {
    max_bytes: usize,
    bodies: Mutex<BTreeMap<String, Bytes>>,
}

impl MemoryClaims {
    /// What a store holds at most when nothing is said of it: 256 MiB.
    pub const MAX_BYTES: usize = 256 * 1024 * 1024;

    /// A store for so many bytes of bodies. One that would be more is refused: the store is
    /// unavailable to it.
    #[must_use]
    pub fn new(max_bytes: usize) -> Self {
        Self(Arc::new(Shared {
            max_bytes,
            bodies: Mutex::default(),
        }))
    }

    /// How many claims it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bodies().len()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bodies().is_empty()
    }

    fn bodies(&self) -> MutexGuard<'_, BTreeMap<String, Bytes>> {
        // Nothing is done under the lock that could leave it half done.
        self.0.bodies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, claim: &ClaimRef) -> Result<Bytes, ClaimError> {
        let bodies = self.bodies();
        let body = bodies.get(&object_key("", claim));
        body.cloned().ok_or(ClaimError::NotFound)
    }
}

impl Default for MemoryClaims {
    fn default() -> Self {
        Self::new(Self::MAX_BYTES)
    }
}

impl ClaimStore for MemoryClaims {
    async fn check_in(&self, claim: &ClaimRef, body: Bytes) -> Result<(), ClaimError> {
        let key = object_key("", claim);
        let mut bodies = self.bodies();
        if let Some(found) = bodies.get(&key) {
            return verify(found, body.len() as u64, &sha256_hex(&body));
        }
        let held: usize = bodies.values().map(Bytes::len).sum();
        let max = self.0.max_bytes;
        if held.saturating_add(body.len()) > max {
            return Err(ClaimError::unavailable(format!(
                "it is in memory, and full: it holds {held} bytes of at most {max}"
            )));
        }
        bodies.insert(key, body);
        Ok(())
    }

    async fn size(&self, claim: &ClaimRef) -> Result<u64, ClaimError> {
        Ok(self.find(claim)?.len() as u64)
    }

    async fn fetch(&self, claim: &ClaimRef, max: u64) -> Result<Bytes, ClaimError> {
        let body = self.find(claim)?;
        let size = body.len() as u64;
        match size > max {
            true => Err(ClaimError::TooLarge { size, max }),
            false => Ok(body),
        }
    }

    async fn fetch_range(&self, claim: &ClaimRef, range: Range<u64>) -> Result<Bytes, ClaimError> {
        let body = self.find(claim)?;
        let at = |place: u64| usize::try_from(place).map_or(body.len(), |at| at.min(body.len()));
        let start = at(range.start);
        Ok(body.slice(start..at(range.end).max(start)))
    }
}

impl fmt::Debug for MemoryClaims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryClaims")
            .field("claims", &self.len())
            .field("max_bytes", &self.0.max_bytes)
            .finish()
    }
}
