//! The queue behind one kind of request.

use std::time::Instant;

use super::arrivals::{Arrivals, Place};
use super::entry::Entry;
use super::fill::{BatchLimits, Fill};
use super::linger::Linger;
use super::tenants::TenantQueue;
use crate::text::Text;

/// What waits to leave one way: messages without an ordering key, and the ordering keys whose
/// next messages may go.
#[derive(Debug)]
pub(super) struct Outlet<T> {
    pub(super) limits: BatchLimits,
    /// Ordering keys whose batch may leave, in turns between the tenants of their first messages.
    pub(super) ready: TenantQueue<Text>,
    /// Whether an ordering key goes next where both could.
    pub(super) keyed_turn: bool,
    lingers: bool,
    unkeyed: TenantQueue<(Place, Entry<T>)>,
    arrivals: Arrivals,
    fill: Fill,
}

impl<T> Outlet<T> {
    pub(super) fn new(limits: BatchLimits, lingers: bool) -> Self {
        Self {
            limits,
            ready: TenantQueue::new(),
            keyed_turn: false,
            lingers,
            unkeyed: TenantQueue::new(),
            arrivals: Arrivals::default(),
            fill: Fill::default(),
        }
    }

    /// Adds a message without an ordering key.
    pub(super) fn push(&mut self, entry: Entry<T>) {
        let place = self.arrivals.push(entry.arrival);
        self.fill.add(entry.admission.sizes());
        let tenant = entry.admission.tenant().cloned();
        self.unkeyed.push(tenant, (place, entry));
    }

    /// When messages without an ordering key have to leave; the past means now.
    pub(super) fn due(&self, linger: &Linger) -> Option<Instant> {
        let oldest = self.arrivals.oldest()?;
        if !self.lingers || self.fill.is_full(&self.limits) {
            return Some(oldest);
        }
        Some(linger.due(oldest))
    }

    /// Takes one request's worth of them, in turns between tenants.
    pub(super) fn take(&mut self) -> Vec<Entry<T>> {
        let mut fill = Fill::default();
        let mut taken = Vec::new();
        while let Some((_, next)) = self.unkeyed.peek() {
            let sizes = next.admission.sizes();
            if !fill.takes(sizes, &self.limits) {
                break;
            }
            fill.add(sizes);
            self.fill.remove(sizes);
            if let Some((place, entry)) = self.unkeyed.pop() {
                self.arrivals.remove(place);
                taken.push(entry);
            }
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::publish::testing::{at, builder, entry, tags};
    use std::time::Duration;

    fn outlet(lingers: bool) -> Outlet<u32> {
        let options = builder().batch_max_entries(3).build().unwrap();
        Outlet::new(BatchLimits::batched(&options), lingers)
    }

    fn linger() -> Linger {
        Linger::new(Duration::from_millis(20))
    }

    #[test]
    fn it_is_due_a_linger_after_the_oldest_or_at_once_when_full() {
        let mut outlet = outlet(true);
        assert_eq!(outlet.due(&linger()), None);
        outlet.push(entry(1, "a/", at(5)));
        outlet.push(entry(2, "a/", at(9)));
        assert_eq!(outlet.due(&linger()), Some(at(25)));
        outlet.push(entry(3, "b/", at(10)));
        assert_eq!(outlet.due(&linger()), Some(at(5)));
        outlet.push(entry(4, "c/", at(11)));
        // In turns: a's second message is left, and it is older than c's would be.
        assert_eq!(tags(&outlet.take()), [1, 3, 4]);
        assert_eq!(outlet.due(&linger()), Some(at(29)));
        assert_eq!(tags(&outlet.take()), [2]);
        assert!(outlet.take().is_empty());
        assert_eq!(outlet.due(&linger()), None);
    }

    #[test]
    fn without_a_linger_it_is_due_at_once() {
        let mut outlet = outlet(false);
        outlet.push(entry(1, "/", at(7)));
        assert_eq!(outlet.due(&linger()), Some(at(7)));
    }
}
