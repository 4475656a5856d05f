//! Writing: the bytes are those serde_json writes.

use std::io::Write as _;

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

/// The same for text that is known to have nothing to escape.
pub(crate) fn write_plain_string(out: &mut Vec<u8>, text: &str) {
    debug_assert_eq!(escaped_len(text), text.len() + 2);
    out.push(b'"');
    append(out, text.as_bytes());
    out.push(b'"');
}

/// Appends bytes that are mostly few: up to 32 are written as two words that overlap, which costs
/// half of what a call to copy them does.
#[inline]
pub(crate) fn append(out: &mut Vec<u8>, bytes: &[u8]) {
    fn two<const N: usize>(out: &mut Vec<u8>, bytes: &[u8]) -> Option<()> {
        let (first, last) = (bytes.first_chunk::<N>()?, bytes.last_chunk::<N>()?);
        let end = out.len() + bytes.len();
        out.extend_from_slice(first);
        out.truncate(end - N);
        out.extend_from_slice(last);
        Some(())
    }
    let done = match bytes.len() {
        4..8 => two::<4>(out, bytes),
        8..=16 => two::<8>(out, bytes),
        17..=32 => two::<16>(out, bytes),
        _ => None,
    };
    if done.is_none() {
        out.extend_from_slice(bytes);
    }
}

/// Writes `text` as part of a JSON string, without quotes.
pub(crate) fn write_escaped(out: &mut Vec<u8>, text: &str) {
    let mut rest = text.as_bytes();
    loop {
        let (plain, tail) = rest.split_at(plain_prefix(rest));
        append(out, plain);
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

/// Writes base64 in the standard alphabet with padding, by the widest vectors that this machine has.
pub(crate) fn write_base64(out: &mut Vec<u8>, bytes: &[u8]) {
    base64_simd::STANDARD.encode_append(bytes, out);
}

/// The length of the run at the head of `bytes` that stands for itself inside a JSON string.
pub(crate) fn plain_prefix(bytes: &[u8]) -> usize {
    // Most texts are short and plain. A long one is looked through no further than it has to be:
    // it may have thousands of special bytes, and this is asked after each of them.
    if bytes.len() <= 64 && is_plain(bytes) {
        return bytes.len();
    }
    let mut at = 0;
    while let Some(eight) = bytes[at..].first_chunk() {
        if any_special(u64::from_ne_bytes(*eight)) {
            break;
        }
        at += 8;
    }
    at + first_special(&bytes[at..])
}

/// The same of so many bytes, up to the first that is not ASCII, too: how many, and those bytes with
/// zeros in the place of the rest.
#[inline]
pub(crate) fn plain_ascii_head(bytes: &[u8; 24]) -> (usize, [u8; 24]) {
    let (words, _) = bytes.as_chunks::<8>();
    let mut head = [0; 24];
    let mut len = 0;
    for (word, into) in words.iter().zip(head.as_chunks_mut::<8>().0) {
        let word = u64::from_le_bytes(*word);
        let marks = special_marks(word) | word & HIGH_BITS;
        if marks != 0 {
            let plain = marks.trailing_zeros() / 8;
            *into = (word & ((1 << (8 * plain)) - 1)).to_le_bytes();
            return (len + plain as usize, head);
        }
        *into = word.to_le_bytes();
        len += 8;
    }
    (len, head)
}

/// Whether all of it stands for itself. The words it looks at overlap, so that no byte is looked
/// at alone where there are four.
#[inline]
fn is_plain(bytes: &[u8]) -> bool {
    let word = |four: &[u8; 4]| u64::from(u32::from_ne_bytes(*four));
    match (bytes.last_chunk(), bytes.first_chunk(), bytes.last_chunk()) {
        (Some(last), _, _) => {
            let (words, _) = bytes.as_chunks();
            let words = words.iter().chain([last]);
            !words.fold(false, |any, eight| {
                any | any_special(u64::from_ne_bytes(*eight))
            })
        }
        (None, Some(first), Some(last)) => !any_special(word(first) << 32 | word(last)),
        _ => first_special(bytes) == bytes.len(),
    }
}

fn first_special(bytes: &[u8]) -> usize {
    let special = bytes.iter().position(|&byte| is_special(byte));
    special.unwrap_or(bytes.len())
}

const fn is_special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

const fn any_special(eight: u64) -> bool {
    special_marks(eight) != 0
}

/// The high bit of each special one of eight bytes. A borrow between bytes may mark one above a
/// special one, too; the lowest mark is always right.
const fn special_marks(eight: u64) -> u64 {
    const fn zeros(eight: u64) -> u64 {
        eight.wrapping_sub(splat(1)) & !eight
    }
    let control = eight.wrapping_sub(splat(0x20)) & !eight;
    let quote = zeros(eight ^ splat(b'"'));
    let backslash = zeros(eight ^ splat(b'\\'));
    (control | quote | backslash) & HIGH_BITS
}

const HIGH_BITS: u64 = splat(0x80);

const fn splat(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
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
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
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

    #[test]
    fn the_head_ends_before_the_first_byte_that_is_special_or_not_ascii() {
        for byte in 0..=u8::MAX {
            for before in 0..=24 {
                let mut bytes = [b'~'; 25];
                bytes[before] = byte;
                if let Some(after) = bytes.get_mut(before + 1) {
                    *after = byte.wrapping_add(1);
                }
                let text = bytes.map(|byte| if byte.is_ascii() { byte } else { 0 });
                let expected = plain_prefix(&text[..24]);
                let mut kept = [0; 24];
                kept[..expected].copy_from_slice(&bytes[..expected]);
                let (head, _) = bytes.split_first_chunk().unwrap();
                assert_eq!(plain_ascii_head(head), (expected, kept), "{bytes:?}");
            }
        }
    }

    #[test]
    fn few_bytes_are_appended_as_many_are() {
        let all: Vec<u8> = (0..80).collect();
        for start in 0..4 {
            for end in start..all.len() {
                let mut out = vec![7; start];
                append(&mut out, &all[start..end]);
                assert_eq!(out[start..], all[start..end]);
                assert_eq!(out[..start], vec![7; start]);
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
