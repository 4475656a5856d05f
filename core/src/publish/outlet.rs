//! The queue behind one kind of request.

use std::time::Instant;

use super::arrivals::{Arrivals, Place};
use super::body::Body;
use super::entry::{Batch, Member};
use super::fill::{BatchLimits, Fill};
use super::linger::Linger;
use super::turns::Turns;
use crate::text::Text;

/// What waits to leave one way: messages without an ordering key, and the ordering keys whose
/// next messages may go.
#[derive(Debug)]
pub(super) struct Outlet<T> {
    pub(super) limits: BatchLimits,
    /// Ordering keys whose batch may leave, in turns between the tenants of their first messages.
    pub(super) ready: Turns<Text>,
    /// Whether an ordering key goes next where both could.
    pub(super) keyed_turn: bool,
    lingers: bool,
    unkeyed: Turns<(Place, Member<T>, Body)>,
    arrivals: Arrivals,
    fill: Fill,
}

impl<T> Outlet<T> {
    pub(super) fn new(limits: BatchLimits, lingers: bool) -> Self {
        Self {
            limits,
            ready: Turns::new(),
            keyed_turn: false,
            lingers,
            unkeyed: Turns::new(),
            arrivals: Arrivals::default(),
            fill: Fill::default(),
        }
    }

    /// Adds a message without an ordering key.
    pub(super) fn push(&mut self, arrival: Instant, member: Member<T>, body: Body) {
        self.fill.add(&body.sizes());
        let (tenant, place) = (member.tenant, self.arrivals.push(arrival));
        self.unkeyed.push(tenant, (place, member, body));
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
    pub(super) fn take(&mut self) -> Batch<T> {
        let max = self.limits.room(self.fill.len());
        let mut taken = Batch::with_room(max);
        let mut fill = Fill::default();
        let fits = |(_, _, body): &(Place, Member<T>, Body)| {
            let sizes = body.sizes();
            let fits = fill.takes(&sizes, &self.limits);
            if fits {
                fill.add(&sizes);
            }
            fits
        };
        let into = |(place, member, body)| {
            self.arrivals.remove(place);
            taken.push(member, body);
        };
        self.unkeyed.take_while(fits, into, max);
        self.fill.remove(&fill);
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::publish::tenants::Tenants;
    use crate::publish::testing::{at, builder, entry_of, tags};
    use std::time::Duration;

    /// An outlet, and the tenants of its messages.
    struct Queue(Outlet<u32>, Tenants);

    impl Queue {
        fn new(lingers: bool) -> Self {
            let options = builder().batch_max_entries(3).build().unwrap();
            let limits = BatchLimits::batched(&options);
            Self(Outlet::new(limits, lingers), Tenants::new())
        }

        fn push(&mut self, tag: u32, tenant: &str, ms: u64) {
            let entry = entry_of(&mut self.1, tag, &format!("{tenant}/"), at(ms));
            self.0.push(entry.arrival, entry.member, entry.body);
        }

        fn due(&self) -> Option<Instant> {
            self.0.due(&Linger::new(Duration::from_millis(20)))
        }

        fn take(&mut self) -> Vec<u32> {
            tags(&self.0.take())
        }
    }

    #[test]
    fn it_is_due_a_linger_after_the_oldest_or_at_once_when_full() {
        let mut queue = Queue::new(true);
        assert_eq!(queue.due(), None);
        queue.push(1, "a", 5);
        queue.push(2, "a", 9);
        assert_eq!(queue.due(), Some(at(25)));
        queue.push(3, "b", 10);
        assert_eq!(queue.due(), Some(at(5)));
        queue.push(4, "c", 11);
        // In turns: a's second message is left, and it is older than c's would be.
        assert_eq!(queue.take(), [1, 3, 4]);
        assert_eq!(queue.due(), Some(at(29)));
        assert_eq!(queue.take(), [2]);
        assert!(queue.take().is_empty());
        assert_eq!(queue.due(), None);
    }

    #[test]
    fn without_a_linger_it_is_due_at_once() {
        let mut queue = Queue::new(false);
        queue.push(1, "", 7);
        assert_eq!(queue.due(), Some(at(7)));
    }
}
