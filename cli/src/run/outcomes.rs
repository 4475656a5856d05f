//! Where outcomes go: lines of JSON.

use std::fs::{self, File, OpenOptions};
use std::io::{self, IsTerminal as _, Read as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use super::level::Level;
use super::progress::Progress;
use super::writer::Writer;
use crate::exit::CommandError;

/// Where outcomes will go: open, and nothing of what is there touched yet.
pub(super) struct Destination {
    file: Option<File>,
    /// Whether what is there is overwritten.
    named: bool,
}

impl Destination {
    /// Opens a file, or standard output for `-`.
    pub(super) fn open(path: Option<&Path>) -> Result<Self, CommandError> {
        let Some(path) = path else {
            return Ok(Self {
                file: None,
                named: false,
            });
        };
        let named = path != Path::new("-");
        let file = if named {
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(false).open(path)
        } else {
            standard_output()
        };
        let file = file.map_err(|error| {
            CommandError::new(format!("cannot write --outcomes {}", path.display()), error)
        })?;
        Ok(Self {
            file: Some(file),
            named,
        })
    }

    pub(super) fn file(&self) -> Option<&File> {
        self.file.as_ref()
    }

    /// Whether they go to a terminal.
    pub(super) fn is_seen(&self) -> bool {
        !self.named && self.file.as_ref().is_some_and(File::is_terminal)
    }

    /// Empties a file that was there before, and starts to write.
    pub(super) fn start(self, progress: &Progress) -> Result<Outcomes, CommandError> {
        let writer = self.file.map(|file| {
            if self.named && file.metadata()?.is_file() {
                file.set_len(0)?;
            }
            io::Result::Ok(Writer::start(file, progress.clone()))
        });
        let writer = writer.transpose();
        Ok(Outcomes {
            writer: writer.map_err(|error| CommandError::new("cannot empty --outcomes", error))?,
            buffer: Vec::new(),
        })
    }
}

/// Standard output as a file of its own: the standard library's passes over some errors.
fn standard_output() -> io::Result<File> {
    let mut file = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let data = file.metadata()?;
    // In place of a closed one the standard library opens /dev/null, for reading too.
    if data.file_type().is_char_device()
        && fs::metadata("/dev/null").is_ok_and(|null| null.rdev() == data.rdev())
        && file.read(&mut [0]).is_ok()
    {
        return Err(io::Error::other(
            "standard output is closed; leave --outcomes out where nobody reads them",
        ));
    }
    Ok(file)
}

/// Outcomes, written in the background.
pub(super) struct Outcomes {
    writer: Option<Writer>,
    /// What was not handed to the writer yet.
    buffer: Vec<u8>,
}

impl Outcomes {
    pub(super) fn is_somewhere(&self) -> bool {
        self.writer.is_some()
    }

    /// Whether some could not be written.
    pub(super) fn is_broken(&self) -> bool {
        self.writer.as_ref().is_some_and(Writer::is_broken)
    }

    pub(super) fn write(&mut self, outcome: &impl Serialize) {
        if self.writer.is_none() || self.is_broken() {
            return;
        }
        // To memory: what cannot fail.
        if serde_json::to_writer(&mut self.buffer, outcome).is_ok() {
            self.buffer.push(b'\n');
        }
    }

    /// Hands all of it to the writer.
    pub(super) fn flush(&mut self) {
        let all = std::mem::take(&mut self.buffer);
        if let Some(writer) = &self.writer
            && !all.is_empty()
        {
            writer.write(all);
        }
    }

    /// What waits to be written, where that is anywhere: while it is full no more should be made.
    pub(super) fn waiting(&self) -> Option<Arc<Level>> {
        self.writer.as_ref().map(Writer::waiting)
    }

    /// Resolves when all that were flushed are written, however long their reader takes.
    pub(super) async fn written(&self) {
        if let Some(writer) = &self.writer {
            writer.end().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_opened_is_named() {
        let error = Destination::open(Some(Path::new("/"))).err().unwrap();
        assert!(
            error.0.starts_with("cannot write --outcomes /: "),
            "{error}"
        );
        let nowhere = Destination::open(None).unwrap();
        assert!(nowhere.file().is_none() && !nowhere.is_seen());
    }
}
