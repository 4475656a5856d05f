//! A bearer token that never shows itself.

use std::fmt;

use http::HeaderValue;

/// A token below this many bytes is not looked for in replies: no credential is as short, and a
/// test's "t" or "status" would be found in JSON's own words. The names that traces give tokens
/// are shorter, so that a replay looks for none.
const HIDDEN_MIN_BYTES: usize = 8;

/// A bearer token. `Debug` hides it, and its header value is marked sensitive.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(HeaderValue);

impl Token {
    /// Checks `token`: 1 or more visible ASCII characters, as a header can carry. Surrounding
    /// white space, as a command's output has it, is trimmed.
    ///
    /// # Errors
    ///
    /// [`InvalidToken`], which does not repeat the token.
    pub fn new(token: &str) -> Result<Self, InvalidToken> {
        let token = token.trim();
        if token.is_empty() {
            return Err(InvalidToken::Empty);
        }
        if !token.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(InvalidToken::NotVisibleAscii);
        }
        let mut value = HeaderValue::try_from(format!("Bearer {token}"))
            .map_err(|_| InvalidToken::NotVisibleAscii)?;
        value.set_sensitive(true);
        Ok(Self(value))
    }

    /// The value of the `authorization` header, marked sensitive.
    pub(crate) fn header(&self) -> HeaderValue {
        self.0.clone()
    }

    /// `text` with every occurrence of the token hidden, also as JSON may write it, or `None`
    /// where there is none.
    pub(crate) fn hide_in(&self, text: &[u8]) -> Option<Vec<u8>> {
        let token = self.0.as_bytes().strip_prefix(b"Bearer ")?;
        if token.len() < HIDDEN_MIN_BYTES {
            return None;
        }
        let mut out = Vec::new();
        let (mut shown, mut at) = (0, 0);
        while at < text.len() {
            let Some(len) = occurrence(&text[at..], token) else {
                at += 1;
                continue;
            };
            out.extend_from_slice(&text[shown..at]);
            out.extend_from_slice(b"***");
            at += len;
            shown = at;
        }
        if shown == 0 {
            return None;
        }
        out.extend_from_slice(&text[shown..]);
        Some(out)
    }
}

/// The length of the token at the head of `text`, as it is or as JSON writes it.
fn occurrence(text: &[u8], token: &[u8]) -> Option<usize> {
    if text.starts_with(token) {
        return Some(token.len());
    }
    let rest = token
        .iter()
        .try_fold(text, |rest, byte| after_json(rest, *byte))?;
    Some(text.len() - rest.len())
}

/// What follows `byte` at the head of a JSON string's `text`, in any of the ways to write it.
fn after_json(text: &[u8], byte: u8) -> Option<&[u8]> {
    let digit = |digit: u8| char::from(digit).to_digit(16);
    match text {
        [b'\\', b'u', b'0', b'0', high, low, rest @ ..]
            if digit(*high) == Some(u32::from(byte >> 4))
                && digit(*low) == Some(u32::from(byte & 15)) =>
        {
            Some(rest)
        }
        [b'\\', escaped @ (b'"' | b'\\' | b'/'), rest @ ..] if *escaped == byte => Some(rest),
        [plain, rest @ ..] if *plain == byte => Some(rest),
        _ => None,
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(***)")
    }
}

/// A text that cannot be a bearer token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidToken {
    /// Nothing was there.
    #[error("the token is empty")]
    Empty,
    /// A header cannot carry it.
    #[error("the token has characters other than visible ASCII")]
    NotVisibleAscii,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_checked_and_hidden() {
        let token = Token::new(" ya29.secret\n").unwrap();
        assert_eq!(token.header().as_bytes(), b"Bearer ya29.secret");
        assert!(token.header().is_sensitive());
        assert!(!format!("{token:?} {:?}", token.header()).contains("secret"));
        assert_eq!(Token::new(" \n").unwrap_err(), InvalidToken::Empty);
        assert_eq!(
            Token::new("a\u{e9}").unwrap_err(),
            InvalidToken::NotVisibleAscii
        );
        assert_eq!(
            Token::new("a b").unwrap_err(),
            InvalidToken::NotVisibleAscii
        );
    }

    #[test]
    fn a_token_is_hidden_wherever_a_text_repeats_it() {
        let text = "ya29.0123456789x";
        let token = Token::new(text).unwrap();
        let hidden = token
            .hide_in(format!("{text}, x{text}{text}").as_bytes())
            .unwrap();
        assert_eq!(hidden, b"***, x******");
        assert_eq!(token.hide_in(b"nothing"), None);
    }

    #[test]
    fn a_token_too_short_to_be_a_secret_mangles_no_words() {
        let token = Token::new("status").unwrap();
        assert_eq!(token.hide_in(br#"{"status":"NOT_FOUND"}"#), None);
    }

    #[test]
    fn a_token_is_hidden_in_every_way_json_writes_it() {
        let token = Token::new(r#"0123456789a/"\=x"#).unwrap();
        for written in [
            r#"0123456789a/"\=x"#,
            r#"0123456789a/\"\\=x"#,
            r#"0123456789a\/\"\\=x"#,
            r#"0123456789\u0061\u002f\u0022\u005C\u003dx"#,
            r#"\u0030123456789a/\"\\\u003Dx"#,
        ] {
            let text = format!("<{written}> {written}");
            assert_eq!(
                token.hide_in(text.as_bytes()).unwrap(),
                b"<***> ***",
                "{written}"
            );
        }
        assert_eq!(
            token.hide_in(br#"0123456789a/"\ 0123456789a/"\\\\=x \u0061"#),
            None
        );
    }
}
