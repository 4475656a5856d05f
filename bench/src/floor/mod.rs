//! The least work with which messages can be published.
//!
//! Up to four requests are in flight, each with a buffer that is used again. Nothing is checked,
//! nothing is queued, nothing is tried again; whatever is not expected ends the run.

pub mod grpc;
pub mod hyper;
pub mod rest;

/// How many requests are in flight.
const IN_FLIGHT: usize = 4;
