//! The hook message and its attributes as JSON Schema (draft 7, as AsyncAPI has it).

use crate::message::{NEVER_FORWARDED, RESERVED_PREFIX, VERSION};

use super::node::{Node, Object};

/// The name of the message and of its schema.
pub(super) const MESSAGE: &str = "HookMessageV1";

/// The name of the attributes' schema.
pub(super) const ATTRIBUTES: &str = "HookAttributesV1";

/// What a consumer has to know of every message.
pub(super) const ADVICE: &str = "Delivered at least once: process a message only if its \
     idempotency_key is new. A replay keeps the key and has a replay_id.";

/// The hook message, its keys in the order they are written.
pub(super) fn message() -> Object {
    let properties = hook(Object::new());
    let properties = body(properties);
    let properties = optional(properties);
    Object::new()
        .with("type", "object")
        .with("title", "Hook message, version 1")
        .with("properties", properties)
        .with("required", REQUIRED.to_vec())
        .with("oneOf", vec![requires("body_base64"), requires("claim")])
}

/// The attributes, sorted by name as they travel.
pub(super) fn attributes() -> Object {
    let version = text("The message's v.").with("const", VERSION.to_string());
    let json = text("Of the message, not of the hook's body.").with("const", "application/json");
    let properties = Object::new()
        .with(
            "ankusa_dedupe_key",
            text("The message's dedupe_key; absent without one."),
        )
        .with("ankusa_id", named("The message's id."))
        .with(
            "ankusa_idempotency_key",
            named("The message's idempotency_key."),
        )
        .with("ankusa_message_version", version)
        .with(
            "ankusa_replay_id",
            text("The message's replay_id; absent outside of replays."),
        )
        .with("ankusa_source_id", text("The message's source_id."))
        .with(
            "ankusa_tenant_id",
            named("The message's tenant_id; absent without a tenant."),
        )
        .with("content_type", json);
    let required = vec![
        "ankusa_id",
        "ankusa_idempotency_key",
        "ankusa_message_version",
        "ankusa_source_id",
        "content_type",
    ];
    Object::new()
        .with("type", "object")
        .with("title", "Attributes of a hook message, version 1")
        .with("properties", properties)
        .with("required", required)
}

/// The keys that are always written, of the body one of two.
const REQUIRED: [&str; 12] = [
    "v",
    "id",
    "source_id",
    "tenant_id",
    "received_at",
    "content_type",
    "size",
    "dedupe_key",
    "replay_id",
    "idempotency_key",
    "headers",
    "sha256",
];

fn hook(properties: Object) -> Object {
    let version = Object::new()
        .with("type", "integer")
        .with("const", VERSION)
        .with("description", "The version of the format.");
    let received_at = Object::new().with("type", "integer").with(
        "description",
        "When the hook was received, in milliseconds since 1970.",
    );
    let size = Object::new()
        .with("type", "integer")
        .with("minimum", 0u64)
        .with("description", "The length of the body in bytes.");
    properties
        .with("v", version)
        .with("id", named("The hook's id."))
        .with("source_id", text("The source it was received under."))
        .with("tenant_id", or_null("Its tenant.").with("minLength", 1u64))
        .with("received_at", received_at)
        .with("content_type", or_null("The content type of the body."))
        .with("size", size)
        .with(
            "dedupe_key",
            or_null("The provider's own key of the event."),
        )
        .with(
            "replay_id",
            or_null("The replay that this delivery is part of."),
        )
        .with(
            "idempotency_key",
            named(
                "What to deduplicate on: tenant:source_id:dedupe_key where there is a dedupe_key \
                 (tenant default where there is none), else the id.",
            ),
        )
        .with("headers", headers())
}

fn body(properties: Object) -> Object {
    properties
        .with(
            "sha256",
            text("The SHA-256 of the body in lowercase hex, also where it is claimed.")
                .with("pattern", "^[0-9a-f]{64}$"),
        )
        .with(
            "body_base64",
            text("The body as it was received; this or claim, never both.")
                .with("contentEncoding", "base64")
                .with("pattern", BASE64),
        )
        .with(
            "claim",
            text("Where a body lies that is too large for the message; a v2 ref is a secret.")
                .with("pattern", CLAIM),
        )
}

/// Keys that other senders of the format add.
fn optional(properties: Object) -> Object {
    let status = named("ok, failed, skipped, or another word.");
    let flagged = Object::new().with("type", "boolean").with(
        "description",
        "Whether it was let in although a check failed.",
    );
    let verification = Object::new()
        .with("type", types(&["object", "null"]))
        .with("description", "How the hook was verified; may be missing.")
        .with(
            "properties",
            Object::new()
                .with("status", status)
                .with("flagged", flagged),
        )
        .with("required", vec!["status", "flagged"]);
    properties
        .with("verification", verification)
        .with(
            "traceparent",
            or_null("The W3C traceparent of the hook; may be missing."),
        )
        .with(
            "tracestate",
            or_null("The W3C tracestate beside it; may be missing."),
        )
        .with(
            "instance",
            or_null("The instance that sent the message; may be missing."),
        )
        .with(
            "region",
            or_null("The region of that instance; may be missing."),
        )
}

fn headers() -> Object {
    let never = Object::new().with("enum", NEVER_FORWARDED.to_vec());
    let reserved = Object::new().with("pattern", format!("^{RESERVED_PREFIX}"));
    let names = Object::new()
        .with("pattern", "^[^A-Z]*$")
        .with("not", Object::new().with("anyOf", vec![never, reserved]));
    Object::new()
        .with("type", "object")
        .with(
            "description",
            "The provider's request headers by lowercase name, repeats joined with a comma and a \
             space. Authorization and cookies are never among them.",
        )
        .with("propertyNames", names)
        .with("additionalProperties", Object::new().with("type", "string"))
}

fn text(description: &'static str) -> Object {
    Object::new()
        .with("type", "string")
        .with("description", description)
}

/// A text that is never empty.
fn named(description: &'static str) -> Object {
    text(description).with("minLength", 1u64)
}

fn or_null(description: &'static str) -> Object {
    Object::new()
        .with("type", types(&["string", "null"]))
        .with("description", description)
}

fn types(names: &[&'static str]) -> Node {
    names.to_vec().into()
}

fn requires(key: &'static str) -> Object {
    Object::new().with("required", vec![key])
}

const BASE64: &str = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$";

/// Both forms of a claim ref, as [`ClaimRef`](crate::claim::ClaimRef) reads them.
const CLAIM: &str = "^urn:ankusa:claim:(v1:[A-Za-z0-9_-]{1,64}:[0-7][0-9A-HJKMNP-TV-Z]{25}|\
     v2:[A-Za-z0-9_-]{1,64}:[0-7][0-9A-HJKMNP-TV-Z]{25}:[1-9][0-9]{0,11}:[A-Za-z0-9_-]{43})$";
