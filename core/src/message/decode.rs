//! A message read back.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;

use crate::claim::{ClaimRef, DEFAULT_TENANT, sha256_hex};

use super::attributes::key_of;
use super::decode_error::{DecodeCode, DecodeError};
use super::fields::{Fields, Verification};

/// Reads a message. Keys it does not know are ignored; of a key that comes twice the last counts.
///
/// # Errors
///
/// [`DecodeError`] with the first rule the message breaks, in the order of [`DecodeCode`]. The
/// same bytes break it for ever, so nothing is gained by asking for the message again.
pub fn decode(data: &[u8]) -> Result<DecodedMessage, DecodeError> {
    let fields = Fields::read(data)?;
    let v = fields.version()?;
    let id = fields.required("id")?;
    if id.is_empty() {
        return Err(DecodeError::field("id"));
    }
    let mut message = DecodedMessage {
        v,
        id: id.to_owned(),
        source_id: fields.required("source_id")?.to_owned(),
        received_at: fields.received_at()?,
        size: fields.size()?,
        tenant_id: fields.optional("tenant_id")?,
        content_type: fields.optional("content_type")?,
        dedupe_key: fields.optional("dedupe_key")?,
        replay_id: fields.optional("replay_id")?,
        idempotency_key: fields.optional("idempotency_key")?,
        traceparent: fields.optional("traceparent")?,
        tracestate: fields.optional("tracestate")?,
        instance: fields.optional("instance")?,
        region: fields.optional("region")?,
        headers: fields.headers()?,
        sha256: fields.sha256()?,
        verification: fields.verification()?,
        body: None,
        claim: None,
    };
    match (fields.is_present("body_base64"), fields.is_present("claim")) {
        (true, true) => return Err(DecodeCode::AmbiguousBody.into()),
        (false, false) => return Err(DecodeCode::MissingBody.into()),
        (true, false) => message.body = Some(body(&fields, &message)?),
        (false, true) => message.claim = Some(claim(&fields, &message)?),
    }
    Ok(message)
}

/// A message read back.
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct DecodedMessage {
    /// The version it was written in, [`MIN_VERSION`](super::MIN_VERSION) to
    /// [`MAX_VERSION`](super::MAX_VERSION).
    pub v: u64,
    /// The hook's id, never empty.
    pub id: String,
    /// The source the hook was captured under.
    pub source_id: String,
    /// The hook's tenant.
    pub tenant_id: Option<String>,
    /// When the hook was received, unix milliseconds.
    pub received_at: i64,
    /// The content type of the hook's body.
    pub content_type: Option<String>,
    /// The body's length in bytes.
    pub size: u64,
    /// The provider's own key for the event.
    pub dedupe_key: Option<String>,
    /// The replay job this delivery belongs to.
    pub replay_id: Option<String>,
    /// The idempotency key as it was sent; [`idempotency_key()`](Self::idempotency_key) fills in
    /// a missing one.
    pub idempotency_key: Option<String>,
    /// The provider's headers, by name.
    pub headers: BTreeMap<String, String>,
    /// The SHA-256 of the body, lowercase hex. That of an inline body was checked; that of a
    /// claimed one is for whoever fetches it to check.
    pub sha256: Option<String>,
    /// The body, where it travelled in the message. Serialized as `body_base64`.
    #[cfg_attr(
        feature = "serde",
        serde(rename = "body_base64", serialize_with = "body_as_base64")
    )]
    pub body: Option<Bytes>,
    /// Where the body lies, where it did not.
    pub claim: Option<ClaimRef>,
    /// How the hook was verified when it came in.
    pub verification: Option<Verification>,
    /// The hook's W3C `traceparent`.
    pub traceparent: Option<String>,
    /// The W3C `tracestate` beside it.
    pub tracestate: Option<String>,
    /// The instance that sent the message.
    pub instance: Option<String>,
    /// The region of that instance.
    pub region: Option<String>,
}

impl DecodedMessage {
    /// The key to deduplicate on: the one that was sent or, for a sender that sends none, the one
    /// it would have computed.
    ///
    /// With `include_replay` a replay gets a key of its own, with `#replay:<replay id>` at its
    /// end, for consumers that must process replays again.
    #[must_use]
    pub fn idempotency_key(&self, include_replay: bool) -> Cow<'_, str> {
        let sent = self.idempotency_key.as_deref();
        let key = match sent.filter(|key| !key.is_empty()) {
            Some(key) => Cow::Borrowed(key),
            None => key_of(
                self.tenant_id.as_deref().unwrap_or(DEFAULT_TENANT),
                &self.source_id,
                self.dedupe_key.as_deref(),
                &self.id,
            ),
        };
        match &self.replay_id {
            Some(replay_id) if include_replay => format!("{key}#replay:{replay_id}").into(),
            _ => key,
        }
    }
}

impl fmt::Debug for DecodedMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DecodedMessage")
            .field("v", &self.v)
            .field("id", &self.id)
            .field("source_id", &self.source_id)
            .field("tenant_id", &self.tenant_id)
            .field("received_at", &self.received_at)
            .field("content_type", &self.content_type)
            .field("size", &self.size)
            .field("dedupe_key", &self.dedupe_key)
            .field("replay_id", &self.replay_id)
            .field("idempotency_key", &self.idempotency_key)
            .field("headers", &self.headers.keys())
            .field("sha256", &self.sha256)
            .field("body_len", &self.body.as_ref().map(Bytes::len))
            .field("claim", &self.claim)
            .field("verification", &self.verification)
            .field("traceparent", &self.traceparent)
            .field("tracestate", &self.tracestate)
            .field("instance", &self.instance)
            .field("region", &self.region)
            .finish()
    }
}

fn body(fields: &Fields<'_>, message: &DecodedMessage) -> Result<Bytes, DecodeError> {
    let encoded = fields.text("body_base64");
    let body = encoded.and_then(|encoded| STANDARD.decode(encoded).ok());
    let body = body.ok_or(DecodeCode::InvalidBodyBase64)?;
    if u64::try_from(body.len()) != Ok(message.size) {
        return Err(DecodeCode::SizeMismatch.into());
    }
    if let Some(expected) = &message.sha256
        && sha256_hex(&body) != *expected
    {
        return Err(DecodeCode::Integrity.into());
    }
    Ok(body.into())
}

fn claim(fields: &Fields<'_>, message: &DecodedMessage) -> Result<ClaimRef, DecodeError> {
    let claim = fields.text("claim").map(ClaimRef::parse);
    let Some(Ok(claim)) = claim else {
        return Err(DecodeError::field("claim"));
    };
    if message.sha256.is_none() {
        return Err(DecodeError::field("sha256"));
    }
    match &message.tenant_id {
        Some(tenant) if tenant != claim.tenant() => Err(DecodeCode::TenantMismatch.into()),
        _ => Ok(claim),
    }
}

#[cfg(feature = "serde")]
fn body_as_base64<S: serde::Serializer>(
    body: &Option<Bytes>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match body {
        Some(body) => serializer.serialize_str(&STANDARD.encode(body)),
        None => serializer.serialize_none(),
    }
}
