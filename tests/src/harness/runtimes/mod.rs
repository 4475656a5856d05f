//! The runtimes the cases run on.

mod on_smol;
mod on_tokio;

use super::host::{Flavor, Started};

/// A runtime. Its thread names begin with `name`, so that a panic on one can be told apart.
#[derive(Clone, Copy)]
pub(crate) struct RuntimeEntry {
    pub(crate) name: &'static str,
    pub(crate) start: fn(Flavor, thread_name: &str) -> Box<dyn Started>,
}

/// Every runtime.
pub(crate) fn all() -> [RuntimeEntry; 2] {
    [
        RuntimeEntry {
            name: "tokio",
            start: on_tokio::start,
        },
        RuntimeEntry {
            name: "smol",
            start: on_smol::start,
        },
    ]
}
