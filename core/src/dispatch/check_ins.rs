//! Bodies on their way to the claim store, and those that lie there.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{DefaultHasher, Hasher as _};
use std::sync::Arc;
use std::time::Instant;

use super::io::{AttemptId, CheckInId};
use crate::claim::ClaimRef;
use crate::delivery::DeliveryContext;
use crate::envelope::Envelope;
use crate::journal::Row;

/// How many bodies are remembered that were checked in. A row that was claimed before the journal
/// knew it is one of a few thousand in the windows; for an older one the store is asked again,
/// which has the body already.
const REMEMBERED: usize = 4_096;

/// A body, by the ref it has in the store.
///
/// Two hooks have one ref where somebody gave them one id and one time. The print tells their
/// bodies apart, so that neither is sent under the other's: the store refuses the second.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Body {
    claim: ClaimRef,
    print: u64,
}

impl Body {
    fn new(claim: ClaimRef, row: &Row) -> Self {
        // Its keys are fixed.
        let mut hasher = DefaultHasher::new();
        hasher.write(&row.envelope.body);
        Self {
            claim,
            print: hasher.finish(),
        }
    }
}

/// Attempts that wait, each with its context.
pub(super) type Waiting = BTreeMap<AttemptId, DeliveryContext>;

/// The check-ins, each for all attempts that wait for its body.
#[derive(Debug)]
pub(super) struct CheckIns {
    max: usize,
    last: u64,
    all: BTreeMap<CheckInId, CheckIn>,
    by_body: BTreeMap<Body, CheckInId>,
    /// Those that wait for their turn.
    queue: BTreeSet<CheckInId>,
    /// Those under way, and until when. They began in this order, with the same time each.
    begun: BTreeMap<CheckInId, Option<Instant>>,
    waiting: BTreeMap<AttemptId, CheckInId>,
    done: Done,
    /// The hooks of those that ended.
    let_go: Vec<Arc<Envelope>>,
}

#[derive(Debug)]
struct CheckIn {
    body: Body,
    row: Arc<Row>,
    waiting: Waiting,
}

impl CheckIns {
    /// At most `max` under way at once.
    pub(super) fn new(max: usize) -> Self {
        Self {
            max,
            last: 0,
            all: BTreeMap::new(),
            by_body: BTreeMap::new(),
            queue: BTreeSet::new(),
            begun: BTreeMap::new(),
            waiting: BTreeMap::new(),
            done: Done::default(),
            let_go: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there was a check-in of that number.
    pub(super) fn knows(&self, id: CheckInId) -> bool {
        id.0 >= 1 && id.0 <= self.last && !self.queue.contains(&id)
    }

    /// An attempt waits for its row's body to be checked in. Gives its context back where it is.
    pub(super) fn wait(
        &mut self,
        claim: ClaimRef,
        row: &Arc<Row>,
        attempt: AttemptId,
        context: DeliveryContext,
    ) -> Option<DeliveryContext> {
        let body = Body::new(claim, row);
        if self.done.has(&body) {
            return Some(context);
        }
        let id = if let Some(id) = self.by_body.get(&body) {
            *id
        } else {
            self.last += 1;
            let id = CheckInId(self.last);
            let check_in = CheckIn {
                body: body.clone(),
                row: Arc::clone(row),
                waiting: Waiting::new(),
            };
            self.all.insert(id, check_in);
            self.by_body.insert(body, id);
            self.queue.insert(id);
            id
        };
        self.waiting.insert(attempt, id);
        if let Some(check_in) = self.all.get_mut(&id) {
            check_in.waiting.insert(attempt, context);
        }
        None
    }

    /// Whether an attempt waits.
    pub(super) fn is_waiting(&self, attempt: AttemptId) -> bool {
        self.waiting.contains_key(&attempt)
    }

    /// An attempt waits no more; tells whether it did. A check-in that is under way goes on: the
    /// next attempt has it.
    pub(super) fn leave(&mut self, attempt: AttemptId) -> bool {
        let Some(id) = self.waiting.remove(&attempt) else {
            return false;
        };
        if let Some(check_in) = self.all.get_mut(&id) {
            check_in.waiting.remove(&attempt);
            if check_in.waiting.is_empty() && self.queue.contains(&id) {
                self.take(id);
            }
        }
        true
    }

    /// The next one to begin, which has until `deadline`.
    pub(super) fn next(
        &mut self,
        deadline: Option<Instant>,
    ) -> Option<(CheckInId, ClaimRef, Arc<Row>)> {
        if self.begun.len() >= self.max {
            return None;
        }
        let id = self.queue.pop_first()?;
        self.begun.insert(id, deadline);
        let check_in = self.all.get(&id)?;
        Some((id, check_in.body.claim.clone(), Arc::clone(&check_in.row)))
    }

    /// One that is under way ended: its ref, and the attempts that waited for it. None: it was
    /// given up before.
    pub(super) fn end(&mut self, id: CheckInId, is_there: bool) -> Option<(ClaimRef, Waiting)> {
        if !self.begun.contains_key(&id) {
            return None;
        }
        let CheckIn { body, waiting, .. } = self.take(id)?;
        for attempt in waiting.keys() {
            self.waiting.remove(attempt);
        }
        let claim = body.claim.clone();
        if is_there {
            self.done.remember(body);
        }
        Some((claim, waiting))
    }

    /// When the next one has to be done.
    pub(super) fn due(&self) -> Option<Instant> {
        self.begun.first_key_value().and_then(|(_, until)| *until)
    }

    /// One that took too long.
    pub(super) fn overdue(&self, now: Instant) -> Option<CheckInId> {
        let (id, until) = self.begun.first_key_value()?;
        until.is_some_and(|until| until <= now).then_some(*id)
    }

    /// Any one that is under way.
    pub(super) fn first(&self) -> Option<CheckInId> {
        self.begun.keys().next().copied()
    }

    /// Takes the hooks of those that ended, to be dropped by whoever drops what is foreign.
    pub(super) fn take_let_go(&mut self) -> Vec<Arc<Envelope>> {
        std::mem::take(&mut self.let_go)
    }

    fn take(&mut self, id: CheckInId) -> Option<CheckIn> {
        let check_in = self.all.remove(&id)?;
        self.let_go.push(Arc::clone(&check_in.row.envelope));
        self.by_body.remove(&check_in.body);
        self.queue.remove(&id);
        self.begun.remove(&id);
        Some(check_in)
    }
}

/// The bodies that were checked in last.
#[derive(Debug, Default)]
struct Done {
    bodies: BTreeSet<Body>,
    order: VecDeque<Body>,
}

impl Done {
    fn has(&self, body: &Body) -> bool {
        self.bodies.contains(body)
    }

    fn remember(&mut self, body: Body) {
        if self.bodies.insert(body.clone()) {
            self.order.push_back(body);
        }
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.bodies.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{Lane, RowId};

    fn row(id: usize) -> (ClaimRef, Arc<Row>) {
        let envelope = Envelope::new(id.to_string(), "src", 0, "body");
        let claim = ClaimRef::derive(None, 0, &envelope.id).unwrap();
        let row = Row {
            id: RowId(0),
            lane: Lane {
                sink: "a".into(),
                source: "src".into(),
                key: None,
            },
            envelope: Arc::new(envelope),
            claim: None,
            check_in: true,
            enqueued_at: 0,
            due: 0,
            attempts: 0,
            first_attempt_at: None,
            maybe_stored: false,
            replay_id: None,
            once: None,
        };
        (claim, Arc::new(row))
    }

    /// Whether the attempt need not wait.
    fn is_there(check_ins: &mut CheckIns, id: usize, attempt: u64) -> bool {
        let (claim, row) = row(id);
        let context = DeliveryContext::default();
        check_ins
            .wait(claim, &row, AttemptId(attempt), context)
            .is_some()
    }

    #[test]
    fn nothing_is_checked_in_for_nobody() {
        let mut check_ins = CheckIns::new(1);
        for attempt in 1..=3 {
            assert!(!is_there(&mut check_ins, 1, attempt));
        }
        assert!(!is_there(&mut check_ins, 2, 4));
        assert!(check_ins.leave(AttemptId(2)) && !check_ins.leave(AttemptId(2)));
        let (first, ..) = check_ins.next(None).unwrap();
        assert!(check_ins.next(None).is_none(), "one at a time");
        // The second waits for its turn, and then nobody for it.
        assert!(check_ins.leave(AttemptId(4)));
        assert_eq!(check_ins.len(), 1);
        let (_, waiting) = check_ins.end(first, true).unwrap();
        let waiting: Vec<_> = waiting.into_keys().collect();
        assert_eq!(waiting, [AttemptId(1), AttemptId(3)]);
        assert!(check_ins.next(None).is_none());
        assert_eq!(check_ins.len(), 0);
        assert!(is_there(&mut check_ins, 1, 5) && !is_there(&mut check_ins, 2, 6));
    }

    #[test]
    fn the_last_bodies_are_remembered_and_no_more() {
        let mut check_ins = CheckIns::new(1);
        for id in 0..=REMEMBERED {
            assert!(!is_there(&mut check_ins, id, 1));
            let (check_in, ..) = check_ins.next(None).unwrap();
            check_ins.end(check_in, true).unwrap();
        }
        assert!(is_there(&mut check_ins, 1, 1) && is_there(&mut check_ins, REMEMBERED, 1));
        assert!(!is_there(&mut check_ins, 0, 1));
        assert_eq!(check_ins.done.bodies.len(), REMEMBERED);
        assert_eq!(check_ins.done.order.len(), REMEMBERED);
    }
}
