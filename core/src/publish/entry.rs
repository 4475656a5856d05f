//! An admitted message, and how it leaves.

use std::time::Instant;

use super::admission::Admission;
use super::flushes::Stretch;

/// How a message leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// With others, after a linger.
    Batched,
    /// In a request of its own, at once.
    Direct,
}

impl Kind {
    pub(super) const ALL: [Self; 2] = [Self::Batched, Self::Direct];

    pub(super) fn of(admission: &Admission) -> Self {
        if admission.is_direct() {
            Self::Direct
        } else {
            Self::Batched
        }
    }
}

/// An admitted message.
#[derive(Debug)]
pub(super) struct Entry<T> {
    pub(super) tag: T,
    pub(super) admission: Admission,
    pub(super) stretch: Stretch,
    pub(super) arrival: Instant,
}
