//! Claims: bodies too large to travel in the message, checked in at an object store.
//!
//! - [`ClaimRef`]: the name of one. It travels in place of the body.
//! - [`verify`]: whether the bytes that lie there are the ones that were checked in.
//! - [`ClaimError`]: why a body could not be checked in or redeemed.
//!
//! The stores themselves are I/O, and live with the runtimes.

mod error;
mod reference;
mod verify;

pub use error::ClaimError;
pub(crate) use reference::tenant_or_default;
pub use reference::{ClaimRef, DEFAULT_TENANT, InvalidClaimRef};
pub use verify::{sha256_hex, verify};
