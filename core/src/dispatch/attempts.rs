//! Attempts under way.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use super::io::AttemptId;
use crate::claim::ClaimRef;
use crate::journal::Row;

/// An attempt under way.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) row: Arc<Row>,
    /// Which attempt of the row it is, from 1.
    pub(super) number: u32,
    /// When the row's first one began, unix milliseconds.
    pub(super) first_at: i64,
    /// Whether it is its sink's probe.
    pub(super) probe: bool,
    /// The ref its body was checked in under, where the journal does not know it yet.
    pub(super) checked_in: Option<ClaimRef>,
    deadline: Option<Instant>,
}

/// The attempts under way.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    last: u64,
    running: BTreeMap<AttemptId, Running>,
    deadlines: BTreeSet<(Instant, AttemptId)>,
}

impl Attempts {
    pub(super) fn len(&self) -> usize {
        self.running.len()
    }

    /// An attempt begins.
    pub(super) fn begin(
        &mut self,
        row: Arc<Row>,
        first_at: i64,
        probe: bool,
        deadline: Option<Instant>,
    ) -> AttemptId {
        self.last += 1;
        let id = AttemptId(self.last);
        self.deadlines
            .extend(deadline.map(|deadline| (deadline, id)));
        let running = Running {
            number: row.attempts.saturating_add(1),
            row,
            first_at,
            probe,
            checked_in: None,
            deadline,
        };
        self.running.insert(id, running);
        id
    }

    /// One that is under way.
    pub(super) fn get(&self, id: AttemptId) -> Option<&Running> {
        self.running.get(&id)
    }

    /// The body of its hook lies in the claim store: its row knows it from now.
    pub(super) fn checked_in(&mut self, id: AttemptId, claim: ClaimRef) {
        if let Some(running) = self.running.get_mut(&id) {
            Arc::make_mut(&mut running.row).claim = Some(claim.clone());
            running.checked_in = Some(claim);
        }
    }

    /// An attempt ended. None: it was given up before.
    pub(super) fn end(&mut self, id: AttemptId) -> Option<Running> {
        let running = self.running.remove(&id)?;
        if let Some(deadline) = running.deadline {
            self.deadlines.remove(&(deadline, id));
        }
        Some(running)
    }

    /// Whether an attempt of that number ever began.
    pub(super) fn knows(&self, id: AttemptId) -> bool {
        id.0 >= 1 && id.0 <= self.last
    }

    /// When the next one has to be done.
    pub(super) fn due(&self) -> Option<Instant> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    /// One that took too long.
    pub(super) fn overdue(&self, now: Instant) -> Option<AttemptId> {
        let (deadline, id) = self.deadlines.first()?;
        (*deadline <= now).then_some(*id)
    }

    /// Any one.
    pub(super) fn first(&self) -> Option<AttemptId> {
        self.running.keys().next().copied()
    }
}
