//! The AsyncAPI document: what is in it, its structure whatever goes in, and what the official
//! parser says of it.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail like tests"
)]

mod document;
mod official;
mod properties;
mod samples;
mod schema;
mod secrets;
mod structure;
