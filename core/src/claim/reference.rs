//! The name of a claimed body.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

use crate::text::Text;

/// The tenant of a hook that has none, in claim refs and idempotency keys.
pub const DEFAULT_TENANT: &str = "default";

/// The name of a claimed body: `urn:ankusa:claim:v1:<tenant>:<claim id>`, or the signed form
/// `urn:ankusa:claim:v2:<tenant>:<claim id>:<expiry>:<signature>`.
///
/// A v1 ref grants nothing. A signed one does until it expires, to whoever holds it: its expiry
/// and signature are shown by [`Display`](fmt::Display), [`as_str`](Self::as_str) and
/// [`path`](Self::path), which have to carry them, and never by `Debug`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClaimRef {
    text: Box<str>,
    tenant_len: usize,
}

impl ClaimRef {
    /// Reads a claim ref. Only the exact form is one: not a lowercase claim id, an extra segment,
    /// or a newline at the end.
    ///
    /// # Errors
    ///
    /// [`InvalidClaimRef`] names the part that is wrong.
    pub fn parse(text: &str) -> Result<Self, InvalidClaimRef> {
        let (rest, count) = if let Some(rest) = text.strip_prefix(V1) {
            (rest, 2)
        } else if let Some(rest) = text.strip_prefix(V2) {
            (rest, 4)
        } else {
            return Err(InvalidClaimRef::Prefix {
                head: head(text, V1.len()),
            });
        };
        let found = rest.split(':').count();
        if found != count {
            return Err(InvalidClaimRef::Parts {
                found,
                expected: count,
            });
        }
        let mut parts = rest.split(':');
        let mut part = || parts.next().unwrap_or_default();
        let is_signed = count == 4;
        let tenant = part();
        check_tenant(tenant).map_err(|invalid| invalid.shown(is_signed))?;
        check_id(part()).map_err(|invalid| invalid.shown(is_signed))?;
        if is_signed {
            if !is_expiry(part()) {
                return Err(InvalidClaimRef::Expiry);
            }
            if !is_signature(part()) {
                return Err(InvalidClaimRef::Signature);
            }
        }
        Ok(Self {
            text: text.into(),
            tenant_len: tenant.len(),
        })
    }

    /// The plain ref of a claim, by its parts.
    ///
    /// # Errors
    ///
    /// [`InvalidClaimRef::Tenant`] or [`InvalidClaimRef::ClaimId`], as [`parse`](Self::parse).
    pub fn new(tenant: &str, id: &str) -> Result<Self, InvalidClaimRef> {
        check_tenant(tenant)?;
        check_id(id)?;
        Ok(Self {
            text: format!("{V1}{tenant}:{id}").into(),
            tenant_len: tenant.len(),
        })
    }

    /// The ref under which the body of one hook is checked in. It depends on the arguments alone,
    /// so every retry of a hook names the same object and none is orphaned.
    ///
    /// The claim id is a ULID: its time is `received_at` (unix milliseconds, clamped to the 48
    /// bits it has), its random part the head of the envelope id's SHA-256. No tenant, or an
    /// empty one, is [`DEFAULT_TENANT`].
    ///
    /// # Errors
    ///
    /// [`InvalidClaimRef::Tenant`] if `tenant` is not 1 to 64 characters of `A-Za-z0-9_-`.
    pub fn derive(
        tenant: Option<&str>,
        received_at: i64,
        envelope_id: &str,
    ) -> Result<Self, InvalidClaimRef> {
        let tenant = tenant_or_default(tenant);
        check_tenant(tenant)?;
        let digest = Sha256::digest(envelope_id.as_bytes());
        let chance = digest[..10]
            .iter()
            .fold(0, |bits, &byte| bits << 8 | u128::from(byte));
        let time = u128::from(received_at.clamp(0, MAX_TIME).unsigned_abs());
        Ok(Self {
            text: format!("{V1}{tenant}:{}", ulid(time << 80 | chance)).into(),
            tenant_len: tenant.len(),
        })
    }

    /// The ref as it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The tenant that owns the claim.
    #[must_use]
    pub fn tenant(&self) -> &str {
        &self.text[V1.len()..self.tenant_end()]
    }

    /// The claim's id, a canonical ULID.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.text[self.tenant_end() + 1..self.id_end()]
    }

    /// Whether the ref is signed, and so grants the body to its holder.
    #[must_use]
    pub fn is_signed(&self) -> bool {
        self.id_end() < self.text.len()
    }

    /// The gateway's path of the body, with the query of a signed ref.
    #[must_use]
    pub fn path(&self) -> String {
        let (tenant, id) = (self.tenant(), self.id());
        let proof = self.text[self.id_end()..].trim_start_matches(':');
        match proof.split_once(':') {
            None => format!("/v1/claims/{tenant}/{id}"),
            Some((expiry, signature)) => {
                format!("/v1/claims/{tenant}/{id}?exp={expiry}&sig={signature}")
            }
        }
    }

    fn tenant_end(&self) -> usize {
        V1.len() + self.tenant_len
    }

    fn id_end(&self) -> usize {
        self.tenant_end() + 1 + ULID_LEN
    }
}

impl FromStr for ClaimRef {
    type Err = InvalidClaimRef;

    fn from_str(text: &str) -> Result<Self, InvalidClaimRef> {
        Self::parse(text)
    }
}

impl fmt::Display for ClaimRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for ClaimRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let proof = if self.is_signed() { ":[redacted]" } else { "" };
        write!(f, "ClaimRef({}{proof})", &self.text[..self.id_end()])
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for ClaimRef {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

/// Why a text is no claim ref. What may be a signature is never repeated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(tag = "problem", rename_all = "snake_case"))]
#[non_exhaustive]
pub enum InvalidClaimRef {
    /// It starts otherwise than a claim ref.
    #[error("a claim ref starts with \"{V1}\" or \"{V2}\", not with {head:?}")]
    Prefix {
        /// How it starts.
        head: Text,
    },
    /// It has too many or too few parts.
    #[error(
        "a claim ref has {expected} parts after its version (tenant and claim id, then expiry and \
         signature in v2), this one has {found}"
    )]
    Parts {
        /// How many it has.
        found: usize,
        /// How many its version has.
        expected: usize,
    },
    /// The tenant is not one.
    #[error("a claim's tenant is 1 to 64 characters of A-Z a-z 0-9 _ -, not {tenant:?}")]
    Tenant {
        /// The head of the tenant; `[redacted]` of a signed ref.
        tenant: Text,
    },
    /// The claim id is not a canonical ULID.
    #[error(
        "a claim id is a ULID of 26 characters, the first 0 to 7, uppercase and without I, L, O \
         and U, not {id:?}"
    )]
    ClaimId {
        /// The head of the claim id; `[redacted]` of a signed ref, or where it may be a signature.
        id: Text,
    },
    /// The expiry of a signed ref is not one.
    #[error("the expiry of a signed claim ref is 1 to 12 digits without a leading zero")]
    Expiry,
    /// The signature of a signed ref is not one.
    #[error("the signature of a signed claim ref is 43 characters of A-Z a-z 0-9 _ -")]
    Signature,
}

impl InvalidClaimRef {
    /// The error of a ref. Where that is signed its parts may have changed places.
    fn shown(self, is_signed: bool) -> Self {
        let redacted = || Text::from("[redacted]");
        match self {
            Self::Tenant { .. } if is_signed => Self::Tenant { tenant: redacted() },
            Self::ClaimId { .. } if is_signed => Self::ClaimId { id: redacted() },
            invalid => invalid,
        }
    }
}

/// The tenant, or [`DEFAULT_TENANT`] where there is none. An empty tenant is none: no claim can
/// be filed under it.
pub(crate) fn tenant_or_default(tenant: Option<&str>) -> &str {
    tenant
        .filter(|tenant| !tenant.is_empty())
        .unwrap_or(DEFAULT_TENANT)
}

const V1: &str = "urn:ankusa:claim:v1:";
const V2: &str = "urn:ankusa:claim:v2:";
const ULID_LEN: usize = 26;
const TENANT_MAX: usize = 64;

/// The last millisecond a ULID can name, in the year 10889.
const MAX_TIME: i64 = (1 << 48) - 1;

/// Crockford's base 32.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

fn head(part: &str, chars: usize) -> Text {
    match part.char_indices().nth(chars) {
        None => part.into(),
        Some((end, _)) => format!("{}… (cut, {} bytes in all)", &part[..end], part.len()).into(),
    }
}

pub(super) fn check_tenant(tenant: &str) -> Result<(), InvalidClaimRef> {
    if (1..=TENANT_MAX).contains(&tenant.len()) && tenant.bytes().all(is_url_safe) {
        return Ok(());
    }
    Err(InvalidClaimRef::Tenant {
        tenant: head(tenant, TENANT_MAX),
    })
}

fn check_id(id: &str) -> Result<(), InvalidClaimRef> {
    if id.len() == ULID_LEN
        && id.starts_with(|first| matches!(first, '0'..='7'))
        && id.bytes().all(|byte| ALPHABET.contains(&byte))
    {
        return Ok(());
    }
    let invalid = InvalidClaimRef::ClaimId {
        id: head(id, TENANT_MAX),
    };
    Err(invalid.shown(is_signature(id) || id.contains(':')))
}

fn is_expiry(expiry: &str) -> bool {
    (1..=12).contains(&expiry.len())
        && !expiry.starts_with('0')
        && expiry.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_signature(signature: &str) -> bool {
    signature.len() == 43 && signature.bytes().all(is_url_safe)
}

fn is_url_safe(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// 128 bits as 26 characters of five bits; the first character holds three.
fn ulid(bits: u128) -> String {
    (0..ULID_LEN)
        .rev()
        .map(|place| usize::try_from((bits >> (5 * place)) & 31).unwrap_or_default())
        .map(|digit| char::from(ALPHABET[digit]))
        .collect()
}
