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
pub struct Text(
    /// None where there is none: empty text, as most ordering keys are, allocates nothing.
    Option<Arc<str>>,
);

impl Text {
    /// The text as it is, without a limit.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self((!text.is_empty()).then(|| Arc::from(text)))
    }

    /// The first [`TEXT_MAX_BYTES`] of `bytes` as text, a cut marked at the end. Bytes that are
    /// not UTF-8 become U+FFFD.
    #[must_use]
    pub fn capped(bytes: &[u8]) -> Self {
        let mut end = bytes.len().min(TEXT_MAX_BYTES);
        // Step back over the continuation bytes of a character that the cut would split.
        while end + 4 > TEXT_MAX_BYTES && bytes.get(end).is_some_and(|byte| byte & 0xC0 == 0x80) {
            end -= 1;
        }
        let mut text = String::from_utf8_lossy(&bytes[..end]).into_owned();
        if end == bytes.len() && text.len() <= TEXT_MAX_BYTES {
            return text.into();
        }
        // A byte that is not UTF-8 has become three.
        while text.len() > TEXT_MAX_BYTES {
            text.pop();
        }
        format!("{text}… (cut, {} bytes in all)", bytes.len()).into()
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self((!text.is_empty()).then(|| text.into()))
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Text {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_text_is_text_like_any_other() {
        let empty = [Text::new(""), String::new().into(), Text::capped(b"")];
        for text in &empty {
            assert_eq!((text, text.as_str()), (&empty[0], ""));
            assert_eq!(format!("{text}{text:?}"), "\"\"");
            assert!(*text < Text::new("\0"));
        }
    }

    #[test]
    fn short_text_is_kept_whole() {
        assert_eq!(Text::capped(b"no").as_str(), "no");
        assert_eq!(Text::capped(b"\xFF").as_str(), "\u{FFFD}");
    }

    #[test]
    fn what_replaces_bytes_that_are_no_text_is_capped_too() {
        let text = Text::capped(&[0xFF; TEXT_MAX_BYTES]);
        let expected = "\u{FFFD}".repeat(TEXT_MAX_BYTES / 3) + "… (cut, 8192 bytes in all)";
        assert_eq!(text.as_str(), expected);
    }

    #[test]
    fn a_cut_is_marked_and_never_splits_a_character() {
        let long = "é".repeat(TEXT_MAX_BYTES);
        let text = Text::capped(&long.as_bytes()[1..]);
        assert!(text.ends_with("é… (cut, 16383 bytes in all)"), "{text}");
        assert!(text.len() <= TEXT_MAX_BYTES + 40);
    }
}
