//! Calls in flight.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use super::io::CallId;
use super::leases::LeaseNo;
use super::outbox::{Batch, Way};

/// A call in flight.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) what: What,
    pub(super) began: Instant,
    /// It went out with a fresh token, because one was refused.
    pub(super) renewed: bool,
    deadline: Instant,
}

/// What a call is for.
#[derive(Debug)]
pub(super) enum What {
    /// Messages, and how many at most.
    Pull(usize),
    Settle(Way, Batch),
    Extend {
        leases: Vec<LeaseNo>,
        seconds: u16,
    },
}

/// The calls in flight.
#[derive(Debug, Default)]
pub(super) struct Calls {
    last: u64,
    calls: BTreeMap<CallId, Call>,
    deadlines: BTreeSet<(Instant, CallId)>,
    pulls: usize,
    pulling: usize,
    extending: usize,
}

impl Calls {
    pub(super) fn len(&self) -> usize {
        self.calls.len()
    }

    /// How many pulls there are, and how many messages they may bring.
    pub(super) fn pulls(&self) -> (usize, usize) {
        (self.pulls, self.pulling)
    }

    /// How many extend leases.
    pub(super) fn extending(&self) -> usize {
        self.extending
    }

    /// A call begins, and has until `deadline`.
    pub(super) fn begin(
        &mut self,
        now: Instant,
        deadline: Instant,
        what: What,
        renewed: bool,
    ) -> CallId {
        self.last += 1;
        let id = CallId(self.last);
        match &what {
            What::Pull(messages) => {
                self.pulls += 1;
                self.pulling += messages;
            }
            What::Extend { .. } => self.extending += 1,
            What::Settle(..) => {}
        }
        let call = Call {
            what,
            began: now,
            renewed,
            deadline,
        };
        self.deadlines.insert((deadline, id));
        self.calls.insert(id, call);
        id
    }

    /// A call has ended. None: it was given up before.
    pub(super) fn end(&mut self, id: CallId) -> Option<Call> {
        let call = self.calls.remove(&id)?;
        self.deadlines.remove(&(call.deadline, id));
        match &call.what {
            What::Pull(messages) => {
                self.pulls -= 1;
                self.pulling -= messages;
            }
            What::Extend { .. } => self.extending -= 1,
            What::Settle(..) => {}
        }
        Some(call)
    }

    pub(super) fn get(&self, id: CallId) -> Option<&Call> {
        self.calls.get(&id)
    }

    /// Whether a call of that number ever began.
    pub(super) fn knows(&self, id: CallId) -> bool {
        id.0 >= 1 && id.0 <= self.last
    }

    /// When the next one has to be answered.
    pub(super) fn due(&self) -> Option<Instant> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    /// One that took too long.
    pub(super) fn overdue(&self, now: Instant) -> Option<CallId> {
        let (deadline, id) = self.deadlines.first()?;
        (*deadline <= now).then_some(*id)
    }

    /// The calls that are for something of this kind.
    pub(super) fn of(&self, kind: impl Fn(&What) -> bool) -> Vec<CallId> {
        let calls = self.calls.iter().filter(|(_, call)| kind(&call.what));
        calls.map(|(id, _)| *id).collect()
    }
}
