//! The message a hook travels in: wire format v1, shared by every queue sink.
//!
//! [`HookMessage`] turns an envelope into a message, [`attributes()`] gives what travels beside it,
//! and [`decode()`] reads a message back on the consuming side. The bytes depend on the envelope
//! and its context alone.
//!
//! # What a message holds
//!
//! Compact JSON with these keys in this order, `null` where something is absent: `v` (1), `id`,
//! `source_id`, `tenant_id`, `received_at`, `content_type`, `size`, `dedupe_key`, `replay_id`,
//! `idempotency_key`, `headers`, `sha256` (of the body, lowercase hex), and then either
//! `body_base64` or, for a body too large to travel, `claim`. An empty `tenant_id` counts as none.
//!
//! # Which headers are forwarded
//!
//! Header names are lowercased (ASCII letters only, and HTTP has no others), the values of a
//! repeated header are joined with `, ` in the order they arrived, and the result is sorted by
//! name. [`NEVER_FORWARDED`] headers and those that start with [`RESERVED_PREFIX`] stay behind,
//! whatever a list says.
//!
//! With `max_headers` or `forward_headers_max_bytes` names are admitted in the order they first
//! arrived. A name is left out when it would be one too many, or when the bytes of all admitted
//! names and joined values would pass the bound with it; smaller ones behind it may still fit.
//! What was left out is named in the [diagnostics](crate::failure::Diagnostics). A value that is
//! not UTF-8 fails the delivery if its header would be forwarded, and does not matter if not.

mod attributes;
mod decode;
mod decode_error;
mod encode;
mod fields;
mod headers;

pub use attributes::{attributes, idempotency_key};
pub use decode::{DecodedMessage, decode};
pub use decode_error::{DecodeCode, DecodeError};
pub use encode::{HookMessage, VERSION};
pub use fields::{MAX_VERSION, MIN_VERSION, Verification};
pub use headers::{NEVER_FORWARDED, RESERVED_PREFIX};
