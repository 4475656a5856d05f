//! An admitted message, and how it leaves.

use std::time::Instant;

use super::admission::Admission;
use super::body::Body;
use super::flushes::Stretch;
use super::tenants::TenantId;
use crate::failure::Diagnostics;

/// How a message leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// With others, after a linger.
    Batched,
    /// In a request of its own, at once.
    Direct,
}

impl Kind {
    pub(super) const ALL: [Self; 2] = [Self::Batched, Self::Direct];

    pub(super) fn of(admission: &Admission) -> Self {
        if admission.is_direct() {
            Self::Direct
        } else {
            Self::Batched
        }
    }
}

/// What a message needs when it is settled.
#[derive(Debug)]
pub(super) struct Member<T> {
    pub(super) tag: T,
    pub(super) stretch: Stretch,
    pub(super) size: usize,
    pub(super) diagnostics: Option<Box<Diagnostics>>,
    pub(super) attempt: u32,
    pub(super) tenant: TenantId,
}

/// An admitted message of an ordering key: what settles it, and what is sent of it.
#[derive(Debug)]
pub(super) struct Entry<T> {
    pub(super) kind: Kind,
    pub(super) arrival: Instant,
    pub(super) member: Member<T>,
    pub(super) body: Body,
}

impl<T> Member<T> {
    /// Takes an admitted message apart: what settles it, and what is sent of it.
    pub(super) fn new(
        tag: T,
        admission: Admission,
        tenant: TenantId,
        stretch: Stretch,
    ) -> (Self, Body) {
        let (body, attempt, diagnostics) = admission.into_parts();
        let member = Self {
            tag,
            stretch,
            size: body.sizes().message,
            diagnostics,
            attempt,
            tenant,
        };
        (member, body)
    }
}

/// The messages of one request to be: what settles each, and what is sent.
#[derive(Debug)]
pub(super) struct Batch<T> {
    pub(super) members: Vec<Option<Member<T>>>,
    pub(super) bodies: Vec<Body>,
}

impl<T> Batch<T> {
    /// One without messages, and with room for so many.
    pub(super) fn with_room(messages: usize) -> Self {
        Self {
            members: Vec::with_capacity(messages),
            bodies: Vec::with_capacity(messages),
        }
    }

    pub(super) fn push(&mut self, member: Member<T>, body: Body) {
        self.members.push(Some(member));
        self.bodies.push(body);
    }

    /// Moves the first `count` messages behind those of `other`.
    pub(super) fn move_to(&mut self, count: usize, other: &mut Self) {
        other.members.extend(self.members.drain(..count));
        other.bodies.extend(self.bodies.drain(..count));
    }

    pub(super) fn len(&self) -> usize {
        self.bodies.len()
    }
}
