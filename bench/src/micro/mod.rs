//! Pieces of the core's work, each alone: for the microbenchmarks and for instruction counts.

pub mod pipeline;
pub mod publish;
pub mod subscribe;
