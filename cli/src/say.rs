//! Lines for a person or a pipe. A reader that went away is no reason to panic.

use std::fmt::Display;
use std::io::{self, Write};

use crate::exit::CommandError;

/// Writes a line for a person to standard error, as far as anybody listens.
pub(crate) fn say(line: impl Display) {
    // One write, so that lines of several processes do not mix.
    let _ = io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// So many of something, in words.
pub(crate) fn counted(count: u64, what: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {what}{s}")
}

/// Writes a line of data to standard output.
pub(crate) fn print(line: impl Display) -> Result<(), CommandError> {
    try_print(line).map_err(|error| CommandError::new("cannot write to standard output", error))
}

/// Writes a line of data to standard output, where some errors do not matter.
pub(crate) fn try_print(line: impl Display) -> io::Result<()> {
    let mut out = io::stdout();
    out.write_all(format!("{line}\n").as_bytes())?;
    out.flush()
}
