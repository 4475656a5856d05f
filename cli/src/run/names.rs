//! The names by which a journal knows input lines again.

use std::fmt::Write as _;

use pubsink_core::text::Text;
use sha2::{Digest as _, Sha256};

/// What a name says: the line's number, and a print of its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LineName {
    pub(super) line: u64,
    /// Enough of the digest to tell texts under one number apart.
    pub(super) print: u16,
}

/// The name of a line: its number and the SHA-256 of its bytes. A line whose text was changed is
/// another hook.
pub(super) fn name(line: u64, text: &[u8]) -> Text {
    let mut name = format!("{line}:");
    for byte in Sha256::digest(text) {
        // To memory: what cannot fail.
        let _ = write!(name, "{byte:02x}");
    }
    name.into()
}

impl LineName {
    /// None for a name that is no line's: somebody else's hook.
    pub(super) fn of(name: &str) -> Option<Self> {
        let (line, digest) = name.split_once(':')?;
        let line = line.parse().ok().filter(|line| *line > 0)?;
        let print = u16::from_str_radix(digest.get(..4)?, 16).ok()?;
        (digest.len() == 64).then_some(Self { line, print })
    }
}

/// The line that a name is of.
pub(crate) fn line_of(name: &str) -> Option<u64> {
    LineName::of(name).map(|name| name.line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_which_line_it_is_and_changes_with_the_text() {
        let one = name(3, b"{}");
        assert_eq!(
            &*one,
            "3:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
        );
        let known = LineName::of(&one);
        assert_eq!(
            known,
            Some(LineName {
                line: 3,
                print: 0x4413
            })
        );
        assert_ne!(one, name(3, b"{} "));
        assert_ne!(one, name(4, b"{}"));
        for foreign in [
            "",
            "3",
            "3:",
            "3:4413",
            "x:44136fa3",
            "0:44136fa3",
            "3:\u{e9}\u{e9}",
        ] {
            assert_eq!(LineName::of(foreign), None, "{foreign}");
        }
    }
}
