//! How the command ends.

use std::fmt::Display;
use std::process::{ExitCode, Termination};

/// The exit codes, for the help of commands that send something.
pub(crate) const CODES: &str = "Exit codes: 0 all delivered; 1 some deliveries failed; \
                                2 bad usage or configuration; 3 interrupted";

/// The exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All delivered.
    Delivered,
    /// Some deliveries failed.
    Failed,
    /// Bad usage or configuration.
    Usage,
    /// Interrupted.
    Interrupted,
}

impl Exit {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Delivered => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Interrupted => 3,
        }
    }
}

impl Termination for Exit {
    fn report(self) -> ExitCode {
        self.code().into()
    }
}

/// Why a command could not run at all, for a person.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct CommandError(pub(crate) String);

impl CommandError {
    /// `what` failed because of `why`.
    pub(crate) fn new(what: impl Display, why: impl Display) -> Self {
        Self(format!("{what}: {why}"))
    }
}
