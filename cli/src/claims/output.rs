//! A file that has all of a body, or is as it was.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

/// Writes a body; `-` is standard output.
pub(super) fn write(output: &Path, body: &[u8]) -> io::Result<()> {
    if output == Path::new("-") {
        let mut out = io::stdout();
        out.write_all(body)?;
        return out.flush();
    }
    // A link stays one.
    let path = match output.canonicalize() {
        Err(error) if error.kind() == ErrorKind::NotFound => output.to_owned(),
        path => path?,
    };
    let there = match fs::metadata(&path) {
        Ok(there) if there.is_file() => Some(there),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        // A pipe or a device has no other place.
        Ok(_) => return fs::write(&path, body),
        Err(error) => return Err(error),
    };
    let mut beside = Beside::create(&path)?;
    if let Some(there) = there {
        beside.file.set_permissions(there.permissions())?;
    }
    beside.file.write_all(body)?;
    beside.file.sync_all()?;
    fs::rename(&beside.path, &path)
}

/// A file in the same directory. What still has its name in the end is removed.
struct Beside {
    file: File,
    path: PathBuf,
}

impl Beside {
    fn create(path: &Path) -> io::Result<Self> {
        let name = path.file_name().ok_or(ErrorKind::InvalidInput)?;
        let mut own = OsString::from(".");
        own.push(name);
        own.push(format!(".{}.part", std::process::id()));
        let path = path.with_file_name(own);
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path)?;
        Ok(Self { file, path })
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
