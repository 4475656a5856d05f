//! The messages of one ordering key.

use std::collections::VecDeque;
use std::time::Instant;

use super::entry::{Entry, Kind};
use super::fill::{BatchLimits, Fill};

/// One ordering key's messages, in the order they were admitted. One request of it is in flight
/// at a time, also while it is bisected.
#[derive(Debug)]
pub(super) struct Lane<T> {
    pub(super) entries: VecDeque<Entry<T>>,
    /// The batched ones among them.
    pub(super) batched: Fill,
    pub(super) state: LaneState,
}

/// Where a lane stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LaneState {
    /// Nothing of it is scheduled.
    Idle,
    /// Its next batch waits for company until then.
    Lingering(Instant),
    /// It has its turn, or a request.
    Busy,
}

impl<T> Lane<T> {
    pub(super) fn new() -> Self {
        Self {
            entries: VecDeque::new(),
            batched: Fill::default(),
            state: LaneState::Idle,
        }
    }

    pub(super) fn push(&mut self, entry: Entry<T>) {
        if Kind::of(&entry.admission) == Kind::Batched {
            self.batched.add(entry.admission.sizes());
        }
        self.entries.push_back(entry);
    }

    /// Takes the messages at its head that leave the same way and fit one request.
    pub(super) fn take(&mut self, limits: &BatchLimits) -> Vec<Entry<T>> {
        let mut fill = Fill::default();
        let mut taken = Vec::new();
        let kind = self.entries.front().map(|head| Kind::of(&head.admission));
        while let Some(next) = self.entries.front() {
            let sizes = next.admission.sizes();
            if Some(Kind::of(&next.admission)) != kind || !fill.takes(sizes, limits) {
                break;
            }
            fill.add(sizes);
            if kind == Some(Kind::Batched) {
                self.batched.remove(sizes);
            }
            taken.extend(self.entries.pop_front());
        }
        taken
    }
}
