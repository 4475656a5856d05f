//! The queues of rows, and whose turn it is.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use crate::journal::{Lane, Row};

/// How long a lane is left alone when its sink has no room, in milliseconds: the first time, and at
/// most. Room comes with the next replies, so the first is short; a sink that stays full is not to
/// be asked in a loop.
const PAUSE_FIRST: i64 = 100;
const PAUSE_MAX: i64 = 10_000;

/// Every lane that has rows, in the journal or here. One that has neither costs nothing.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    lanes: BTreeMap<Lane, State>,
    /// Lanes whose next row is due later, by when (unix milliseconds).
    later: BTreeSet<(i64, Lane)>,
    /// The others that have one, by since when: so that the oldest is known without a search.
    overdue: BTreeSet<(i64, Lane)>,
}

#[derive(Debug)]
struct State {
    /// When the next row is due that is not claimed.
    due: Option<i64>,
    /// Rows are being claimed; what became due meanwhile.
    claiming: Option<Option<i64>>,
    /// Claimed rows that wait for their attempt.
    ready: VecDeque<Arc<Row>>,
    /// How many rows are claimed and not recorded, those that are ready among them.
    held: usize,
    /// Nothing is claimed before then: its sink had no room.
    not_before: i64,
    /// How many pauses in a row there were for that.
    pauses: u32,
}

impl State {
    /// When something of the lane may be claimed.
    fn next(&self) -> Option<i64> {
        self.due.map(|due| due.max(self.not_before))
    }
}

impl Default for State {
    fn default() -> Self {
        Self {
            due: None,
            claiming: None,
            ready: VecDeque::new(),
            held: 0,
            not_before: i64::MIN,
            pauses: 0,
        }
    }
}

impl Lanes {
    pub(super) fn len(&self) -> usize {
        self.lanes.len()
    }

    /// How many of its rows are claimed.
    pub(super) fn held(&self, lane: &Lane) -> usize {
        self.lanes.get(lane).map_or(0, |state| state.held)
    }

    /// A row of `lane` is due then. Tells whether the lane is to be claimed from now.
    pub(super) fn due(&mut self, now: i64, lane: &Lane, due: i64) -> bool {
        let state = self.lanes.entry(lane.clone()).or_default();
        if let Some(meanwhile) = &mut state.claiming {
            *meanwhile = earlier(*meanwhile, Some(due));
            return false;
        }
        let before = state.next();
        state.due = earlier(state.due, Some(due));
        let (after, was_now) = (state.next(), before.is_some_and(|due| due <= now));
        if before == after {
            return was_now;
        }
        self.file(lane, before, after, now)
    }

    /// The lanes that have become due.
    pub(super) fn wake(&mut self, now: i64) -> Vec<Lane> {
        let mut woken = Vec::new();
        while self.later.first().is_some_and(|(due, _)| *due <= now) {
            let Some((due, lane)) = self.later.pop_first() else {
                break;
            };
            self.overdue.insert((due, lane.clone()));
            woken.push(lane);
        }
        woken
    }

    /// When the row became due that waits longest to be claimed.
    pub(super) fn oldest(&self, now: i64) -> Option<i64> {
        // The first of the later ones may have become due since they were last woken.
        let first = [&self.overdue, &self.later].map(|lanes| lanes.first().map(|(due, _)| *due));
        first.into_iter().flatten().filter(|due| *due <= now).min()
    }

    /// When the next row of `lane` is due that is not claimed.
    pub(super) fn due_of(&self, lane: &Lane) -> Option<i64> {
        self.lanes.get(lane)?.due
    }

    /// When the next lane becomes due.
    pub(super) fn next(&self) -> Option<i64> {
        self.later.first().map(|(due, _)| *due)
    }

    /// Whether a row of `lane` is due by `now` that can be claimed.
    pub(super) fn is_due(&self, now: i64, lane: &Lane) -> bool {
        let state = self.lanes.get(lane);
        state.is_some_and(|state| {
            state.claiming.is_none() && state.next().is_some_and(|due| due <= now)
        })
    }

    /// Rows of `lane` are being claimed.
    pub(super) fn claim(&mut self, lane: &Lane) {
        if let Some(state) = self.lanes.get_mut(lane) {
            state.claiming = Some(None);
        }
    }

    /// The claim was answered: with rows, or none, or not at all. Tells whether the lane is to be
    /// claimed from again.
    pub(super) fn claimed(
        &mut self,
        now: i64,
        lane: &Lane,
        rows: Vec<Arc<Row>>,
        next_due: Option<i64>,
    ) -> bool {
        let Some(state) = self.lanes.get_mut(lane) else {
            return false;
        };
        let before = state.next();
        let meanwhile = state.claiming.take().flatten();
        state.held += rows.len();
        state.ready.extend(rows);
        state.due = earlier(next_due, meanwhile);
        let after = state.next();
        let again = self.file(lane, before, after, now);
        self.forget_if_empty(lane);
        again
    }

    /// Takes the next claimed row.
    pub(super) fn pop(&mut self, lane: &Lane) -> Option<Arc<Row>> {
        self.lanes.get_mut(lane)?.ready.pop_front()
    }

    /// Whether a claimed row waits for its attempt.
    pub(super) fn is_ready(&self, lane: &Lane) -> bool {
        self.lanes
            .get(lane)
            .is_some_and(|state| !state.ready.is_empty())
    }

    /// Takes all claimed rows that wait.
    pub(super) fn take_ready(&mut self, lane: &Lane) -> Vec<Arc<Row>> {
        let state = self.lanes.get_mut(lane);
        state.map_or_else(Vec::new, |state| state.ready.drain(..).collect())
    }

    /// The lane's sink had no room for a row of it: it is left alone for `least`, or longer when it
    /// comes to that again and again.
    pub(super) fn pause(&mut self, now: i64, lane: &Lane, least: i64) {
        let Some(state) = self.lanes.get_mut(lane) else {
            return;
        };
        // Many rows are refused at once; that is one refusal.
        if state.not_before > now {
            return;
        }
        let before = state.next();
        let longer = PAUSE_FIRST << state.pauses.min(10);
        state.pauses += 1;
        state.not_before = now.saturating_add(least.max(longer).clamp(PAUSE_FIRST, PAUSE_MAX));
        let after = state.next().filter(|_| state.claiming.is_none());
        self.file(lane, before, after, now);
    }

    /// The lane's sink took a row of it.
    pub(super) fn has_room(&mut self, lane: &Lane) {
        if let Some(state) = self.lanes.get_mut(lane) {
            state.pauses = 0;
        }
    }

    /// A row is recorded: it is claimed no more.
    pub(super) fn recorded(&mut self, lane: &Lane) {
        if let Some(state) = self.lanes.get_mut(lane) {
            state.held = state.held.saturating_sub(1);
        }
        self.forget_if_empty(lane);
    }

    /// Moves a lane to where its new due time belongs; tells whether that is now.
    fn file(&mut self, lane: &Lane, before: Option<i64>, after: Option<i64>, now: i64) -> bool {
        if let Some(before) = before {
            let before = (before, lane.clone());
            if !self.overdue.remove(&before) {
                self.later.remove(&before);
            }
        }
        match after {
            Some(due) if due > now => {
                self.later.insert((due, lane.clone()));
                false
            }
            Some(due) => {
                self.overdue.insert((due, lane.clone()));
                true
            }
            None => false,
        }
    }

    fn forget_if_empty(&mut self, lane: &Lane) {
        let empty = self.lanes.get(lane).is_some_and(|state| {
            state.due.is_none() && state.claiming.is_none() && state.held == 0
        });
        if empty {
            self.lanes.remove(lane);
        }
    }
}

fn earlier(one: Option<i64>, other: Option<i64>) -> Option<i64> {
    one.into_iter().chain(other).min()
}

/// Lanes in turns, each once.
#[derive(Debug, Default)]
pub(super) struct Turns {
    order: VecDeque<Lane>,
    members: BTreeSet<Lane>,
}

impl Turns {
    pub(super) fn push(&mut self, lane: &Lane) {
        if self.members.insert(lane.clone()) {
            self.order.push_back(lane.clone());
        }
    }

    pub(super) fn pop(&mut self) -> Option<Lane> {
        let lane = self.order.pop_front()?;
        self.members.remove(&lane);
        Some(lane)
    }

    pub(super) fn first(&self) -> Option<&Lane> {
        self.order.front()
    }

    pub(super) fn remove(&mut self, lane: &Lane) {
        if self.members.remove(lane) {
            self.order.retain(|other| other != lane);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(source: &str) -> Lane {
        Lane {
            sink: "s".into(),
            source: source.into(),
            key: None,
        }
    }

    #[test]
    fn a_lane_is_due_now_or_later_and_the_earliest_counts() {
        let mut lanes = Lanes::default();
        assert!(!lanes.due(10, &lane("a"), 50));
        assert!(!lanes.due(10, &lane("a"), 90));
        assert_eq!(lanes.next(), Some(50));
        assert!(lanes.due(10, &lane("a"), 5));
        assert_eq!(lanes.next(), None);
        assert!(!lanes.due(10, &lane("b"), 20));
        assert_eq!(lanes.wake(20), [lane("b")]);
        assert!(lanes.is_due(20, &lane("b")));
    }

    #[test]
    fn what_becomes_due_while_rows_are_claimed_is_not_forgotten() {
        let mut lanes = Lanes::default();
        assert!(lanes.due(10, &lane("a"), 0));
        lanes.claim(&lane("a"));
        assert!(!lanes.is_due(10, &lane("a")));
        // Kept by the journal after it looked for the claim.
        assert!(!lanes.due(10, &lane("a"), 7));
        assert!(lanes.claimed(10, &lane("a"), Vec::new(), None));
        assert!(lanes.is_due(10, &lane("a")));
        lanes.claim(&lane("a"));
        assert!(!lanes.claimed(10, &lane("a"), Vec::new(), None));
        assert_eq!(lanes.len(), 0);
    }

    #[test]
    fn the_row_that_waits_longest_is_known() {
        let mut lanes = Lanes::default();
        lanes.due(10, &lane("a"), 50);
        assert_eq!(lanes.oldest(49), None);
        // Due, before the machine has looked.
        assert_eq!(lanes.oldest(50), Some(50));
        assert_eq!(lanes.wake(60), [lane("a")]);
        lanes.due(60, &lane("b"), 55);
        assert_eq!(lanes.oldest(60), Some(50));
        // Until the claim is answered it is not known whether the journal gave the row out.
        lanes.claim(&lane("a"));
        assert_eq!(lanes.oldest(60), Some(50));
        lanes.claimed(60, &lane("a"), Vec::new(), Some(58));
        assert_eq!(lanes.oldest(60), Some(55));
        lanes.claim(&lane("b"));
        lanes.claimed(60, &lane("b"), Vec::new(), None);
        assert_eq!(lanes.oldest(60), Some(58));
        lanes.claimed(60, &lane("a"), Vec::new(), None);
        assert_eq!(lanes.oldest(i64::MAX), None);
        assert!(lanes.overdue.is_empty() && lanes.later.is_empty());
    }

    #[test]
    fn a_lane_has_one_turn_however_often_it_asks() {
        let mut turns = Turns::default();
        for source in ["a", "b", "a"] {
            turns.push(&lane(source));
        }
        assert_eq!(turns.order.len(), 2);
        assert_eq!(turns.pop(), Some(lane("a")));
        turns.push(&lane("a"));
        assert_eq!(
            (turns.pop(), turns.pop()),
            (Some(lane("b")), Some(lane("a")))
        );
        assert!(turns.is_empty());
    }
}
