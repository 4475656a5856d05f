//! That the files of a run are different ones.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use pubsink_core::claim::ClaimsUrl;

use crate::exit::CommandError;

/// What a file is, whatever name it goes by.
type Identity = (u64, u64);

/// Refuses outcomes that would overwrite the input, and dead letters that would lengthen it for
/// ever while it is read. All of them are open: a file that is there only now has its identity too.
pub(super) fn check_apart(
    input: Option<&File>,
    outcomes: Option<&File>,
    dead_letters: Option<&File>,
) -> Result<(), CommandError> {
    let input = input.and_then(identity);
    let (written, kept) = (outcomes.and_then(identity), dead_letters.and_then(identity));
    let same = |one: Option<Identity>, other| one.is_some() && one == other;
    let clash = if same(written, input) {
        "--outcomes is the input itself, which would be overwritten"
    } else if same(kept, input) {
        "--dead-letters is the input itself, which would grow while it is read; rename it first"
    } else if same(kept, written) {
        "--outcomes and --dead-letters are the same file"
    } else {
        return Ok(());
    };
    Err(CommandError(clash.to_owned()))
}

/// Refuses a file to be written that would lie in the journal, and might be a part of it. Asked
/// before it is opened, which empties it.
pub(super) fn check_outside(
    journal: &Path,
    flag: &str,
    path: Option<&Path>,
) -> Result<(), CommandError> {
    let path = path.filter(|path| *path != Path::new("-"));
    let folder = path.map(|path| path.parent().unwrap_or_else(|| Path::new("")));
    let real = |dir: &Path| {
        let dir = if dir == Path::new("") {
            Path::new(".")
        } else {
            dir
        };
        dir.canonicalize().ok()
    };
    match (path, folder.and_then(real), real(journal)) {
        (Some(path), Some(folder), Some(journal)) if folder == journal => {
            Err(CommandError(format!(
                "{flag} {} is in the directory of the journal, which is its own; choose another \
                 place",
                path.display()
            )))
        }
        _ => Ok(()),
    }
}

/// Refuses claims in the journal's directory, which is its own.
pub(super) fn check_claims_outside(journal: &Path, url: &str) -> Result<(), CommandError> {
    let Ok(ClaimsUrl::Directory(claims)) = ClaimsUrl::parse(url) else {
        return Ok(());
    };
    match (real(&claims), real(journal)) {
        (Ok(place), Ok(journal)) if place.starts_with(&journal) => Err(CommandError(format!(
            "--claims {} is in the directory of the journal, which is its own; choose another \
             place",
            claims.display()
        ))),
        _ => Ok(()),
    }
}

/// A path without links, as far as it is there. What is not there yet has none.
fn real(path: &Path) -> io::Result<PathBuf> {
    let mut real = PathBuf::new();
    for part in std::path::absolute(path)?.components() {
        if part == Component::ParentDir {
            real.pop();
            continue;
        }
        real.push(part);
        if let Ok(there) = real.canonicalize() {
            real = there;
        }
    }
    Ok(real)
}

/// None for what is no file: a pipe, a terminal, /dev/null.
fn identity(file: &File) -> Option<Identity> {
    let data = file.metadata().ok().filter(|data| data.is_file())?;
    Some((data.dev(), data.ino()))
}
