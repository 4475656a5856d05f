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

/// Splits a field of bytes off the front: one with this tag, or there is none.
pub fn split_field<'a>(from: &mut &'a [u8], tag: u8) -> Option<&'a [u8]> {
    let mut rest = from.strip_prefix(&[tag])?;
    let mut length = 0;
    for shift in (0..35).step_by(7) {
        let (byte, after) = rest.split_first()?;
        rest = after;
        length |= usize::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    let (bytes, after) = rest.split_at_checked(length)?;
    *from = after;
    Some(bytes)
}
