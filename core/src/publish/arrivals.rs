//! When the oldest waiting message came, where messages do not leave in order.

use std::collections::VecDeque;
use std::time::Instant;

/// A message's place among the arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place(u64);

/// Arrival times of waiting messages, oldest first.
///
/// Turns between tenants take messages out of the middle; a place is emptied when its message
/// leaves and dropped once it is the oldest. Since every turn reaches the oldest message, few
/// empty places ever stand behind one.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    first: u64,
    places: VecDeque<Option<Instant>>,
}

impl Arrivals {
    pub(super) fn push(&mut self, at: Instant) -> Place {
        self.places.push_back(Some(at));
        Place(self.first + self.places.len() as u64 - 1)
    }

    pub(super) fn remove(&mut self, place: Place) {
        let index = usize::try_from(place.0 - self.first);
        if let Some(at) = index.ok().and_then(|index| self.places.get_mut(index)) {
            *at = None;
        }
        while let Some(None) = self.places.front() {
            self.places.pop_front();
            self.first += 1;
        }
    }

    pub(super) fn oldest(&self) -> Option<Instant> {
        self.places.front().copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "simulated time has to begin somewhere"
    )]
    fn the_oldest_is_known_whatever_leaves_first() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut arrivals = Arrivals::default();
        let places: Vec<_> = (0..4).map(|ms| arrivals.push(at(ms))).collect();
        arrivals.remove(places[1]);
        assert_eq!(arrivals.oldest(), Some(at(0)));
        arrivals.remove(places[0]);
        assert_eq!(arrivals.oldest(), Some(at(2)));
        arrivals.remove(places[3]);
        arrivals.remove(places[2]);
        assert_eq!(arrivals.oldest(), None);
        let next = arrivals.push(at(9));
        assert_eq!(arrivals.oldest(), Some(at(9)));
        arrivals.remove(next);
        assert!(arrivals.places.is_empty());
    }
}
