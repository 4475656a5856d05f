//! Writing: the bytes are those serde_json writes.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// How many bytes [`write_string`] writes for `text`, quotes counted.
pub(crate) fn escaped_len(text: &str) -> usize {
    let mut rest = text.as_bytes();
    let mut len = 2 + rest.len();
    while let Some((&byte, tail)) = rest[plain_prefix(rest)..].split_first() {
        len += if short_escape(byte).is_some() { 1 } else { 5 };
        rest = tail;
    }
    len
}

/// Writes `text` as a JSON string with its quotes.
pub(crate) fn write_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    write_escaped(out, text);
    out.push(b'"');
}

/// Writes `text` as part of a JSON string, without quotes.
pub(crate) fn write_escaped(out: &mut Vec<u8>, text: &str) {
    let mut rest = text.as_bytes();
    loop {
        let (plain, tail) = rest.split_at(plain_prefix(rest));
        out.extend_from_slice(plain);
        let Some((&byte, tail)) = tail.split_first() else {
            return;
        };
        match short_escape(byte) {
            Some(letter) => out.extend_from_slice(&[b'\\', letter]),
            None => {
                out.extend_from_slice(b"\\u00");
                write_hex(out, &[byte]);
            }
        }
        rest = tail;
    }
}

/// Writes `text` as a JSON string, or `null`.
pub(crate) fn write_optional_string(out: &mut Vec<u8>, text: Option<&str>) {
    match text {
        Some(text) => write_string(out, text),
        None => out.extend_from_slice(b"null"),
    }
}

/// Writes a decimal integer.
pub(crate) fn write_integer(out: &mut Vec<u8>, integer: impl std::fmt::Display) {
    // A `Vec` takes every byte it is given.
    let _ = write!(out, "{integer}");
}

/// Writes lowercase hex.
pub(crate) fn write_hex(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.reserve(2 * bytes.len());
    for byte in bytes {
        out.push(DIGITS[usize::from(byte >> 4)]);
        out.push(DIGITS[usize::from(byte & 15)]);
    }
}

/// How many bytes [`write_base64`] writes for `len` bytes.
pub(crate) const fn base64_len(len: usize) -> usize {
    len.div_ceil(3) * 4
}

/// Writes base64 in the standard alphabet with padding.
pub(crate) fn write_base64(out: &mut Vec<u8>, bytes: &[u8]) {
    let start = out.len();
    out.resize(start + base64_len(bytes.len()), 0);
    let written = STANDARD.encode_slice(bytes, &mut out[start..]);
    debug_assert_eq!(written.ok(), Some(base64_len(bytes.len())));
}

/// The length of the run at the head of `bytes` that stands for itself inside a JSON string.
pub(crate) fn plain_prefix(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(eight) = bytes[at..].first_chunk() {
        if any_special(u64::from_ne_bytes(*eight)) {
            break;
        }
        at += 8;
    }
    let tail = &bytes[at..];
    at + tail
        .iter()
        .position(|&byte| is_special(byte))
        .unwrap_or(tail.len())
}

const fn is_special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// Whether one of eight bytes is special. A borrow between bytes may mark the wrong one, but
/// never marks any unless a special one is there.
const fn any_special(eight: u64) -> bool {
    const fn splat(byte: u8) -> u64 {
        u64::from_ne_bytes([byte; 8])
    }
    const fn zeros(eight: u64) -> u64 {
        eight.wrapping_sub(splat(1)) & !eight
    }
    let control = eight.wrapping_sub(splat(0x20)) & !eight;
    let quote = zeros(eight ^ splat(b'"'));
    let backslash = zeros(eight ^ splat(b'\\'));
    (control | quote | backslash) & splat(0x80) != 0
}

/// The letter of a special byte's two-character escape, where it has one.
const fn short_escape(byte: u8) -> Option<u8> {
    match byte {
        b'"' | b'\\' => Some(byte),
        0x08 => Some(b'b'),
        b'\t' => Some(b't'),
        b'\n' => Some(b'n'),
        0x0C => Some(b'f'),
        b'\r' => Some(b'r'),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(text: &str) -> String {
        let mut out = Vec::new();
        write_string(&mut out, text);
        assert_eq!(out.len(), escaped_len(text));
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_ascii_character_at_every_place_of_a_word() {
        for byte in 0..=0x7F_u8 {
            for before in 0..17 {
                let text = format!(
                    "{}{}{}",
                    "x".repeat(before),
                    char::from(byte),
                    "é".repeat(9)
                );
                assert_eq!(written(&text), serde_json::to_string(&text).unwrap());
            }
        }
    }

    proptest! {
        #[test]
        fn strings_are_written_as_serde_json_writes_them(text in "(?s).{0,64}") {
            prop_assert_eq!(written(&text), serde_json::to_string(&text).unwrap());
        }

        #[test]
        fn strings_dense_in_escapes(text in "[\\x00-\\x22\\\\\\x7Eé😀]{0,40}") {
            prop_assert_eq!(written(&text), serde_json::to_string(&text).unwrap());
        }

        #[test]
        fn base64_is_the_standard_one(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut out = b"head".to_vec();
            write_base64(&mut out, &bytes);
            prop_assert_eq!(out.len(), 4 + base64_len(bytes.len()));
            prop_assert_eq!(STANDARD.decode(&out[4..]).unwrap(), bytes);
        }
    }
}
