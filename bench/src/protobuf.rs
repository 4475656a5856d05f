//! The little of protobuf's encoding that the floors and the stub write.

use bytes::{BufMut as _, BytesMut};

/// Appends a field of bytes, text or a message: its tag, its length, itself.
pub fn field(out: &mut BytesMut, tag: u8, bytes: &[u8]) {
    out.put_u8(tag);
    varint(out, bytes.len());
    out.extend_from_slice(bytes);
}

/// Appends a number, seven bits a byte.
pub fn varint(out: &mut BytesMut, mut value: usize) {
    while value >= 0x80 {
        out.put_u8(low_bits(value) | 0x80);
        value >>= 7;
    }
    out.put_u8(low_bits(value));
}

/// How many bytes that takes.
#[must_use]
pub const fn varint_len(mut value: usize) -> usize {
    let mut len = 1;
    while value >= 0x80 {
        value >>= 7;
        len += 1;
    }
    len
}

fn low_bits(value: usize) -> u8 {
    let [low, ..] = value.to_le_bytes();
    low & 0x7F
}
