//! Protobuf, written by hand for the shapes that are sent often.

use bytes::BufMut;

/// A field of bytes or text. Its number is below 16.
pub(in crate::wire) fn write_field(out: &mut impl BufMut, number: u8, bytes: &[u8]) {
    write_head(out, number, bytes.len());
    out.put_slice(bytes);
}

/// What stands before a field of `len` bytes. Its number is below 16.
pub(in crate::wire) fn write_head(out: &mut impl BufMut, number: u8, len: usize) {
    out.put_u8(number << 3 | 2);
    write_varint(out, len as u64);
}

pub(in crate::wire) fn write_varint(out: &mut impl BufMut, mut value: u64) {
    loop {
        let [low, ..] = value.to_le_bytes();
        value >>= 7;
        if value == 0 {
            return out.put_u8(low);
        }
        out.put_u8(low | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_are_prosts() {
        for value in [0, 1, 127, 128, 300, 16_383, 16_384, 1 << 32, usize::MAX] {
            let mut out = Vec::new();
            write_varint(&mut out, value as u64);
            let mut out = &out[..];
            assert_eq!(prost::decode_length_delimiter(&mut out), Ok(value));
            assert!(out.is_empty());
        }
    }
}
