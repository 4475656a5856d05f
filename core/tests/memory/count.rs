//! An allocator that counts.

use std::alloc::System;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// What the process has allocated up to now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Bytes that are not given back.
    pub(crate) held: isize,
    /// How often it allocated, or made an allocation larger.
    pub(crate) allocations: usize,
}

impl Counts {
    pub(crate) fn now() -> Self {
        let stats = ALLOCATOR.stats();
        Self {
            held: stats.bytes_allocated.cast_signed() - stats.bytes_deallocated.cast_signed(),
            allocations: stats.allocations + stats.reallocations,
        }
    }
}
