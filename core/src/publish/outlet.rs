//! The queue behind one kind of request.

use std::time::Instant;

use super::arrivals::{Arrivals, Place};
use super::body::Body;
use super::entry::{Batch, Member};
use super::fill::{BatchLimits, Fill};
use super::linger::Linger;
use super::run::{Forming, Run};
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
    /// Messages of the tenant that came first, while it was alone or while these last.
    run: Run<T>,
    /// Messages of several tenants.
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
            run: Run::new(),
            unkeyed: Turns::new(),
            arrivals: Arrivals::default(),
            fill: Fill::default(),
        }
    }

    /// Adds a message without an ordering key.
    #[inline]
    pub(super) fn push(&mut self, arrival: Instant, member: Member<T>, body: Body) {
        self.fill.add(&body.sizes());
        let (tenant, place) = (member.tenant, self.arrivals.push(arrival));
        let alone = match self.run.tenant() {
            Some(first) => first == tenant,
            None => self.unkeyed.is_empty(),
        };
        if alone {
            self.run.push(place, member, body, &self.limits);
        } else {
            self.unkeyed.push(tenant, (place, member, body));
        }
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
        let mut taken = match self.unkeyed.is_empty() {
            true => self.run.pop().unwrap_or_default(),
            false => self.take_turns(),
        };
        if self.unkeyed.is_empty() {
            self.run.fill_up(&mut taken, &self.limits);
        }
        for (place, messages) in taken.places {
            self.arrivals.remove(place, messages);
        }
        self.fill.remove(&taken.fill);
        taken.batch
    }

    fn take_turns(&mut self) -> Forming<T> {
        self.mingle();
        let max = self.limits.room(self.fill.len());
        let mut taken = Forming::with_room((max, 0));
        let mut fill = Fill::default();
        self.unkeyed.take_while(
            |(_, _, body)| fill.add_if_it_takes(&body.sizes(), &self.limits),
            |(place, member, body)| taken.put(place, member, body),
            max,
        );
        taken.fill = fill;
        taken
    }

    /// Lets those that came alone take turns with those of other tenants: more of them than one
    /// request takes, so that they keep their turn.
    fn mingle(&mut self) {
        let max = self.limits.room(usize::MAX);
        while let Some(tenant) = self.run.tenant()
            && self.unkeyed.has_others(tenant)
            && self.unkeyed.waiting_of(tenant) <= max
            && let Some(request) = self.run.pop()
        {
            for message in request.into_messages() {
                self.unkeyed.push_next(tenant, message);
            }
        }
    }
}

#[cfg(test)]
mod tests;
