//! The sinks, as the machine sees them.

use std::collections::BTreeMap;

use crate::dispatch::breaker::{Breaker, BreakerPolicy};
use crate::dispatch::io::SinkSpec;
use crate::dispatch::lanes::Turns;
use crate::dispatch::options::DispatchOptions;
use crate::journal::Lane;
use crate::text::Text;

/// A sink, and what of its rows is to be done.
#[derive(Debug)]
pub(super) struct Sink {
    pub(super) spec: SinkSpec,
    pub(super) breaker: Breaker,
    /// Attempts that count against the concurrency.
    pub(super) counted: usize,
    /// Claims that the journal has not answered.
    pub(super) claiming: usize,
    /// What is batched.
    batches: Queue,
    /// What counts against the concurrency.
    counts: Queue,
}

/// The lanes of a sink whose attempts are alike.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// Lanes to claim rows from.
    pub(super) claims: Turns,
    /// Lanes with claimed rows that wait for their attempt.
    starts: Turns,
    /// Rows that are claimed and not recorded, and those that may come of claims under way.
    pub(super) held: usize,
}

impl Sink {
    fn new(spec: SinkSpec, breaker: BreakerPolicy) -> Self {
        Self {
            spec,
            breaker: Breaker::new(breaker),
            counted: 0,
            claiming: 0,
            batches: Queue::default(),
            counts: Queue::default(),
        }
    }

    /// Whether the attempts of a lane count against the concurrency: those that are batched do
    /// not, and what has an ordering key never is.
    pub(super) fn counts(&self, lane: &Lane) -> bool {
        !self.spec.batched || lane.key.is_some()
    }

    /// Whether a body of this size is larger than what it sends itself.
    pub(super) fn wants_claim(&self, size: usize) -> bool {
        self.spec.inline_max_bytes.is_some_and(|max| size > max)
    }

    /// The queue whose attempts count, or the one whose attempts do not.
    pub(super) fn queue(&mut self, counts: bool) -> &mut Queue {
        if counts {
            &mut self.counts
        } else {
            &mut self.batches
        }
    }

    /// The lane has rows to claim.
    pub(super) fn list(&mut self, lane: &Lane) {
        let counts = self.counts(lane);
        self.queue(counts).claims.push(lane);
    }

    /// The lane has claimed rows that wait for their attempt.
    pub(super) fn ready(&mut self, lane: &Lane) {
        let counts = self.counts(lane);
        self.queue(counts).starts.push(lane);
    }

    /// The next lane to begin an attempt of; `room` is whether one that counts may begin.
    pub(super) fn next_ready(&mut self, room: bool) -> Option<Lane> {
        let batch = self.batches.starts.pop();
        batch.or_else(|| room.then(|| self.counts.starts.pop()).flatten())
    }

    /// So many more rows of a lane are held, or fewer.
    pub(super) fn hold(&mut self, lane: &Lane, more: usize) {
        let counts = self.counts(lane);
        self.queue(counts).held += more;
    }

    pub(super) fn release(&mut self, lane: &Lane, fewer: usize) {
        let counts = self.counts(lane);
        let held = &mut self.queue(counts).held;
        *held = held.saturating_sub(fewer);
    }

    pub(super) fn held(&self) -> usize {
        self.batches.held + self.counts.held
    }

    /// Whether a lane has rows to claim.
    pub(super) fn is_listed(&self) -> bool {
        !self.batches.claims.is_empty() || !self.counts.claims.is_empty()
    }

    /// Whether a claimed row waits for its attempt.
    pub(super) fn is_ready(&self) -> bool {
        !self.batches.starts.is_empty() || !self.counts.starts.is_empty()
    }
}

/// The sinks, in turns.
#[derive(Debug)]
pub(super) struct Sinks {
    sinks: Vec<Sink>,
    by_name: BTreeMap<Text, usize>,
    /// Whose turn is next.
    turn: usize,
}

impl Sinks {
    pub(super) fn new(options: &DispatchOptions, specs: Vec<SinkSpec>) -> Self {
        let sinks: Vec<_> = specs
            .into_iter()
            .map(|spec| Sink::new(spec, options.breaker))
            .collect();
        let names = sinks.iter().map(|sink| sink.spec.name.clone());
        Self {
            by_name: names.zip(0..).collect(),
            sinks,
            turn: 0,
        }
    }

    pub(super) fn index(&self, name: &Text) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    pub(super) fn get(&self, name: &Text) -> Option<&Sink> {
        self.sinks.get(self.index(name)?)
    }

    pub(super) fn get_mut(&mut self, name: &Text) -> Option<&mut Sink> {
        let index = self.index(name)?;
        self.sinks.get_mut(index)
    }

    pub(super) fn at(&mut self, index: usize) -> Option<&mut Sink> {
        self.sinks.get_mut(index)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Sink> {
        self.sinks.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Sink> {
        self.sinks.iter_mut()
    }

    /// Whether there is a claim store: one of them uses claims.
    pub(super) fn use_claims(&self) -> bool {
        self.iter().any(|sink| sink.spec.inline_max_bytes.is_some())
    }

    /// How many have rows claimed, or to be claimed: they share the windows.
    pub(super) fn busy(&self) -> usize {
        let busy = |sink: &&Sink| sink.held() > 0 || sink.is_listed();
        self.iter().filter(busy).count().max(1)
    }

    /// Attempts that count against the concurrency.
    pub(super) fn counted(&self) -> usize {
        self.iter().map(|sink| sink.counted).sum()
    }

    /// All of them, by index; each time another one is first.
    pub(super) fn in_turn(&mut self) -> impl Iterator<Item = usize> + use<> {
        let (first, count) = (self.turn, self.sinks.len());
        self.turn = if first + 1 < count { first + 1 } else { 0 };
        (0..count).map(move |offset| (first + offset) % count)
    }
}
