//! A bearer token that never shows itself.

use std::fmt;

use http::HeaderValue;

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

    /// `text` with every occurrence of the token hidden, also as JSON with escaped slashes, or
    /// `None` where there is none.
    pub(crate) fn hide_in(&self, text: &[u8]) -> Option<Vec<u8>> {
        let token = self.0.as_bytes().strip_prefix(b"Bearer ")?;
        let hidden = hide(text, token);
        if !token.contains(&b'/') {
            return hidden;
        }
        let mut escaped = Vec::new();
        for &b in token {
            escaped.extend_from_slice(if b == b'/' {
                b"\\/"
            } else {
                std::slice::from_ref(&b)
            });
        }
        hide(hidden.as_deref().unwrap_or(text), &escaped).or(hidden)
    }
}

fn hide(text: &[u8], secret: &[u8]) -> Option<Vec<u8>> {
    let mut rest = text;
    let mut out = Vec::new();
    while let Some(at) = find(rest, secret) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(b"***");
        rest = &rest[at + secret.len()..];
    }
    if rest.len() == text.len() {
        return None;
    }
    out.extend_from_slice(rest);
    Some(out)
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack
        .windows(needle.len())
        .position(|window| window == needle)
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
        let token = Token::new("abc").unwrap();
        let hidden = token.hide_in(b"abc, xabcabc").unwrap();
        assert_eq!(hidden, b"***, x******");
        assert_eq!(token.hide_in(b"nothing"), None);
        let token = Token::new("a/b").unwrap();
        assert_eq!(token.hide_in(br"a/b a\/b").unwrap(), b"*** ***");
    }
}
