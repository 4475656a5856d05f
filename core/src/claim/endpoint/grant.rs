//! Who may have which claims.

use std::collections::BTreeSet;
use std::fmt;

use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::claim::InvalidClaimRef;
use crate::claim::reference::check_tenant;
use crate::token::{InvalidToken, Token};

/// A bearer token, and the tenants whose claims it opens. Only the token's digest is kept, so
/// nothing can show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Grant {
    digest: [u8; 32],
    /// None: all of them.
    tenants: Option<BTreeSet<String>>,
}

impl Grant {
    /// A token that opens the claims of all tenants.
    ///
    /// # Errors
    ///
    /// [`InvalidGrant`] for a token that a header cannot carry.
    pub fn all_tenants(token: &str) -> Result<Self, InvalidGrant> {
        Ok(Self {
            digest: checked(token)?,
            tenants: None,
        })
    }

    /// A token that opens the claims of some tenants. Hooks without a tenant are those of
    /// [`DEFAULT_TENANT`](crate::claim::DEFAULT_TENANT).
    ///
    /// # Errors
    ///
    /// [`InvalidGrant`] for a token that a header cannot carry, a tenant that no claim can have,
    /// or no tenant at all.
    pub fn tenants<T: Into<String>>(
        token: &str,
        tenants: impl IntoIterator<Item = T>,
    ) -> Result<Self, InvalidGrant> {
        let tenants: BTreeSet<String> = tenants.into_iter().map(Into::into).collect();
        if tenants.is_empty() {
            return Err(InvalidGrant::NoTenant);
        }
        for tenant in &tenants {
            check_tenant(tenant)?;
        }
        Ok(Self {
            digest: checked(token)?,
            tenants: Some(tenants),
        })
    }

    /// Whether the token of this digest is the grant's, in a time that does not depend on how
    /// much of it is right.
    pub(super) fn is_of(&self, digest: &[u8; 32]) -> bool {
        self.digest.ct_eq(digest).into()
    }

    pub(super) fn opens(&self, tenant: &str) -> bool {
        let tenants = self.tenants.as_ref();
        tenants.is_none_or(|tenants| tenants.contains(tenant))
    }
}

impl fmt::Debug for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grant")
            .field("token", &"***")
            .field("tenants", &self.tenants)
            .finish()
    }
}

/// Why there is no such grant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidGrant {
    /// The token cannot be one.
    #[error(transparent)]
    Token(#[from] InvalidToken),
    /// A tenant cannot be one.
    #[error(transparent)]
    Tenant(#[from] InvalidClaimRef),
    /// It would open nothing.
    #[error("the token opens the claims of no tenant; name some, or open all")]
    NoTenant,
}

/// An endpoint without a token would serve nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("there is no token, so nobody could be served; give one, or say that all are served")]
pub struct NoGrants;

/// The token of an `authorization` header.
pub(super) fn bearer(value: &[u8]) -> Option<&[u8]> {
    let space = value.iter().position(|&byte| byte == b' ')?;
    let (scheme, token) = value.split_at(space);
    let token = token.trim_ascii();
    (scheme.eq_ignore_ascii_case(b"bearer") && !token.is_empty()).then_some(token)
}

/// Digests are of one length, and tell nothing of a token's.
pub(super) fn digest(token: &[u8]) -> [u8; 32] {
    Sha256::digest(token).into()
}

fn checked(token: &str) -> Result<[u8; 32], InvalidToken> {
    Token::new(token)?;
    Ok(digest(token.trim().as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_is_checked_and_never_shows_its_token() {
        let grant = Grant::tenants(" hunter2-hunter2\n", ["acme"]).unwrap();
        assert!(grant.is_of(&digest(b"hunter2-hunter2")));
        assert!(!grant.is_of(&digest(b"hunter2-hunter")));
        assert!(grant.opens("acme") && !grant.opens("acm"));
        assert!(!format!("{grant:?}").contains("hunter2"));
        assert!(Grant::all_tenants("t").unwrap().opens("anyone"));

        let none: [&str; 0] = [];
        assert_eq!(Grant::tenants("t", none), Err(InvalidGrant::NoTenant));
        assert_eq!(
            Grant::all_tenants("hunter2 é"),
            Err(InvalidToken::NotVisibleAscii.into())
        );
        let tenant = Grant::tenants("hunter2", ["a/b"]).unwrap_err();
        assert!(matches!(tenant, InvalidGrant::Tenant(_)));
        assert!(!tenant.to_string().contains("hunter2"));
    }

    #[test]
    fn a_bearer_token_is_read_as_it_is_written() {
        for (value, token) in [
            ("Bearer abc", Some("abc")),
            ("bearer  abc ", Some("abc")),
            ("BEARER a b", Some("a b")),
            ("Bearer ", None),
            ("Bearer", None),
            ("Bearer\tabc", None),
            ("Basic abc", None),
            ("abc", None),
            ("", None),
        ] {
            assert_eq!(
                bearer(value.as_bytes()),
                token.map(str::as_bytes),
                "{value}"
            );
        }
    }
}
