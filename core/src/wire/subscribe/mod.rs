//! Both wires of a subscription: [`rest`] and [`grpc`].
//!
//! # What an answer means
//!
//! Decided by the status of the error document, or the code that a gRPC call ends with, then by
//! the HTTP status; never by text.
//!
//! | answer | to a pull or a stream | to an acknowledge or a deadline change |
//! |---|---|---|
//! | `EXACTLY_ONCE_ACKID_FAILURE` that names ack ids of the request, whatever the status | | [`PerId`] |
//! | 403 or `PERMISSION_DENIED` for a rate limit, `RESOURCE_EXHAUSTED`, HTTP 429 | [`Throttled`] | `Throttled` |
//! | `NOT_FOUND`, `PERMISSION_DENIED`, `FAILED_PRECONDITION`, `UNIMPLEMENTED`, `OUT_OF_RANGE` | [`Config`] | `Config` |
//! | `INVALID_ARGUMENT` | `Config` | [`Invalid`] |
//! | `UNAUTHENTICATED` | [`Unauthenticated`] | `Unauthenticated` |
//! | `DEADLINE_EXCEEDED` or HTTP 504 to a pull | no messages, no failure | |
//! | anything else: `UNAVAILABLE`, `INTERNAL`, `UNKNOWN`, `ABORTED`, `CANCELLED`, `DEADLINE_EXCEEDED`, a success that cannot be read, a broken connection | [`Transient`] | `Transient` |
//!
//! What would be transient is throttled where the answer names a pause (`Retry-After`,
//! `RetryInfo`). A document without a status has the one that its HTTP status stands for. Where
//! something answered that is not Pub/Sub, as a proxy does with a page, the same is done on both
//! wires, by gRPC's own mapping: 401 is `UNAUTHENTICATED`, 403 `PERMISSION_DENIED`, 404
//! `UNIMPLEMENTED`, all others are transient.
//!
//! [`PerId`]: crate::subscribe::CallClass::PerId
//! [`Throttled`]: crate::subscribe::CallClass::Throttled
//! [`Config`]: crate::subscribe::CallClass::Config
//! [`Invalid`]: crate::subscribe::CallClass::Invalid
//! [`Unauthenticated`]: crate::subscribe::CallClass::Unauthenticated
//! [`Transient`]: crate::subscribe::CallClass::Transient

mod failing;
pub mod grpc;
mod received;
pub mod rest;
mod size;
mod time;

pub use failing::transport_failure;
pub use received::{Pulled, Streamed, UNREADABLE_MAX, Unreadable, UnreadableProblem};
pub use size::{ACK_REQUEST_MAX_BYTES, ack_id_bytes, ack_overhead_bytes};
