//! Text that many outcomes share.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// The most bytes of a foreign text (a reply's body, an error message) a failure keeps.
///
/// 8 KiB hold every error document Google's services are known to send; what is longer is a page
/// of HTML whose head says enough.
pub const TEXT_MAX_BYTES: usize = 8 * 1024;

/// Immutable text that is cheap to clone: a thousand failures of one request share one copy.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text(Arc<str>);

impl Text {
    /// The text as it is, without a limit.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(Arc::from(text))
    }

    /// The first [`TEXT_MAX_BYTES`] of `bytes` as text, a cut marked at the end. Bytes that are
    /// not UTF-8 become U+FFFD.
    #[must_use]
    pub fn capped(bytes: &[u8]) -> Self {
        if bytes.len() <= TEXT_MAX_BYTES {
            return Self::new(&String::from_utf8_lossy(bytes));
        }
        let mut end = TEXT_MAX_BYTES;
        // Step back over the continuation bytes of a character that the cut would split.
        while end > TEXT_MAX_BYTES - 4 && bytes[end] & 0xC0 == 0x80 {
            end -= 1;
        }
        let head = String::from_utf8_lossy(&bytes[..end]);
        Self(format!("{head}… (cut, {} bytes in all)", bytes.len()).into())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Text {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_text_is_kept_whole() {
        assert_eq!(Text::capped(b"no").as_str(), "no");
        assert_eq!(Text::capped(b"\xFF").as_str(), "\u{FFFD}");
    }

    #[test]
    fn a_cut_is_marked_and_never_splits_a_character() {
        let long = "é".repeat(TEXT_MAX_BYTES);
        let text = Text::capped(&long.as_bytes()[1..]);
        assert!(text.ends_with("é… (cut, 16383 bytes in all)"), "{text}");
        assert!(text.len() <= TEXT_MAX_BYTES + 40);
    }
}
