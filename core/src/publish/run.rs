//! The messages of a tenant that waits alone, put together as the requests they will leave in.

use std::collections::VecDeque;
use std::iter::repeat_n;

use super::arrivals::Place;
use super::body::Body;
use super::entry::{Batch, Member};
use super::fill::{BatchLimits, Fill};
use super::tenants::TenantId;

/// Messages of one tenant, in order.
///
/// Most publishers have one tenant, and its messages leave in the order they came: so each is put
/// where its request needs it, once, and a request is taken as it is.
#[derive(Debug)]
pub(super) struct Run<T> {
    tenant: TenantId,
    requests: VecDeque<Forming<T>>,
    /// What the last request had, and the next one has room for at first: messages, and places.
    room: (usize, usize),
}

/// A request's messages as they come together.
#[derive(Debug)]
pub(super) struct Forming<T> {
    pub(super) batch: Batch<T>,
    pub(super) fill: Fill,
    /// How many of them have which place among the arrivals.
    pub(super) places: VecDeque<(Place, usize)>,
}

/// Room for more requests than this is given back once there are none.
const KEEP: usize = 64;

impl<T> Run<T> {
    pub(super) fn new() -> Self {
        Self {
            tenant: TenantId::NONE,
            requests: VecDeque::new(),
            room: (0, 0),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Whose messages these are, where there are any.
    pub(super) fn tenant(&self) -> Option<TenantId> {
        (!self.is_empty()).then_some(self.tenant)
    }

    /// Puts a message behind the others, which are of its tenant.
    #[inline]
    pub(super) fn push(
        &mut self,
        place: Place,
        member: Member<T>,
        body: Body,
        limits: &BatchLimits,
    ) {
        self.tenant = member.tenant;
        let sizes = body.sizes();
        if let Some(last) = self.requests.back_mut()
            && last.fill.add_if_it_takes(&sizes, limits)
        {
            last.put(place, member, body);
            return;
        }
        let mut next = Forming::with_room(self.requests.back().map_or(self.room, Forming::room));
        next.fill.add(&sizes);
        next.put(place, member, body);
        self.requests.push_back(next);
    }

    /// Takes the messages of its first request.
    pub(super) fn pop(&mut self) -> Option<Forming<T>> {
        let first = self.requests.pop_front()?;
        self.room = first.room();
        if self.is_empty() && self.requests.capacity() > KEEP {
            self.requests = VecDeque::new();
        }
        Some(first)
    }

    /// Moves its first messages behind those of `taken`, as many as fit.
    pub(super) fn fill_up(&mut self, taken: &mut Forming<T>, limits: &BatchLimits) {
        while let Some(first) = self.requests.front_mut() {
            first.move_to(taken, limits);
            if first.len() > 0 {
                return;
            }
            self.requests.pop_front();
        }
    }
}

impl<T> Default for Forming<T> {
    fn default() -> Self {
        Self::with_room((0, 0))
    }
}

impl<T> Forming<T> {
    /// One without messages, and with room for so many, and for so many places.
    pub(super) fn with_room((messages, places): (usize, usize)) -> Self {
        Self {
            batch: Batch::with_room(messages),
            fill: Fill::default(),
            places: VecDeque::with_capacity(places),
        }
    }

    fn room(&self) -> (usize, usize) {
        (self.len(), self.places.len())
    }

    pub(super) fn len(&self) -> usize {
        self.batch.len()
    }

    /// Puts a message behind the others, which its sizes were added to.
    #[inline]
    pub(super) fn put(&mut self, place: Place, member: Member<T>, body: Body) {
        self.put_places(place, 1);
        self.batch.push(member, body);
    }

    /// Takes it apart, message by message.
    pub(super) fn into_messages(self) -> impl Iterator<Item = (Place, Member<T>, Body)> {
        let places = self.places.into_iter();
        let places = places.flat_map(|(place, count)| repeat_n(place, count));
        let members = self.batch.members.into_iter().flatten();
        let messages = places.zip(members).zip(self.batch.bodies);
        messages.map(|((place, member), body)| (place, member, body))
    }

    fn put_places(&mut self, place: Place, more: usize) {
        match self.places.back_mut() {
            Some((last, count)) if *last == place => *count += more,
            _ => self.places.push_back((place, more)),
        }
    }

    /// Moves its first messages behind those of `taken`, as many as fit.
    fn move_to(&mut self, taken: &mut Self, limits: &BatchLimits) {
        let before = taken.fill;
        let bodies = self.batch.bodies.iter();
        let fits = |body: &&Body| taken.fill.add_if_it_takes(&body.sizes(), limits);
        let count = bodies.take_while(fits).count();
        let mut moved = taken.fill;
        moved.remove(&before);
        self.fill.remove(&moved);
        self.batch.move_to(count, &mut taken.batch);
        let mut left = count;
        while left > 0
            && let Some((place, waiting)) = self.places.pop_front()
        {
            let with_it = waiting.min(left);
            taken.put_places(place, with_it);
            left -= with_it;
            if waiting > with_it {
                self.places.push_front((place, waiting - with_it));
            }
        }
    }
}
