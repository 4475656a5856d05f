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
    verify_size(body.len() as u64, size)?;
    let found = sha256_hex(body);
    if found != sha256 {
        // What the message says may be any text.
        let expected = sha256.chars().take(found.len()).collect();
        return Err(differs("sha256", found, expected));
    }
    Ok(())
}

/// Whether what lies under a claim has the size it should have, which is known before it is read.
///
/// # Errors
///
/// [`ClaimError::Integrity`].
pub fn verify_size(found: u64, expected: u64) -> Result<(), ClaimError> {
    match found == expected {
        true => Ok(()),
        false => Err(differs("size", found.to_string(), expected.to_string())),
    }
}

/// The SHA-256 of `bytes` in lowercase hex.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    let mut hex = Vec::new();
    write_hex(&mut hex, &Sha256::digest(bytes));
    hex.into_iter().map(char::from).collect()
}

fn differs(what: &'static str, found: String, expected: String) -> ClaimError {
    ClaimError::Integrity {
        what,
        found: found.into(),
        expected: expected.into(),
    }
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
