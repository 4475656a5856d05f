//! The directory: its lock, and its file, created or checked.

use std::any::Any;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use redb::{Database, DatabaseError, ReadableDatabase as _, StorageError, TableError};

use crate::backend::Watched;
use crate::error::OpenError;
use crate::tables::{
    CHECKED_IN, DEAD, FORMAT, HOOKS, LANE_NAMES, LANES, META, ONCE, REPLAYS, ROWS, SHARED, STOPPED,
    meta,
};

const FILE: &str = "journal.redb";
/// The file while it is made: one that was not finished is not taken for a journal.
const NEW_FILE: &str = "journal.redb.new";
const LOCK: &str = "lock";

/// Opens every table but `meta` and those that came later: made by one that writes, looked for by
/// one that reads.
macro_rules! open_tables {
    ($tx:expr) => {
        $tx.open_table(HOOKS)?;
        $tx.open_table(SHARED)?;
        $tx.open_table(ROWS)?;
        $tx.open_table(LANES)?;
        $tx.open_table(LANE_NAMES)?;
        $tx.open_table(DEAD)?;
        $tx.open_table(ONCE)?;
        $tx.open_table(REPLAYS)?;
        $tx.open_table(STOPPED)?;
    };
}

/// Makes the directory this process's own, until the file is dropped.
pub(super) fn lock(dir: &Path) -> Result<File, OpenError> {
    let io = |doing| move |error: io::Error| failed(dir, doing, &error);
    fs::create_dir_all(dir).map_err(io("creating the directory"))?;
    let mut options = OpenOptions::new();
    let options = options.create(true).truncate(false).write(true);
    let file = options.open(dir.join(LOCK));
    let file = file.map_err(io("creating the lock"))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(OpenError::InUse { dir: dir.into() }),
        Err(TryLockError::Error(error)) => Err(failed(dir, "locking it", &error)),
    }
}

/// Opens the file, creating it where there is none.
pub(super) fn database(
    dir: &Path,
    cache_bytes: usize,
    sync_failed: &Arc<AtomicBool>,
) -> Result<Database, OpenError> {
    let path = dir.join(FILE);
    // redb says of most damaged files that they are; of some it panics.
    let opened = catch_unwind(AssertUnwindSafe(|| {
        if !path.exists() {
            create(dir)?;
        }
        let size = fs::metadata(&path).map_err(|e| failed(dir, "reading its file", &e))?;
        if size.len() == 0 {
            return Err(damaged(dir, "its file is empty"));
        }
        let file = OpenOptions::new().read(true).write(true).open(&path);
        let file = file.map_err(|e| failed(dir, "opening its file", &e))?;
        let watched = Watched::new(file, sync_failed.clone());
        let watched = watched.map_err(|error| damaged(dir, error))?;
        let database = Database::builder()
            .set_cache_size(cache_bytes)
            .create_with_backend(watched)
            .map_err(|error| not_opened(dir, error))?;
        check(dir, &database)?;
        complete(dir, &database)?;
        Ok(database)
    }));
    opened.unwrap_or_else(|panic| Err(damaged(dir, words(&*panic))))
}

/// What a panic said.
pub(super) fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "it panicked without words".into())
}

/// Makes an empty journal: under another name, which is changed when it is whole.
fn create(dir: &Path) -> Result<(), OpenError> {
    let new = dir.join(NEW_FILE);
    if new.exists() {
        fs::remove_file(&new).map_err(|e| failed(dir, "removing an unfinished file", &e))?;
    }
    let made = || -> Result<(), redb::Error> {
        let database = Database::builder().create(&new)?;
        let tx = database.begin_write()?;
        tx.open_table(META)?.insert(meta::FORMAT, FORMAT)?;
        open_tables!(tx);
        tx.open_table(CHECKED_IN)?;
        tx.commit()?;
        Ok(())
    };
    made().map_err(|error| match error {
        redb::Error::Io(error) => failed(dir, "creating its file", &error),
        error => damaged(dir, error),
    })?;
    let renamed = fs::rename(&new, dir.join(FILE)).and_then(|()| sync_dir(dir));
    renamed.map_err(|e| failed(dir, "creating its file", &e))
}

/// A name is on the disk when its directory is synced.
fn sync_dir(dir: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(dir)?.sync_all()?;
    }
    Ok(())
}

/// Whether it is a journal that this version knows.
fn check(dir: &Path, database: &Database) -> Result<(), OpenError> {
    let foreign = |detail: &dyn std::fmt::Display| OpenError::Foreign {
        dir: dir.into(),
        detail: detail.to_string().into(),
    };
    let tx = database.begin_read().map_err(|e| damaged(dir, e))?;
    let table = tx.open_table(META).map_err(|error| match error {
        TableError::Storage(error) => damaged(dir, error),
        error => foreign(&error),
    })?;
    let format = table.get(meta::FORMAT).map_err(|e| damaged(dir, e))?;
    let found = format.map(|format| format.value());
    match found {
        Some(FORMAT) => {}
        Some(found) if found > FORMAT => {
            return Err(OpenError::Newer {
                dir: dir.into(),
                found,
                known: FORMAT,
            });
        }
        _ => return Err(foreign(&"it has no format that was ever written")),
    }
    let whole = || -> Result<(), TableError> {
        open_tables!(tx);
        Ok(())
    };
    whole().map_err(|error| damaged(dir, error))
}

/// Makes the table that older files do not have.
fn complete(dir: &Path, database: &Database) -> Result<(), OpenError> {
    let made = || -> Result<(), redb::Error> {
        match database.begin_read()?.open_table(CHECKED_IN) {
            Err(TableError::TableDoesNotExist(_)) => {}
            there => return Ok(there.map(drop)?),
        }
        let tx = database.begin_write()?;
        tx.open_table(CHECKED_IN)?;
        tx.commit()?;
        Ok(())
    };
    made().map_err(|error| match error {
        redb::Error::Io(error) => failed(dir, "completing its file", &error),
        error => damaged(dir, error),
    })
}

fn not_opened(dir: &Path, error: DatabaseError) -> OpenError {
    match error {
        DatabaseError::DatabaseAlreadyOpen | DatabaseError::LockProtocolMismatch => {
            OpenError::InUse { dir: dir.into() }
        }
        DatabaseError::Storage(StorageError::Io(error)) => match error.kind() {
            io::ErrorKind::InvalidData => OpenError::Foreign {
                dir: dir.into(),
                detail: error.to_string().into(),
            },
            io::ErrorKind::UnexpectedEof => damaged(dir, "its file is cut off"),
            _ => failed(dir, "opening its file", &error),
        },
        DatabaseError::UpgradeRequired(_) => OpenError::Foreign {
            dir: dir.into(),
            detail: error.to_string().into(),
        },
        error => damaged(dir, error),
    }
}

fn damaged(dir: &Path, detail: impl std::fmt::Display) -> OpenError {
    OpenError::Damaged {
        dir: dir.into(),
        detail: detail.to_string().into(),
    }
}

fn failed(dir: &Path, doing: &'static str, error: &io::Error) -> OpenError {
    OpenError::Io {
        dir: dir.into(),
        doing,
        kind: error.kind(),
        detail: error.to_string().into(),
    }
}
