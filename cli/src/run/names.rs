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

/// The name of a line for a topic: its number, and the SHA-256 of the topic's full name, a 0 byte
/// and the line's bytes. A line whose text was changed is another hook, as is the same line for
/// another topic.
pub(super) fn name(topic: &str, line: u64, text: &[u8]) -> Text {
    let mut name = format!("{line}:");
    let digest = Sha256::new().chain_update(topic).chain_update([0]);
    for byte in digest.chain_update(text).finalize() {
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
    fn a_name_says_which_line_it_is_and_changes_with_the_text_and_the_topic() {
        let one = name("t", 3, b"{}");
        assert_eq!(
            &*one,
            "3:c277c62dc4a00825f5e8ddbaf449c64e79a4f665924f450da81a9c31e7a392eb"
        );
        let known = LineName::of(&one);
        assert_eq!(
            known,
            Some(LineName {
                line: 3,
                print: 0xc277
            })
        );
        assert_ne!(one, name("t", 3, b"{} "));
        assert_ne!(one, name("t", 4, b"{}"));
        assert_ne!(one, name("u", 3, b"{}"));
        assert_ne!(name("t", 3, b"u{}"), name("tu", 3, b"{}"));
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
