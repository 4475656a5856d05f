//! The id of a message.

use std::fmt;
use std::hash::{Hash, Hasher};

use crate::json::plain_ascii_head;
use crate::text::Text;

/// The id Pub/Sub gave a message.
#[derive(Clone, PartialEq, Eq)]
pub struct MessageId(Id);

/// Pub/Sub's ids have 15 to 19 digits: they have room here, and allocate nothing. Every text has
/// one form only, by its length, so that equal ids are equal.
#[derive(Clone, PartialEq, Eq)]
enum Id {
    Short { len: u8, bytes: [u8; SHORT_MAX] },
    Long(Text),
}

const SHORT_MAX: usize = 22;

impl MessageId {
    /// `bytes` as an id, where they are UTF-8. They are copied, so that an id that is kept keeps
    /// nothing else.
    #[must_use]
    pub fn from_utf8(bytes: impl AsRef<[u8]>) -> Option<Self> {
        std::str::from_utf8(bytes.as_ref()).ok().map(Self::new)
    }

    pub(crate) fn new(text: &str) -> Self {
        let short = Id::short(text.as_bytes());
        Self(short.unwrap_or_else(|| Id::Long(Text::new(text))))
    }

    /// The id at the head of a JSON string's inside, and its length. None where it is not ASCII, or
    /// too long to be kept in place.
    pub(crate) fn at_head(text: &[u8]) -> Option<(Self, usize)> {
        let (length, head) = plain_ascii_head(text.first_chunk()?);
        let len = u8::try_from(length).ok()?;
        let (bytes, _) = head.split_first_chunk()?;
        (length <= SHORT_MAX).then_some((Self(Id::Short { len, bytes: *bytes }), length))
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(self.as_bytes()).unwrap_or_default()
    }

    /// The same, without a look at whether it is text.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Id::Short { len, bytes } => bytes.get(..usize::from(*len)).unwrap_or_default(),
            Id::Long(text) => text.as_bytes(),
        }
    }
}

impl Hash for MessageId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(self.as_bytes());
    }
}

impl Id {
    fn short(text: &[u8]) -> Option<Self> {
        let mut bytes = [0; SHORT_MAX];
        bytes.get_mut(..text.len())?.copy_from_slice(text);
        let len = u8::try_from(text.len()).ok()?;
        Some(Self::Short { len, bytes })
    }
}

impl fmt::Debug for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for MessageId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_every_length_are_what_they_were_made_of() {
        for len in 0..300 {
            let text: String = "é7".chars().cycle().take(len).collect();
            let id = MessageId::from_utf8(&text).unwrap();
            assert_eq!(id.as_str(), text);
            assert_eq!(id, MessageId::new(&text));
            assert_eq!(id == MessageId::new("7"), text == "7");
            assert_eq!(
                (format!("{id}"), format!("{id:?}")),
                (text.clone(), format!("{text:?}"))
            );
        }
        assert_eq!(MessageId::from_utf8(b"\xFF"), None);
    }

    #[test]
    fn one_at_the_head_of_a_text_is_the_same_as_one_alone() {
        for len in 0..30 {
            let text = format!("{:0len$}\"{:30}", 7, "");
            let (id, rest) = text.split_once('"').unwrap();
            let found = MessageId::at_head(text.as_bytes());
            let expected = (id.len() <= SHORT_MAX).then(|| (MessageId::new(id), id.len()));
            assert_eq!(found, expected, "{rest}");
        }
        assert_eq!(MessageId::at_head(b"17\"]}"), None);
    }

    #[test]
    fn an_id_of_pubsub_takes_no_more_room_than_a_string() {
        assert_eq!(size_of::<MessageId>(), size_of::<String>());
    }
}
