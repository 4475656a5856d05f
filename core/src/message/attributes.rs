//! What travels beside a message: attributes, and the key consumers deduplicate on.

use std::borrow::Cow;

use crate::attributes::Attributes;
use crate::claim::tenant_or_default;
use crate::delivery::DeliveryContext;
use crate::envelope::Envelope;

/// The attributes of a hook's message. `content_type` describes the data, which is JSON, not the
/// hook's body.
#[must_use]
pub fn attributes(envelope: &Envelope, context: &DeliveryContext) -> Attributes {
    let key = idempotency_key(envelope).into_owned();
    let mut attributes = Attributes::new();
    // By name, so that nothing has to be moved.
    if let Some(dedupe_key) = &envelope.dedupe_key {
        attributes.insert("ankusa_dedupe_key", dedupe_key.clone());
    }
    attributes.insert("ankusa_id", envelope.id.clone());
    attributes.insert("ankusa_idempotency_key", key);
    attributes.insert("ankusa_message_version", "1");
    if let Some(replay_id) = &context.replay_id {
        attributes.insert("ankusa_replay_id", replay_id.clone());
    }
    attributes.insert("ankusa_source_id", envelope.source_id.clone());
    if let Some(tenant) = envelope.tenant() {
        attributes.insert("ankusa_tenant_id", tenant.to_owned());
    }
    attributes.insert("content_type", "application/json");
    if let Some(trace) = &context.trace_context {
        trace.write(&mut attributes);
    }
    attributes
}

/// The key a consumer deduplicates on: `tenant:source_id:dedupe_key` where the hook has a
/// non-empty dedupe key, else its id. A replay keeps it.
#[must_use]
pub fn idempotency_key(envelope: &Envelope) -> Cow<'_, str> {
    key_of(
        tenant_or_default(envelope.tenant()),
        &envelope.source_id,
        envelope.dedupe_key.as_deref(),
        &envelope.id,
    )
}

/// The key of a hook with these fields.
pub(super) fn key_of<'a>(
    tenant: &str,
    source_id: &str,
    dedupe_key: Option<&str>,
    id: &'a str,
) -> Cow<'a, str> {
    match dedupe_key {
        None | Some("") => Cow::Borrowed(id),
        Some(dedupe_key) => Cow::Owned(format!("{tenant}:{source_id}:{dedupe_key}")),
    }
}
