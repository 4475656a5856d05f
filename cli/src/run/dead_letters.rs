//! Where failed hooks are kept: lines that `publish` reads again.

use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use pubsink_core::envelope::Envelope;
use pubsink_core::envelope_line;
use serde::Serialize;

use super::report::unix_ms;
use crate::exit::CommandError;

/// Where failed hooks are kept: lines that `publish` reads again.
pub(super) struct DeadLetters {
    file: Option<File>,
    /// Whether the file may end within a line.
    torn: bool,
    /// Whether any was not kept.
    pub(super) broken: bool,
}

impl DeadLetters {
    pub(super) fn open(path: Option<&Path>) -> Result<Self, CommandError> {
        let Some(path) = path else {
            return Ok(Self {
                file: None,
                torn: false,
                broken: false,
            });
        };
        let failed = |why: &dyn Display| {
            CommandError::new(
                format!("cannot write --dead-letters {}", path.display()),
                why,
            )
        };
        if path == Path::new("-") {
            let words = "it must be a file; ./- is one of that name";
            return Err(failed(&words));
        }
        let file = OpenOptions::new().append(true).create(true).open(path);
        let file = file.map_err(|error| failed(&error))?;
        let data = file.metadata().map_err(|error| failed(&error))?;
        // A full disk or a crash may have cut the last line. An empty line does no harm.
        let torn = data.is_file() && data.len() > 0 && ends_within_line(path).unwrap_or(true);
        Ok(Self {
            file: Some(file),
            torn,
            broken: false,
        })
    }

    pub(super) fn file(&self) -> Option<&File> {
        self.file.as_ref()
    }

    /// A hook, with what became of it.
    pub(super) fn hook(
        &mut self,
        line: Option<u64>,
        envelope: &Envelope,
        failure: &impl Serialize,
        attempts: u32,
    ) -> io::Result<()> {
        if self.file.is_none() {
            return Ok(());
        }
        let about = About {
            line,
            failure,
            attempts,
            failed_at: unix_ms(),
        };
        self.line(dead_letter_line(envelope, &about)?.as_bytes())
    }

    /// One write a line, so that a crash leaves whole lines; behind the rest of one that was cut.
    pub(super) fn line(&mut self, text: &[u8]) -> io::Result<()> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        let start: &[u8] = if self.torn { b"\n" } else { b"" };
        let written = file.write_all(&[start, text, b"\n"].concat());
        self.torn = written.is_err();
        written
    }
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

/// A hook as a line of input, with what became of it under a key that the input format passes over.
pub(crate) fn dead_letter_line(
    envelope: &Envelope,
    about: &About<'_, impl Serialize>,
) -> io::Result<String> {
    let about = serde_json::to_string(about)?;
    // Before the closing brace of the hook's own line.
    let hook = envelope_line::to_line(envelope);
    let hook = hook.strip_suffix('}').unwrap_or(&hook);
    Ok(format!("{hook},\"dead_letter\":{about}}}"))
}

/// What a dead letter says of its failure.
#[derive(Serialize)]
pub(crate) struct About<'a, F> {
    /// The input line it was, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<u64>,
    /// The failure's class and reason.
    #[serde(flatten)]
    pub(crate) failure: &'a F,
    pub(crate) attempts: u32,
    pub(crate) failed_at: i64,
}
