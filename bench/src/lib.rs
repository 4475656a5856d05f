//! What the benchmarks share: the load, how it is measured, the floors, and our own client.
//!
//! A floor is the least work with which messages can be published over a wire: nothing is checked,
//! queued or tried again. `docs/performance.md` has the method and the figures.

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

pub mod floor;
pub mod hooks;
pub mod load;
pub mod measure;
pub mod micro;
pub mod ours;
pub mod protobuf;
pub mod pulls;

/// An error of a benchmark: told, and the end of it.
pub type Error = Box<dyn std::error::Error + Send + Sync>;
