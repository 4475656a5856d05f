//! Secrets, and whether a text has one of them.

use pubsink_runtime::core::claim::ClaimRef;
use pubsink_runtime::core::envelope::Envelope;

/// A bearer token, which the server asks for.
pub(crate) const BEARER: &str = "planted-bearer-token";
/// The signature of a signed claim.
const SIGNATURE: &str = "planted-signature-of-a-claim-0123456789abcd";
/// A body larger than what travels in a message.
const LARGE: usize = 70_000;

/// A hook with a secret wherever a provider may have put one. Its id says what is to become of it.
pub(crate) fn hook(what: &str) -> Envelope {
    let mut hook = Envelope::new(what, "github", 1_764_500_000_332, "planted-body");
    hook.tenant_id = Some("acme".to_owned());
    hook.path = "/hooks/planted-path".to_owned();
    let headers = [
        ("Authorization", "Bearer planted-authorization"),
        ("X-Api-Key", "planted-api-key"),
        ("Cookie", "session=planted-cookie"),
        ("X-Signature", "planted-signature"),
        ("traceparent", "planted-traceparent"),
        ("tracestate", "vendor=planted-tracestate"),
    ];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.into()));
    hook.headers.extend(headers);
    if matches!(what, "claim_check" | "claimed") {
        hook.body = "planted-body".repeat(LARGE / 12).into();
    }
    hook
}

pub(crate) fn signed_claim() -> ClaimRef {
    let id = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    ClaimRef::parse(&format!(
        "urn:ankusa:claim:v2:acme:{id}:1999999999:{SIGNATURE}"
    ))
    .unwrap()
}

#[track_caller]
pub(crate) fn assert_clean(text: &str) {
    let at = text.find("planted").or_else(|| text.find("1999999999"));
    if let Some(at) = at {
        let around = at.saturating_sub(200)..text.len().min(at + 60);
        let around = String::from_utf8_lossy(&text.as_bytes()[around]);
        panic!("a secret is in: {around}");
    }
}
