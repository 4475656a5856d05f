//! What the tests share.

#[allow(dead_code, reason = "a test runs its main")]
#[path = "../../examples/threads.rs"]
mod threads;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use pubsink_runtime::claims::Unblock;

pub(crate) use threads::{Threads, block_on};

/// Blocks whoever asks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Here;

impl Unblock for Here {
    async fn unblock<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        Some(work())
    }
}

/// A place for a directory that is not there yet, and gone with the test.
pub(crate) struct Place(PathBuf);

impl Place {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("claims-{}-{count}", std::process::id());
        Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
