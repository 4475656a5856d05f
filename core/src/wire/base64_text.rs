//! Base64 as servers write it: either alphabet, padded or not.

use base64::alphabet;
use base64::engine::{DecodePaddingMode, Engine as _, GeneralPurpose, GeneralPurposeConfig};

const ANY_PADDING: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
static STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, ANY_PADDING);
static URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, ANY_PADDING);

/// Appends what `text` stands for to `out`. `None` where it is no base64, or mixes alphabets.
pub(super) fn decode_into(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let url_safe = text.iter().any(|byte| matches!(byte, b'-' | b'_'));
    let engine = if url_safe { &URL_SAFE } else { &STANDARD };
    engine.decode_vec(text, out).ok()
}

/// The most bytes that `len` characters stand for.
pub(super) const fn decoded_len_max(len: usize) -> usize {
    len.div_ceil(4) * 3
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(text: &str) -> Option<Vec<u8>> {
        let mut out = b"head".to_vec();
        decode_into(text.as_bytes(), &mut out)?;
        assert!(out.len() <= 4 + decoded_len_max(text.len()), "{text}");
        Some(out.split_off(4))
    }

    #[test]
    fn either_alphabet_padded_or_not() {
        for text in ["//v+4A==", "//v+4A", "__v-4A==", "__v-4A", "//v+4A="] {
            assert_eq!(decode(text).unwrap(), b"\xFF\xFB\xFE\xE0", "{text}");
        }
        assert_eq!(decode("").unwrap(), b"");
    }

    #[test]
    fn what_is_none_is_told() {
        for text in [
            "a",
            "a===",
            "//v-",
            "aGVs bG8=",
            "aGVsbG8\n",
            "é",
            "=",
            "ab=c",
        ] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
