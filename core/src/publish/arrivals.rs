//! When the oldest waiting message came, where messages do not leave in order.

use std::collections::VecDeque;
use std::time::Instant;

/// A message's place among the arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place(u64);

/// Arrival times of waiting messages, oldest first, each with how many came then and still wait.
///
/// Turns between tenants take messages out of the middle; a time is dropped once it is the oldest
/// and nothing of it waits. Since every turn reaches the oldest message, few times that nothing
/// waits of ever stand behind one.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    first: u64,
    times: VecDeque<(Instant, usize)>,
}

impl Arrivals {
    pub(super) fn push(&mut self, at: Instant) -> Place {
        match self.times.back_mut() {
            Some((last, waiting)) if *last == at => *waiting += 1,
            _ => self.times.push_back((at, 1)),
        }
        Place(self.first + self.times.len() as u64 - 1)
    }

    /// So many messages of a place leave.
    pub(super) fn remove(&mut self, place: Place, messages: usize) {
        let index = usize::try_from(place.0 - self.first);
        if let Some((_, waiting)) = index.ok().and_then(|index| self.times.get_mut(index)) {
            *waiting -= messages;
        }
        while let Some((_, 0)) = self.times.front() {
            self.times.pop_front();
            self.first += 1;
        }
        if self.times.is_empty() && self.times.capacity() > KEEP {
            self.times = VecDeque::new();
        }
    }

    pub(super) fn oldest(&self) -> Option<Instant> {
        self.times.front().map(|(at, _)| *at)
    }
}

/// Room for more than this many is given back once it is not used.
const KEEP: usize = 4_096;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::publish::testing::at;

    #[test]
    fn the_oldest_is_known_whatever_leaves_first() {
        let mut arrivals = Arrivals::default();
        let places: Vec<_> = (0..4).map(|ms| arrivals.push(at(ms))).collect();
        arrivals.remove(places[1], 1);
        assert_eq!(arrivals.oldest(), Some(at(0)));
        arrivals.remove(places[0], 1);
        assert_eq!(arrivals.oldest(), Some(at(2)));
        arrivals.remove(places[3], 1);
        arrivals.remove(places[2], 1);
        assert_eq!(arrivals.oldest(), None);
        let next = arrivals.push(at(9));
        assert_eq!(arrivals.oldest(), Some(at(9)));
        arrivals.remove(next, 1);
        assert!(arrivals.times.is_empty());
    }

    #[test]
    fn messages_that_came_at_once_are_the_oldest_until_the_last_of_them_leaves() {
        let mut arrivals = Arrivals::default();
        let places: Vec<_> = [0, 0, 5, 5, 0].map(|ms| arrivals.push(at(ms))).into();
        assert_eq!(arrivals.times.len(), 3);
        arrivals.remove(places[1], 1);
        assert_eq!(arrivals.oldest(), Some(at(0)));
        arrivals.remove(places[2], 1);
        arrivals.remove(places[0], 1);
        assert_eq!(arrivals.oldest(), Some(at(5)));
        arrivals.remove(places[3], 1);
        assert_eq!(arrivals.oldest(), Some(at(0)));
        arrivals.remove(places[4], 1);
        assert!(arrivals.times.is_empty());
    }
}
