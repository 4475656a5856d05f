//! The open file: created, checked, closed, and opened again when the disk failed.

mod open;

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use redb::Database;

use crate::error::{Fault, OpenError};

/// The file of a journal, which nobody else has.
#[derive(Debug)]
pub(crate) struct Store {
    dir: PathBuf,
    cache_bytes: usize,
    state: RwLock<State>,
    /// The file has to be opened again: redb does nothing more once it met an error of the disk.
    broken: AtomicBool,
    sync_failed: Arc<AtomicBool>,
    lock: Mutex<Option<File>>,
}

#[derive(Debug)]
enum State {
    Open(Database),
    /// It could not be opened again.
    Down(String),
    Closed,
}

impl Store {
    pub(crate) fn open(dir: &Path, cache_bytes: usize) -> Result<Self, OpenError> {
        let lock = open::lock(dir)?;
        let sync_failed = Arc::new(AtomicBool::new(false));
        let database = open::database(dir, cache_bytes, &sync_failed)?;
        Ok(Self {
            dir: dir.to_owned(),
            cache_bytes,
            state: RwLock::new(State::Open(database)),
            broken: AtomicBool::new(false),
            sync_failed,
            lock: Mutex::new(Some(lock)),
        })
    }

    /// Works on the file. A fault of the disk and a panic leave it to be [mended](Self::mend).
    pub(crate) fn with<T>(
        &self,
        work: impl FnOnce(&Database) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let database = match &*state {
            State::Open(database) => database,
            State::Down(why) => return Err(Fault::Down(why.as_str().into())),
            State::Closed => return Err(Fault::Down("the journal is closed".into())),
        };
        let result = catch_unwind(AssertUnwindSafe(|| work(database)));
        let result = result.unwrap_or_else(|panic| Err(Fault::Panicked(open::words(&*panic))));
        if let Err(Fault::Disk(_) | Fault::Panicked(_)) = &result {
            self.broken.store(true, Ordering::Release);
        }
        result
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Acquire)
    }

    /// Opens the file again after a fault. What was not committed is not in it.
    pub(crate) fn mend(&self) -> Result<(), Fault> {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if matches!(*state, State::Closed) {
            return Err(Fault::Down("the journal is closed".into()));
        }
        // Closes the old one first: it holds redb's lock.
        *state = State::Down("the journal is being opened again".into());
        if self.sync_failed.load(Ordering::Acquire) {
            let why = format!(
                "the disk of the journal in {} failed to sync, so what it keeps is not certain; \
                 check the disk, then start the process again",
                self.dir.display()
            );
            *state = State::Down(why.clone());
            return Err(Fault::Down(why.into()));
        }
        match open::database(&self.dir, self.cache_bytes, &self.sync_failed) {
            Ok(database) => {
                *state = State::Open(database);
                self.broken.store(false, Ordering::Release);
                Ok(())
            }
            Err(error) => {
                let why = error.to_string();
                *state = State::Down(why.clone());
                Err(Fault::Down(why.into()))
            }
        }
    }

    /// Closes the file, so that the next one to open it need not check it.
    pub(crate) fn close(&self) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        *state = State::Closed;
        let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        *lock = None;
    }
}
