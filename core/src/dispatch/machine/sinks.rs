//! The sinks, as the machine sees them.

use std::collections::BTreeMap;

use crate::dispatch::breaker::Breaker;
use crate::dispatch::io::SinkSpec;
use crate::dispatch::lanes::Turns;
use crate::dispatch::options::DispatchOptions;
use crate::text::Text;

/// A sink, and what of its rows is to be done.
#[derive(Debug)]
pub(super) struct Sink {
    pub(super) spec: SinkSpec,
    pub(super) breaker: Breaker,
    /// Lanes to claim rows from.
    pub(super) claims: Turns,
    /// Lanes with claimed rows that wait for their attempt.
    pub(super) starts: Turns,
    /// Attempts that count against the concurrency.
    pub(super) counted: usize,
    /// Claims that the journal has not answered.
    pub(super) claiming: usize,
    /// Rows that are claimed and not recorded, and those that may come of such claims.
    pub(super) held: usize,
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
            .map(|spec| Sink {
                spec,
                breaker: Breaker::new(options.breaker),
                claims: Turns::default(),
                starts: Turns::default(),
                counted: 0,
                claiming: 0,
                held: 0,
            })
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

    /// How many have rows claimed, or to be claimed: they share the windows.
    pub(super) fn busy(&self) -> usize {
        let busy = |sink: &&Sink| sink.held > 0 || !sink.claims.is_empty();
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
