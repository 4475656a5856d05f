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
