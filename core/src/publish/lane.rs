//! The messages of one ordering key.

use std::collections::VecDeque;
use std::time::Instant;

use super::entry::{Batch, Entry, Kind};
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
            // Most keys have one message at a time.
            entries: VecDeque::with_capacity(1),
            batched: Fill::default(),
            state: LaneState::Idle,
        }
    }

    pub(super) fn push(&mut self, entry: Entry<T>) {
        if entry.kind == Kind::Batched {
            self.batched.add(&entry.body.sizes());
        }
        self.entries.push_back(entry);
    }

    /// Whether waiting gains its next batch nothing: it is full, or a direct message stands behind
    /// it that no later one may pass.
    pub(super) fn is_closed(&self, limits: &BatchLimits) -> bool {
        self.batched.is_full(limits) || self.entries.len() > self.batched.len()
    }

    /// Takes every message of it.
    pub(super) fn take_all(&mut self) -> Vec<Entry<T>> {
        self.batched = Fill::default();
        std::mem::take(&mut self.entries).into()
    }

    /// Takes the messages at its head that leave the same way and fit one request.
    pub(super) fn take(&mut self, limits: &BatchLimits) -> Batch<T> {
        let mut fill = Fill::default();
        let kind = self.entries.front().map(|head| head.kind);
        let mut taken = Batch::with_room(limits.room(self.entries.len()));
        while let Some(next) = self.entries.front() {
            let sizes = next.body.sizes();
            if Some(next.kind) != kind || !fill.add_if_it_takes(&sizes, limits) {
                break;
            }
            if let Some(Entry { member, body, .. }) = self.entries.pop_front() {
                taken.push(member, body);
            }
        }
        if kind == Some(Kind::Batched) {
            self.batched.remove(&fill);
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::publish::testing::{at, builder, entry, tags};

    fn lane(hows: &[&str]) -> Lane<u32> {
        let mut lane = Lane::new();
        for (tag, how) in (1..).zip(hows) {
            lane.push(entry(tag, how, at(0)));
        }
        lane
    }

    #[test]
    fn a_request_takes_the_head_up_to_its_limits_or_another_way_to_leave() {
        let options = builder().batch_max_entries(2).build().unwrap();
        let (batched, direct) = (
            BatchLimits::batched(&options),
            BatchLimits::direct(&options),
        );
        let mut lane = lane(&["/k", "/k", "/k", "/k!", "/k!", "/k"]);
        assert_eq!(tags(&lane.take(&batched)), [1, 2]);
        assert_eq!(tags(&lane.take(&batched)), [3]);
        assert_eq!(tags(&lane.take(&direct)), [4]);
        assert_eq!(tags(&lane.take(&direct)), [5]);
        assert_eq!(tags(&lane.take(&batched)), [6]);
        assert_eq!(lane.take(&batched).len(), 0);
    }

    #[test]
    fn direct_messages_do_not_fill_its_batch() {
        let options = builder().batch_max_entries(2).build().unwrap();
        let limits = BatchLimits::batched(&options);
        let mut lane = lane(&["/k", "/k!", "/k!"]);
        assert!(!lane.batched.is_full(&limits));
        lane.push(entry(4, "/k", at(0)));
        assert!(lane.batched.is_full(&limits));
        lane.take(&limits);
        assert!(!lane.batched.is_full(&limits));
    }
}
