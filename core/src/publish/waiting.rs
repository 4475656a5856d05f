//! What waits to be sent, and which of it goes next.

use std::collections::{BTreeSet, HashMap};
use std::time::Instant;

use foldhash::fast::FixedState;

use super::body::Body;
use super::entry::{Batch, Entry, Kind, Member};
use super::fill::BatchLimits;
use super::lane::{Lane, LaneState};
use super::linger::Linger;
use super::outlet::Outlet;
use crate::options::PublisherOptions;
use crate::text::Text;

/// Everything admitted and not yet in a request.
///
/// Messages without an ordering key share one queue for each kind. Each ordering key that has
/// something waiting or in flight is a lane of its own, which costs nothing once it has neither.
#[derive(Debug)]
pub(super) struct Waiting<T> {
    batched: Outlet<T>,
    direct: Outlet<T>,
    /// Only looked up, never iterated.
    lanes: HashMap<Text, Lane<T>, FixedState>,
    /// Lanes whose batch still lingers, by when it is due.
    lingering: BTreeSet<(Instant, Text)>,
    linger: Linger,
    len: usize,
}

impl<T> Waiting<T> {
    pub(super) fn new(options: &PublisherOptions) -> Self {
        Self {
            batched: Outlet::new(BatchLimits::batched(options), true),
            direct: Outlet::new(BatchLimits::direct(options), false),
            lanes: HashMap::default(),
            lingering: BTreeSet::new(),
            linger: Linger::new(options.batch_linger()),
            len: 0,
        }
    }

    /// How many messages wait.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// How many ordering keys have something waiting or in flight.
    pub(super) fn keys(&self) -> usize {
        self.lanes.len()
    }

    /// Adds a message that came at `arrival` and leaves as `kind` says.
    #[inline]
    pub(super) fn push(&mut self, kind: Kind, arrival: Instant, member: Member<T>, body: Body) {
        self.len += 1;
        let key = body.ordering_key();
        if key.is_empty() {
            self.outlet(kind).push(arrival, member, body);
            return;
        }
        let key = key.clone();
        let lane = self.lanes.entry(key.clone()).or_insert_with(Lane::new);
        lane.push(Entry {
            kind,
            arrival,
            member,
            body,
        });
        self.settle_in(&key);
    }

    /// The next batch of `kind` that has to leave by `now`, and the ordering key its messages share,
    /// if any. Nothing else of the key leaves before [`Waiting::release`].
    pub(super) fn take(&mut self, kind: Kind, now: Instant) -> Option<(Option<Text>, Batch<T>)> {
        self.end_lingers(now);
        let outlet = match kind {
            Kind::Batched => &mut self.batched,
            Kind::Direct => &mut self.direct,
        };
        let unkeyed = outlet.due(&self.linger).is_some_and(|due| due <= now);
        let keyed = !outlet.ready.is_empty();
        // Where both could go they take turns, so that neither keeps the other waiting.
        let take_keyed = keyed && (!unkeyed || outlet.keyed_turn);
        if !take_keyed && !unkeyed {
            return None;
        }
        outlet.keyed_turn = !take_keyed;
        let (key, batch) = if take_keyed {
            let key = outlet.ready.pop()?;
            let lane = self.lanes.get_mut(&key)?;
            let batch = lane.take(&outlet.limits);
            (Some(key), batch)
        } else {
            (None, outlet.take())
        };
        self.len -= batch.len();
        Some((key, batch))
    }

    /// When the next batch of `kind` has to leave; an instant in the past means now.
    pub(super) fn due(&self, kind: Kind) -> Option<Instant> {
        let outlet = match kind {
            Kind::Batched => &self.batched,
            Kind::Direct => &self.direct,
        };
        let ready = outlet.ready.peek().and_then(|key| {
            let lane = self.lanes.get(key)?;
            lane.entries.front().map(|entry| entry.arrival)
        });
        let lingering = match kind {
            Kind::Batched => self.lingering.first().map(|(due, _)| *due),
            Kind::Direct => None,
        };
        let dues = [ready, lingering, outlet.due(&self.linger)];
        dues.into_iter().flatten().min()
    }

    /// The request of ordering key `key` is over: its next messages may leave.
    pub(super) fn release(&mut self, key: &Text) {
        if let Some(lane) = self.lanes.get_mut(key) {
            lane.state = LaneState::Idle;
            if lane.entries.is_empty() {
                self.remove(key);
            } else {
                self.settle_in(key);
            }
        }
    }

    /// Takes what waits behind the request of `key`, in order.
    pub(super) fn take_behind(&mut self, key: &Text) -> Vec<Entry<T>> {
        let lane = self.lanes.get_mut(key);
        let taken = lane.map(Lane::take_all).unwrap_or_default();
        self.len -= taken.len();
        taken
    }

    /// Takes everything of ordering keys that have no request, each key's in order.
    pub(super) fn take_idle_keys(&mut self) -> Vec<Entry<T>> {
        let mut taken = Vec::new();
        while let Some(key) = self.pop_idle_key() {
            let lane = self.remove(&key);
            taken.extend(lane.into_iter().flat_map(|lane| lane.entries));
        }
        self.len -= taken.len();
        taken
    }

    /// A key without messages costs nothing, nor does room that many had.
    fn remove(&mut self, key: &Text) -> Option<Lane<T>> {
        let lane = self.lanes.remove(key);
        if self.lanes.is_empty() && self.lanes.capacity() > KEEP {
            self.lanes = HashMap::default();
        }
        lane
    }

    /// A key that lingers, or has its turn.
    fn pop_idle_key(&mut self) -> Option<Text> {
        if let Some((_, key)) = self.lingering.pop_first() {
            return Some(key);
        }
        let batched = self.batched.ready.pop();
        batched.or_else(|| self.direct.ready.pop())
    }

    /// What waits now leaves without lingering.
    pub(super) fn flush(&mut self, now: Instant) {
        self.linger.flush(now);
        self.end_all_lingers();
    }

    /// Nothing lingers any more.
    pub(super) fn close(&mut self) {
        self.linger.close();
        self.end_all_lingers();
    }

    /// The lane has work and no request: it becomes ready, or lingers.
    fn settle_in(&mut self, key: &Text) {
        let Some(lane) = self.lanes.get_mut(key) else {
            return;
        };
        let Some(head) = lane.entries.front() else {
            return;
        };
        let kind = head.kind;
        let due = self.linger.due(head.arrival);
        let ready =
            kind == Kind::Direct || due <= head.arrival || lane.is_closed(&self.batched.limits);
        match lane.state {
            LaneState::Idle if !ready => {
                lane.state = LaneState::Lingering(due);
                self.lingering.insert((due, key.clone()));
            }
            LaneState::Idle => self.make_ready(key),
            LaneState::Lingering(due) if ready => {
                self.lingering.remove(&(due, key.clone()));
                self.make_ready(key);
            }
            LaneState::Lingering(_) | LaneState::Busy => {}
        }
    }

    fn make_ready(&mut self, key: &Text) {
        let Some(lane) = self.lanes.get_mut(key) else {
            return;
        };
        lane.state = LaneState::Busy;
        let Some(head) = lane.entries.front() else {
            return;
        };
        let (kind, tenant) = (head.kind, head.member.tenant);
        self.outlet(kind).ready.push(tenant, key.clone());
    }

    fn end_lingers(&mut self, now: Instant) {
        while self.lingering.first().is_some_and(|(due, _)| *due <= now) {
            if let Some((_, key)) = self.lingering.pop_first() {
                self.make_ready(&key);
            }
        }
    }

    fn end_all_lingers(&mut self) {
        while let Some((_, key)) = self.lingering.pop_first() {
            self.make_ready(&key);
        }
    }

    fn outlet(&mut self, kind: Kind) -> &mut Outlet<T> {
        match kind {
            Kind::Batched => &mut self.batched,
            Kind::Direct => &mut self.direct,
        }
    }
}

/// Room for more ordering keys than this is given back once there are none.
const KEEP: usize = 1_024;

#[cfg(test)]
mod tests;
