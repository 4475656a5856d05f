//! Where failed hooks are kept: lines that `publish` reads again.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use pubsink_core::envelope::Envelope;
use pubsink_core::envelope_line;
use pubsink_core::failure::Failure;
use serde::Serialize;

use super::report::unix_ms;
use crate::exit::CommandError;

/// Where failed hooks are kept: lines that `publish` reads again.
pub(super) struct DeadLetters {
    file: Option<File>,
    pub(super) broken: bool,
}

impl DeadLetters {
    pub(super) fn open(path: Option<&Path>) -> Result<Self, CommandError> {
        let file = path.map(|path| {
            let what = || format!("cannot write --dead-letters {}", path.display());
            append(path).map_err(|error| CommandError::new(what(), error))
        });
        Ok(Self {
            file: file.transpose()?,
            broken: false,
        })
    }

    /// A hook, with what became of it under a key that the input format passes over.
    pub(super) fn hook(
        &mut self,
        line: u64,
        envelope: &Envelope,
        failure: &Failure,
        attempts: u32,
    ) -> io::Result<()> {
        if self.file.is_none() {
            return Ok(());
        }
        let about = serde_json::to_string(&About {
            line,
            failure,
            attempts,
            failed_at: unix_ms(),
        })?;
        // Before the closing brace of the hook's own line.
        let hook = envelope_line::to_line(envelope);
        let hook = hook.strip_suffix('}').unwrap_or(&hook);
        self.line(format!("{hook},\"dead_letter\":{about}}}").as_bytes())
    }

    /// One write a line, so that a crash leaves whole lines.
    pub(super) fn line(&mut self, text: &[u8]) -> io::Result<()> {
        match &mut self.file {
            Some(file) => file.write_all(&[text, b"\n"].concat()),
            None => Ok(()),
        }
    }
}

/// Opens a file to append to, behind a line that a full disk may have cut.
fn append(path: &Path) -> io::Result<File> {
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    if file.metadata()?.is_file() && ends_within_line(path).unwrap_or(false) {
        file.write_all(b"\n")?;
    }
    Ok(file)
}

fn ends_within_line(path: &Path) -> io::Result<bool> {
    let mut file = File::open(path)?;
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

/// What a dead letter says of its failure.
#[derive(Serialize)]
struct About<'a> {
    line: u64,
    #[serde(flatten)]
    failure: &'a Failure,
    attempts: u32,
    failed_at: i64,
}
