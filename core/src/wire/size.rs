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
}

/// Measures a message of `data` bytes.
pub(crate) fn measure(data: usize, attributes: &Attributes, ordering_key: &str) -> Sizes {
    let mut texts = ordering_key.len();
    let mut json_attributes = 0;
    let mut protobuf = optional_field(data) + optional_field(ordering_key.len());
    for (name, value) in attributes.iter() {
        texts += name.len() + value.len();
        // "name":"value", with its quotes; the last comma stands for the closing brace.
        json_attributes += escaped_len(name) + escaped_len(value) + 2;
        protobuf += field(field(name.len()) + field(value.len()));
    }
    // {} and the comma after it; each member is counted with the comma that follows it, which the
    // last one does not have.
    let mut json = 3;
    let mut members = 0;
    if data > 0 {
        json += r#""data":"","#.len() + base64_len(data);
        members += 1;
    }
    if !attributes.is_empty() {
        json += r#""attributes":{,"#.len() + json_attributes;
        members += 1;
    }
    if !ordering_key.is_empty() {
        json += r#""orderingKey":,"#.len() + escaped_len(ordering_key);
        members += 1;
    }
    json -= usize::from(members > 0);
    Sizes {
        data,
        message: data + texts,
        json,
        protobuf: field(protobuf),
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
