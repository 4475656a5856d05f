//! Where outcomes go: lines of JSON.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::path::Path;

use serde::Serialize;

use super::progress::Progress;
use crate::exit::CommandError;

/// Where outcomes go.
pub(super) struct Outcomes {
    out: Option<Box<dyn Write>>,
    are_seen: bool,
    pub(super) broken: bool,
}

impl Outcomes {
    pub(super) fn open(path: Option<&Path>) -> Result<Self, CommandError> {
        let out: Option<Box<dyn Write>> = match path {
            None => None,
            Some(path) if path == Path::new("-") => Some(Box::new(BufWriter::new(io::stdout()))),
            Some(path) => {
                let what = || format!("cannot write --outcomes {}", path.display());
                let file = File::create(path).map_err(|error| CommandError::new(what(), error))?;
                Some(Box::new(BufWriter::new(file)))
            }
        };
        let shown = path.is_some_and(|path| path == Path::new("-")) && io::stdout().is_terminal();
        Ok(Self {
            out,
            are_seen: shown,
            broken: false,
        })
    }

    /// Whether they go to a terminal.
    pub(super) fn are_seen(&self) -> bool {
        self.are_seen
    }

    pub(super) fn is_somewhere(&self) -> bool {
        self.out.is_some()
    }

    pub(super) fn write(&mut self, outcome: &impl Serialize, progress: &Progress) {
        let written = self.out.as_mut().map(|out| {
            serde_json::to_writer(&mut *out, outcome)?;
            out.write_all(b"\n")
        });
        self.check(written, progress);
    }

    pub(super) fn flush(&mut self, progress: &Progress) {
        let flushed = self.out.as_mut().map(Write::flush);
        self.check(flushed, progress);
    }

    /// A reader that went away (`| head`) stops the outcomes and nothing else.
    fn check(&mut self, done: Option<io::Result<()>>, progress: &Progress) {
        if let Some(Err(error)) = done {
            self.out = None;
            self.broken = true;
            progress.say(&format!(
                "pubsink: outcomes can no longer be written: {error}"
            ));
        }
    }
}
