//! Whether bytes are the body that was checked in.

use sha2::{Digest as _, Sha256};

use super::ClaimError;
use crate::json::write_hex;

/// Whether `body` is what a message says of it: its size and its SHA-256 in lowercase hex.
///
/// # Errors
///
/// [`ClaimError::Integrity`] names what differs.
pub fn verify(body: &[u8], size: u64, sha256: &str) -> Result<(), ClaimError> {
    let differs = |what, found: String, expected: String| {
        Err(ClaimError::Integrity {
            what,
            found: found.into(),
            expected: expected.into(),
        })
    };
    if body.len() as u64 != size {
        return differs("size", body.len().to_string(), size.to_string());
    }
    let found = sha256_hex(body);
    if found != sha256 {
        // What the message says may be any text.
        let expected = sha256.chars().take(found.len()).collect();
        return differs("sha256", found, expected);
    }
    Ok(())
}

/// The SHA-256 of `bytes` in lowercase hex.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    let mut hex = Vec::new();
    write_hex(&mut hex, &Sha256::digest(bytes));
    hex.into_iter().map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // `printf 'hello' | sha256sum`
    const HELLO: &str = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

    #[test]
    fn only_the_very_bytes_pass() {
        assert_eq!(verify(b"hello", 5, HELLO), Ok(()));
        let what = |result: Result<(), ClaimError>| match result {
            Err(ClaimError::Integrity { what, .. }) => what,
            other => panic!("{other:?}"),
        };
        assert_eq!(what(verify(b"hello", 4, HELLO)), "size");
        assert_eq!(what(verify(b"hellO", 5, HELLO)), "sha256");
        assert_eq!(what(verify(b"hello", 5, &HELLO.to_uppercase())), "sha256");
        assert_eq!(what(verify(b"hello", 5, "")), "sha256");
    }
}
