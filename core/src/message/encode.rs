//! A hook turned into its message.

use std::fmt;

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use crate::claim::{ClaimRef, tenant_or_default};
use crate::delivery::DeliveryContext;
use crate::envelope::Envelope;
use crate::failure::Diagnostics;
use crate::json::{
    base64_len, write_base64, write_hex, write_integer, write_optional_string, write_string,
};
use crate::reason::{ClaimProblem, InvalidMessage, Reason};

use super::attributes::idempotency_key;
use super::headers::write_headers;

/// The version of the format that is written.
pub const VERSION: u64 = 1;

/// A hook turned into its message, the body not yet encoded: cheap to queue, and its exact size
/// known.
///
/// An inline body is shared with the envelope, not copied. A claimed one is hashed at once and
/// let go, so that a queued message never holds more than [`encoded_len`](Self::encoded_len).
#[derive(Clone, PartialEq, Eq)]
pub struct HookMessage {
    /// The message up to the digest's opening quote, or all of it where the body is claimed.
    head: Bytes,
    inline: Option<Bytes>,
}

impl HookMessage {
    /// Turns `envelope` into its message. A body of at most `inline_max_bytes` travels in it; for
    /// a larger one, and only then, `context.claim` does.
    ///
    /// # Errors
    ///
    /// All are the delivery's own fault and stay when it is tried again:
    /// [`Reason::InvalidMessage`] for an empty id and for a forwarded header that is not UTF-8,
    /// [`Reason::ClaimCheck`] for a large body without a claim or with another tenant's.
    pub fn new(
        envelope: &Envelope,
        context: &DeliveryContext,
        inline_max_bytes: usize,
    ) -> Result<(Self, Diagnostics), Reason> {
        if envelope.id.is_empty() {
            return Err(Reason::InvalidMessage(InvalidMessage::EmptyId));
        }
        let claim = usable_claim(envelope, context, inline_max_bytes)?;
        let mut head = Vec::with_capacity(head_capacity(envelope));
        write_fields(&mut head, envelope, context);
        head.extend_from_slice(b",\"headers\":");
        let headers_left_out = write_headers(&mut head, &envelope.headers, context)?;
        head.extend_from_slice(b",\"sha256\":\"");
        let inline = match claim {
            None => Some(envelope.body.clone()),
            Some(claim) => {
                write_hex(&mut head, &Sha256::digest(&envelope.body));
                head.extend_from_slice(b"\",\"claim\":");
                write_string(&mut head, claim.as_str());
                head.push(b'}');
                None
            }
        };
        let head = head.into();
        Ok((Self { head, inline }, Diagnostics { headers_left_out }))
    }

    /// How many bytes [`encode`](Self::encode) gives. Nothing is encoded to know it.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        let tail = self.inline.as_ref().map_or(0, |body| {
            DIGEST_LEN + BEFORE_BODY.len() + base64_len(body.len()) + AFTER_BODY.len()
        });
        self.head.len() + tail
    }

    /// Appends the message to `out`, the body hashed and encoded in place.
    pub fn encode_into(&self, out: &mut Vec<u8>) {
        out.reserve(self.encoded_len());
        out.extend_from_slice(&self.head);
        if let Some(body) = &self.inline {
            write_hex(out, &Sha256::digest(body));
            out.extend_from_slice(BEFORE_BODY);
            write_base64(out, body);
            out.extend_from_slice(AFTER_BODY);
        }
    }

    /// The message in a buffer of its own. One with a claimed body is there already.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        if self.inline.is_none() {
            return self.head.clone();
        }
        let mut out = Vec::new();
        self.encode_into(&mut out);
        out.into()
    }
}

impl fmt::Debug for HookMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HookMessage")
            .field("encoded_len", &self.encoded_len())
            .field("inline_body_len", &self.inline.as_ref().map(Bytes::len))
            .finish()
    }
}

/// A SHA-256 in hex.
const DIGEST_LEN: usize = 64;
const BEFORE_BODY: &[u8] = b"\",\"body_base64\":\"";
const AFTER_BODY: &[u8] = b"\"}";

/// The claim that stands for the body, where it is too large to travel.
fn usable_claim<'a>(
    envelope: &Envelope,
    context: &'a DeliveryContext,
    max: usize,
) -> Result<Option<&'a ClaimRef>, Reason> {
    let size = envelope.size();
    if size <= max {
        return Ok(None);
    }
    let Some(claim) = &context.claim else {
        return Err(Reason::ClaimCheck(ClaimProblem::Missing { size, max }));
    };
    let hook = tenant_or_default(envelope.tenant());
    if claim.tenant() != hook {
        return Err(Reason::ClaimCheck(ClaimProblem::TenantMismatch {
            claim: claim.tenant().into(),
            hook: hook.into(),
        }));
    }
    Ok(Some(claim))
}

/// Room for the head where few characters need an escape.
fn head_capacity(envelope: &Envelope) -> usize {
    // The keys, the numbers, a digest and a claim.
    const FIXED: usize = 512;
    let optional = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let headers = envelope.headers.iter();
    FIXED
        + 2 * (envelope.id.len() + envelope.source_id.len() + optional(&envelope.tenant_id))
        + 2 * optional(&envelope.dedupe_key)
        + optional(&envelope.content_type)
        + headers
            .map(|(name, value)| name.len() + value.len() + 6)
            .sum::<usize>()
}

fn write_fields(out: &mut Vec<u8>, envelope: &Envelope, context: &DeliveryContext) {
    out.extend_from_slice(b"{\"v\":");
    write_integer(out, VERSION);
    out.extend_from_slice(b",\"id\":");
    write_string(out, &envelope.id);
    out.extend_from_slice(b",\"source_id\":");
    write_string(out, &envelope.source_id);
    out.extend_from_slice(b",\"tenant_id\":");
    write_optional_string(out, envelope.tenant());
    out.extend_from_slice(b",\"received_at\":");
    write_integer(out, envelope.received_at);
    out.extend_from_slice(b",\"content_type\":");
    write_optional_string(out, envelope.content_type.as_deref());
    out.extend_from_slice(b",\"size\":");
    write_integer(out, envelope.size());
    out.extend_from_slice(b",\"dedupe_key\":");
    write_optional_string(out, envelope.dedupe_key.as_deref());
    out.extend_from_slice(b",\"replay_id\":");
    write_optional_string(out, context.replay_id.as_deref());
    out.extend_from_slice(b",\"idempotency_key\":");
    write_string(out, &idempotency_key(envelope));
}
