//! Claims: bodies too large to travel in the message, checked in at an object store.
//!
//! - [`ClaimRef`]: the name of one. It travels in place of the body.
//! - [`verify()`]: whether the bytes that lie there are the ones that were checked in.
//! - [`ClaimError`]: why a body could not be checked in or redeemed.
//! - [`object_key`]: where a claim lies in a store, and [`ClaimsUrl`]: where a store is.
//! - [`endpoint`]: what an HTTP endpoint that hands claims out answers.
//!
//! The stores themselves are I/O, and live with the runtimes.

pub mod endpoint;
mod error;
mod layout;
mod reference;
mod url;
mod verify;

pub use error::ClaimError;
pub use layout::object_key;
pub(crate) use reference::tenant_or_default;
pub use reference::{ClaimRef, DEFAULT_TENANT, InvalidClaimRef};
pub use url::{Bucket, ClaimsUrl, ClaimsUrlError, Provider};
pub use verify::{sha256_hex, verify, verify_size};
