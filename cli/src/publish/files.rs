//! That the files of a run are different ones.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::lines::Input;
use crate::exit::CommandError;

/// What a file is, whatever name it goes by.
type Identity = (u64, u64);

/// Refuses outcomes that would overwrite the input, and dead letters that would lengthen it for
/// ever while it is read.
pub(super) fn check_apart(
    input: &Input,
    outcomes: Option<&Path>,
    dead_letters: Option<&Path>,
) -> Result<(), CommandError> {
    let input = input.metadata().and_then(identity);
    let of = |path: Option<&Path>| fs::metadata(path?).ok().and_then(|data| identity(&data));
    let (written, kept) = (of(outcomes), of(dead_letters));
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

/// None for what is no file: a pipe, a terminal, /dev/null.
fn identity(data: &Metadata) -> Option<Identity> {
    data.is_file().then(|| (data.dev(), data.ino()))
}
