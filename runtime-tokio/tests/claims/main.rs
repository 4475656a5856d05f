//! Claim stores on tokio: by URL, against servers, and redeemed through the endpoint.

#![allow(clippy::unwrap_used, clippy::panic, reason = "they fail the test")]

#[cfg(feature = "object-store")]
mod buckets;
#[path = "../../../runtime/tests/claims/contract.rs"]
mod contract;
mod directory;
mod gateway;
#[cfg(feature = "object-store")]
mod panics;
#[cfg(feature = "object-store")]
mod scripted;
#[cfg(feature = "object-store")]
mod servers;
#[cfg(feature = "object-store")]
mod settings;
