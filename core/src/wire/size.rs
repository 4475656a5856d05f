//! How large a message is in a request, without encoding it.

use crate::attributes::Attributes;
use crate::json::{base64_len, escaped_len};

/// What opens a request's body.
pub(crate) const OPEN: &[u8] = br#"{"messages":["#;
/// What closes it.
pub(crate) const CLOSE: &[u8] = b"]}";

/// A message's exact sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Sizes {
    /// Data before base64.
    pub(crate) data: usize,
    /// Data, attribute names and values, and ordering key: Pub/Sub's measure of a message.
    pub(crate) message: usize,
    /// Its JSON in a request's body, with the comma that parts it from the next.
    pub(crate) json: usize,
    /// Its protobuf in a request, with tag and length.
    pub(crate) protobuf: usize,
    /// Whether no attribute and no key has a character that JSON escapes.
    pub(crate) plain: bool,
}

/// [`Sizes`] of a message that was checked, in less room. No request has 4 GiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PackedSizes {
    data: u32,
    message: u32,
    json: u32,
    protobuf: u32,
    plain: bool,
}

impl From<Sizes> for PackedSizes {
    fn from(sizes: Sizes) -> Self {
        let packed = |size| u32::try_from(size).unwrap_or(u32::MAX);
        Self {
            data: packed(sizes.data),
            message: packed(sizes.message),
            json: packed(sizes.json),
            protobuf: packed(sizes.protobuf),
            plain: sizes.plain,
        }
    }
}

impl From<PackedSizes> for Sizes {
    fn from(packed: PackedSizes) -> Self {
        Self {
            data: packed.data as usize,
            message: packed.message as usize,
            json: packed.json as usize,
            protobuf: packed.protobuf as usize,
            plain: packed.plain,
        }
    }
}

/// The sizes of attributes, added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct AttributeSizes {
    /// Names and values.
    texts: usize,
    /// Each as a JSON member with the comma after it.
    json: usize,
    /// Their protobuf in a message.
    protobuf: usize,
    /// How many names and values have a character that JSON escapes.
    escaped: usize,
}

impl AttributeSizes {
    pub(crate) fn of(name: &str, value: &str) -> Self {
        let (json_name, json_value) = (escaped_len(name), escaped_len(value));
        Self {
            texts: name.len() + value.len(),
            json: json_name + r":".len() + json_value + r",".len(),
            protobuf: field(field(name.len()) + field(value.len())),
            escaped: usize::from(json_name > name.len() + 2)
                + usize::from(json_value > value.len() + 2),
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.texts += other.texts;
        self.json += other.json;
        self.protobuf += other.protobuf;
        self.escaped += other.escaped;
    }

    pub(crate) fn remove(&mut self, other: &Self) {
        self.texts -= other.texts;
        self.json -= other.json;
        self.protobuf -= other.protobuf;
        self.escaped -= other.escaped;
    }
}

/// Measures a message of `data` bytes.
pub(crate) fn measure(data: usize, attributes: &Attributes, ordering_key: &str) -> Sizes {
    let sizes = attributes.sizes();
    let key = ordering_key.len();
    let json_key = match key {
        0 => 2,
        _ => escaped_len(ordering_key),
    };
    // {} and the comma after it; each member is counted with the comma that follows it, which the
    // last one does not have.
    let mut json = 3;
    let mut members = 0;
    if data > 0 {
        json += r#""data":"","#.len() + base64_len(data);
        members += 1;
    }
    if !attributes.is_empty() {
        // The last attribute's comma stands for the closing brace.
        json += r#""attributes":{,"#.len() + sizes.json;
        members += 1;
    }
    if key > 0 {
        json += r#""orderingKey":,"#.len() + json_key;
        members += 1;
    }
    json -= usize::from(members > 0);
    Sizes {
        data,
        message: data + sizes.texts + key,
        json,
        protobuf: field(optional_field(data) + sizes.protobuf + optional_field(key)),
        plain: sizes.escaped == 0 && json_key == key + 2,
    }
}

/// The body of a request whose messages' JSON comes to `json` bytes, commas counted.
pub(crate) fn body_len(json: usize) -> usize {
    (OPEN.len() + json + CLOSE.len()).saturating_sub(usize::from(json > 0))
}

/// The protobuf of a request for `topic_name` whose messages come to `messages` bytes.
pub(crate) fn protobuf_len(topic_name: &str, messages: usize) -> usize {
    field(topic_name.len()) + messages
}

/// How long the content is of a field that takes `field` bytes with its number and its length.
pub(super) fn content_len(field: usize) -> usize {
    let after_number = field - 1;
    let mut len = after_number - varint_len(after_number);
    // A shorter content may have a shorter length before it.
    while self::field(len) < field {
        len += 1;
    }
    len
}

/// A length-delimited field with a number below 16.
pub(super) fn field(len: usize) -> usize {
    1 + varint_len(len) + len
}

/// The same where protobuf leaves out an empty one.
fn optional_field(len: usize) -> usize {
    if len == 0 { 0 } else { field(len) }
}

fn varint_len(value: usize) -> usize {
    let bits = usize::BITS - (value | 1).leading_zeros();
    bits.div_ceil(7) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_grow_every_seven_bits() {
        for (value, len) in [(0, 1), (127, 1), (128, 2), (16_383, 2), (16_384, 3)] {
            assert_eq!(varint_len(value), len, "{value}");
        }
    }

    #[test]
    fn a_fields_content_is_what_it_was_made_of() {
        for content in (0..400).chain(16_300..16_500).chain(2_097_140..2_097_170) {
            assert_eq!(content_len(field(content)), content);
        }
    }

    /// Against the bytes of a request that Google's emulator took, recorded with its frames:
    /// topic `projects/proj-rpc/topics/events`, data "a", then attribute a=b.
    #[test]
    fn protobuf_sizes_agree_with_a_recorded_frame() {
        let attributes: Attributes = [("a", "b")].into_iter().collect();
        let messages =
            measure(1, &Attributes::new(), "").protobuf + measure(0, &attributes, "").protobuf;
        assert_eq!(
            protobuf_len("projects/proj-rpc/topics/events", messages),
            0x30
        );
    }
}
