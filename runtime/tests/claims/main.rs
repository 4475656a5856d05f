//! Claim stores, and the topic sink that checks bodies in by itself.

#![allow(clippy::unwrap_used, clippy::panic, reason = "they fail the test")]

mod contract;
mod directory;
mod memory;
mod sink;
mod support;
