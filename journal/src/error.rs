//! What can go wrong with the disk.

use std::fmt;
use std::path::PathBuf;

use pubsink_core::journal::JournalError;
use pubsink_core::text::Text;

/// Why a journal was not opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Somebody else has it.
    #[error(
        "the journal in {} is in use by another process, or by another part of this one; stop \
         that first, or choose another directory", .dir.display()
    )]
    InUse {
        /// The journal's directory.
        dir: PathBuf,
    },
    /// The file there is no journal.
    #[error(
        "{} holds a file that is no pubsink journal ({detail}); choose another directory, or \
         move the file away", .dir.display()
    )]
    Foreign {
        /// The journal's directory.
        dir: PathBuf,
        /// What is wrong with the file.
        detail: Text,
    },
    /// A newer pubsink wrote it.
    #[error(
        "the journal in {} has format {found}, and this version knows formats up to {known}; use \
         the version that wrote it, or a newer one", .dir.display()
    )]
    Newer {
        /// The journal's directory.
        dir: PathBuf,
        /// The format it has.
        found: u64,
        /// The newest one that is known.
        known: u64,
    },
    /// The file is cut off, or its content contradicts itself.
    #[error(
        "the journal in {} is damaged: {detail}; restore it from a backup, or move it away to \
         begin an empty one", .dir.display()
    )]
    Damaged {
        /// The journal's directory.
        dir: PathBuf,
        /// What was found.
        detail: Text,
    },
    /// The operating system said no.
    #[error("the journal in {} cannot be opened: {doing}: {detail}", .dir.display())]
    Io {
        /// The journal's directory.
        dir: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// Its kind.
        kind: std::io::ErrorKind,
        /// What the system said.
        detail: Text,
    },
}

/// What the disk did to a call.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The file could not be read or written.
    Disk(redb::Error),
    /// Something in it is not as it was written.
    Damaged(String),
    /// There is no file at the moment, or not any more.
    Down(Text),
    /// Something that cannot be has happened.
    Panicked(String),
}

impl Fault {
    pub(crate) fn damaged(what: impl fmt::Display) -> Self {
        Self::Damaged(what.to_string())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disk(error) => write!(f, "the journal's disk failed: {error}"),
            Self::Damaged(what) => write!(f, "the journal is damaged: {what}"),
            Self::Down(why) => f.write_str(why),
            Self::Panicked(words) => write!(f, "the journal broke: {words}"),
        }
    }
}

impl From<Fault> for JournalError {
    fn from(fault: Fault) -> Self {
        (&fault).into()
    }
}

impl From<&Fault> for JournalError {
    fn from(fault: &Fault) -> Self {
        Self::Storage(fault.to_string().into())
    }
}

macro_rules! from_redb {
    ($($error:ident),*) => {$(
        impl From<redb::$error> for Fault {
            fn from(error: redb::$error) -> Self {
                Self::Disk(error.into())
            }
        }
    )*};
}

from_redb!(
    StorageError,
    TableError,
    TransactionError,
    CommitError,
    DatabaseError
);
