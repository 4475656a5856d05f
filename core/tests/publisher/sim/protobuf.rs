//! The protobuf of a publish request, written out: what the service makes of the JSON, and what
//! goes over gRPC.

use pubsink_core::testing::SentMessage;

/// `google.pubsub.v1.PublishRequest`: topic = 1, messages = 2.
pub(crate) fn publish_request(topic: &str, messages: &[SentMessage]) -> Vec<u8> {
    let mut out = Vec::new();
    write_field(&mut out, 1, topic.as_bytes());
    for message in messages {
        write_field(&mut out, 2, &pubsub_message(message));
    }
    out
}

/// The frame of a message.
pub(crate) fn framed(message: &[u8]) -> Vec<u8> {
    let len = u32::try_from(message.len()).unwrap();
    [&[0], &len.to_be_bytes()[..], message].concat()
}

/// `google.pubsub.v1.PubsubMessage`: data = 1, attributes = 2 (key = 1, value = 2),
/// ordering_key = 5. An empty field is left out; a map's entry has both of its fields.
fn pubsub_message(message: &SentMessage) -> Vec<u8> {
    let mut out = Vec::new();
    if !message.data.is_empty() {
        write_field(&mut out, 1, &message.data);
    }
    for (name, value) in &message.attributes {
        let mut entry = Vec::new();
        write_field(&mut entry, 1, name.as_bytes());
        write_field(&mut entry, 2, value.as_bytes());
        write_field(&mut out, 2, &entry);
    }
    if !message.ordering_key.is_empty() {
        write_field(&mut out, 5, message.ordering_key.as_bytes());
    }
    out
}

fn write_field(out: &mut Vec<u8>, number: u8, bytes: &[u8]) {
    out.push(number << 3 | 2);
    write_varint(out, bytes.len());
    out.extend_from_slice(bytes);
}

fn write_varint(out: &mut Vec<u8>, value: usize) {
    let [low, ..] = value.to_le_bytes();
    if value < 0x80 {
        out.push(low);
    } else {
        out.push(low | 0x80);
        write_varint(out, value >> 7);
    }
}
