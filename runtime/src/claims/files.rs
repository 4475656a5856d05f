//! Claims as files. Everything here blocks.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use pubsink_core::claim::{ClaimError, ClaimRef, object_key, sha256_hex, verify, verify_size};

/// Where bodies are written before they have their name. No tenant is called so.
const INCOMING: &str = ".incoming";

/// When a file that is still incoming is one that a dead process left: far longer than a body
/// takes to be written, and than clocks of machines that share a directory differ.
const LEFT_BEHIND: Duration = Duration::from_secs(3_600);

/// The claims of a directory.
#[derive(Debug)]
pub(super) struct Files {
    root: PathBuf,
    /// Whether this process has seen to it that the directory is there, and on disk.
    prepared: AtomicBool,
}

impl Files {
    pub(super) fn new(root: PathBuf) -> Self {
        Self {
            // It stays where it is when the process goes elsewhere.
            root: std::path::absolute(&root).unwrap_or(root),
            prepared: AtomicBool::new(false),
        }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn check_in(&self, claim: &ClaimRef, body: &[u8]) -> Result<(), ClaimError> {
        let path = self.path(claim);
        let failed = |error: io::Error| failed(&path, "write", &error);
        let put = match path.try_exists() {
            Ok(true) => Ok(Put::Taken),
            Ok(false) => self.put(&path, body),
            Err(error) => Err(error),
        };
        match put.map_err(failed)? {
            Put::Taken => self.check_same(&path, body)?,
            Put::Done => {}
        }
        // Also where the file was there: whoever has put it there may have died before this.
        sync_directory(&self.root).map_err(failed)?;
        sync_directory(&self.root.join(claim.tenant())).map_err(failed)
    }

    pub(super) fn size(&self, claim: &ClaimRef) -> Result<u64, ClaimError> {
        Ok(self.open(&self.path(claim))?.size)
    }

    pub(super) fn fetch(&self, claim: &ClaimRef, max: u64) -> Result<Bytes, ClaimError> {
        let path = self.path(claim);
        let mut found = self.open(&path)?;
        let size = found.size;
        if size > max {
            return Err(ClaimError::TooLarge { size, max });
        }
        found.read(&path, 0..size)
    }

    pub(super) fn fetch_range(
        &self,
        claim: &ClaimRef,
        range: &Range<u64>,
    ) -> Result<Bytes, ClaimError> {
        let path = self.path(claim);
        let mut found = self.open(&path)?;
        let start = range.start.min(found.size);
        let end = range.end.min(found.size).max(start);
        found.read(&path, start..end)
    }

    fn path(&self, claim: &ClaimRef) -> PathBuf {
        self.root.join(object_key("", claim))
    }

    fn open(&self, path: &Path) -> Result<Found, ClaimError> {
        let opened = fs::metadata(path).and_then(|metadata| match metadata.is_file() {
            true => File::open(path),
            // Opening a pipe would wait for its writer.
            false => Err(io::Error::other("it is not a file")),
        });
        let file = match opened {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(self.not_found()),
            Err(error) => return Err(failed(path, "open", &error)),
        };
        let metadata = file.metadata();
        let size = metadata
            .map_err(|error| failed(path, "open", &error))?
            .len();
        Ok(Found { file, size })
    }

    /// A store that is not there has lost no claims.
    fn not_found(&self) -> ClaimError {
        match self.root.is_dir() {
            true => ClaimError::NotFound,
            false => {
                let root = self.root.display();
                ClaimError::unavailable(format!("there is no directory {root}"))
            }
        }
    }

    /// Whether the body is the one that is there.
    fn check_same(&self, path: &Path, body: &[u8]) -> Result<(), ClaimError> {
        let mut found = match self.open(path) {
            // Removed at this moment, or a link to nothing.
            Err(ClaimError::NotFound) => return Err(failed(path, "read", &gone())),
            found => found?,
        };
        let size = body.len() as u64;
        verify_size(found.size, size)?;
        let there = found.read(path, 0..size)?;
        verify(&there, size, &sha256_hex(body))
    }

    /// Puts a body under a name, unless something has it.
    fn put(&self, path: &Path, body: &[u8]) -> io::Result<Put> {
        if !self.prepared.load(Ordering::Relaxed) {
            self.prepare()?;
        }
        let mut incoming = match Incoming::create(&self.root) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.prepare()?;
                Incoming::create(&self.root)?
            }
            created => created?,
        };
        incoming.file.write_all(body)?;
        incoming.file.sync_all()?;
        if let Some(tenant) = path.parent() {
            match fs::create_dir(tenant) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                made => made?,
            }
        }
        match fs::hard_link(&incoming.path, path) {
            Ok(()) => Ok(Put::Done),
            // Nothing else that is there already is the claim's name.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(Put::Taken),
            Err(error) => Err(io::Error::other(format!(
                "no hard link can be made there: {error}"
            ))),
        }
    }

    /// Makes the directory, and clears away what was left behind in it.
    fn prepare(&self) -> io::Result<()> {
        let incoming = self.root.join(INCOMING);
        let missing = |path: &&Path| !path.exists();
        let made: Vec<&Path> = self.root.ancestors().take_while(missing).collect();
        fs::create_dir_all(&incoming).map_err(|error| at(&incoming, &error))?;
        // The directory's own name too, which another process may have made just now.
        for name in made.into_iter().chain([self.root.as_path()]) {
            match name.parent().map(sync_directory) {
                // Somebody else's, who has made this one for us.
                Some(Err(error)) if error.kind() == ErrorKind::PermissionDenied => {}
                Some(synced) => synced?,
                None => {}
            }
        }
        clear(&incoming)?;
        self.prepared.store(true, Ordering::Relaxed);
        Ok(())
    }
}

/// What became of a body that was to have a name.
enum Put {
    /// It has it.
    Done,
    /// Something else has it.
    Taken,
}

/// A claim that is there.
struct Found {
    file: File,
    size: u64,
}

impl Found {
    /// Reads a part that is within it.
    fn read(&mut self, path: &Path, range: Range<u64>) -> Result<Bytes, ClaimError> {
        let mut read = || -> io::Result<Vec<u8>> {
            let size = range.end - range.start;
            let mut body = Vec::with_capacity(usize::try_from(size).map_err(io::Error::other)?);
            self.file.seek(SeekFrom::Start(range.start))?;
            (&mut self.file).take(size).read_to_end(&mut body)?;
            match body.len() as u64 == size {
                true => Ok(body),
                false => Err(ErrorKind::UnexpectedEof.into()),
            }
        };
        let body = read().map_err(|error| failed(path, "read", &error))?;
        Ok(body.into())
    }
}

/// A body on its way in. Its file is gone when this is.
struct Incoming {
    path: PathBuf,
    file: File,
}

impl Incoming {
    fn create(root: &Path) -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let nanos = since.unwrap_or_default().as_nanos();
        // Processes that share the directory may have one number, in containers of their own.
        let name = format!("{}.{nanos}.{count}", std::process::id());
        let path = root.join(INCOMING).join(name);
        let file = File::create_new(&path).map_err(|error| at(&path, &error))?;
        Ok(Self { path, file })
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        // Where that fails it is cleared away later.
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes what dead processes left behind.
fn clear(incoming: &Path) -> io::Result<()> {
    let now = SystemTime::now();
    for entry in fs::read_dir(incoming)? {
        let entry = entry?;
        let modified = entry.metadata().and_then(|metadata| metadata.modified());
        let age = modified.map(|modified| now.duration_since(modified).unwrap_or_default());
        if age.is_ok_and(|age| age > LEFT_BEHIND) {
            // Another process may have been faster.
            let _ = fs::remove_file(entry.path());
        }
    }
    Ok(())
}

/// Brings the names in a directory to disk.
fn sync_directory(path: &Path) -> io::Result<()> {
    // Elsewhere a directory cannot be opened, and names are the file system's own affair.
    match cfg!(unix) {
        true => File::open(path)?.sync_all(),
        false => Ok(()),
    }
}

fn gone() -> io::Error {
    io::Error::other("its name is taken, but nothing is there")
}

/// The error with the path it is of, where that is not the claim's.
fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn failed(path: &Path, what: &str, error: &io::Error) -> ClaimError {
    ClaimError::unavailable(format!("cannot {what} {}: {error}", path.display()))
}
