//! The file as redb sees it.

use std::fs::File;
use std::io;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use redb::backends::FileBackend;
use redb::{BackendError, StorageBackend};

/// redb's own file, with an eye on its syncs: what a failed one meant to keep may be in memory
/// and not on the disk, however often it is asked again, so nothing may be built on it.
#[derive(Debug)]
pub(crate) struct Watched {
    file: FileBackend,
    sync_failed: Arc<AtomicBool>,
}

impl Watched {
    pub(crate) fn new(file: File, sync_failed: Arc<AtomicBool>) -> Result<Self, redb::Error> {
        let file = FileBackend::new(file)?;
        Ok(Self { file, sync_failed })
    }
}

type Edge = Bound<u64>;

impl StorageBackend for Watched {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        let synced = self.file.sync_data();
        if synced.is_err() {
            self.sync_failed.store(true, Ordering::Release);
        }
        synced
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.file.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.file.close()
    }

    fn try_lock_range(&self, start: Edge, end: Edge) -> Result<bool, BackendError> {
        self.file.try_lock_range(start, end)
    }

    fn try_lock_shared_range(&self, start: Edge, end: Edge) -> Result<bool, BackendError> {
        self.file.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Edge, end: Edge) -> Result<(), BackendError> {
        self.file.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Edge, end: Edge) -> Result<(), BackendError> {
        self.file.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Edge, end: Edge) -> Result<(), BackendError> {
        self.file.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Edge, end: Edge) -> Result<bool, BackendError> {
        self.file.query_lock_range(start, end)
    }
}
