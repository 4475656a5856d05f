//! What became of messages, on its way to Pub/Sub.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::fill::{Fill, REQUEST_MAX_IDS};
use super::leases::{LeaseNo, Trouble};
use super::pauses::Pauses;
use crate::reason::Reason;
use crate::retry::Rng;

/// How many calls of one way are in flight at most. With 1,000 ids each and 50 ms for an answer
/// that is 80,000 a second.
const CALLS: usize = 4;
/// Of them, how many may be of batches that failed before: one that never passes must not hold up
/// the others.
const CALLS_AGAIN: usize = CALLS - 1;

/// The pauses after a call failed for a while, and for a reason that somebody has to mend.
const SOON: Pauses = Pauses {
    first: Duration::from_millis(250),
    max: Duration::from_secs(10),
};
const LATER: Pauses = Pauses {
    first: Duration::from_secs(2),
    max: Duration::from_secs(30),
};
/// The longest pause before ids are tried again that Pub/Sub names itself.
const ID_MAX: Duration = Duration::from_secs(2);
/// The longest pause that is granted: leases are kept meanwhile, but not for ever.
const ASKED_MAX: Duration = Duration::from_secs(30);

/// What a settlement asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Pub/Sub is to forget the message.
    Ack,
    /// Pub/Sub is to deliver it again.
    Nack,
}

/// A lease that is to be settled.
#[derive(Debug, Clone)]
pub(super) struct Item {
    pub(super) lease: LeaseNo,
    pub(super) key: Option<Arc<str>>,
    /// What its id takes in a request.
    pub(super) bytes: usize,
    pub(super) since: Instant,
}

/// What goes in one call.
#[derive(Debug)]
pub(super) struct Batch {
    no: u64,
    pub(super) items: Vec<Item>,
    pub(super) tries: u32,
    /// How often it was refused without a word on which id is at fault.
    pub(super) invalid: u32,
}

/// The leases that are to be settled in one way: those that wait for company, and the batches
/// whose call failed.
///
/// Those of one ordering key are in one call at a time, in order: Pub/Sub may drop an ack that
/// overtakes the one before it.
#[derive(Debug)]
pub(super) struct Outbox {
    linger: Duration,
    max_bytes: usize,
    fresh: VecDeque<Item>,
    fresh_bytes: usize,
    again: BTreeMap<(Instant, u64), Batch>,
    /// The ordering keys that a batch has.
    keys: BTreeMap<Arc<str>, Taken>,
    in_flight: usize,
    in_flight_again: usize,
    /// Calls that failed in a row, and until when no new batch goes because of them.
    failures: u32,
    pause: Option<Instant>,
    last_failure: Option<Arc<Reason>>,
    last: u64,
    haste: Haste,
}

/// How long things may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Haste {
    /// As long as is set.
    None,
    /// Nothing waits for company.
    Soon,
    /// Nothing waits at all.
    Now,
}

#[derive(Debug)]
struct Taken {
    batch: u64,
    items: usize,
    behind: VecDeque<Item>,
}

impl Outbox {
    pub(super) fn new(linger: Duration, max_bytes: usize) -> Self {
        Self {
            linger,
            max_bytes,
            fresh: VecDeque::new(),
            fresh_bytes: 0,
            again: BTreeMap::new(),
            keys: BTreeMap::new(),
            in_flight: 0,
            in_flight_again: 0,
            failures: 0,
            pause: None,
            last_failure: None,
            last: 0,
            haste: Haste::None,
        }
    }

    pub(super) fn push(&mut self, item: Item) {
        self.fresh_bytes += item.bytes;
        self.fresh.push_back(item);
    }

    /// From now on nothing waits for longer than this.
    pub(super) fn hasten(&mut self, haste: Haste) {
        self.haste = haste;
        if haste < Haste::Now {
            return;
        }
        let again = std::mem::take(&mut self.again).into_values();
        let mut items: VecDeque<Item> = again.flat_map(|batch| batch.items).collect();
        for taken in std::mem::take(&mut self.keys).into_values() {
            items.extend(taken.behind);
        }
        items.append(&mut self.fresh);
        self.fresh_bytes = items.iter().map(|item| item.bytes).sum();
        self.fresh = items;
    }

    /// Why the last call failed, if it did.
    pub(super) fn last_failure(&self) -> Option<&Arc<Reason>> {
        self.last_failure.as_ref()
    }

    /// The next batch to send.
    pub(super) fn next(&mut self, now: Instant) -> Option<Batch> {
        if self.haste < Haste::Now && self.in_flight >= CALLS {
            return None;
        }
        if self.in_flight_again < CALLS_AGAIN
            && let Some(first) = self.again.first_entry()
            && first.key().0 <= now
        {
            self.in_flight += 1;
            self.in_flight_again += 1;
            return Some(first.remove());
        }
        if self.haste < Haste::Now && self.pause.is_some_and(|until| until > now) {
            return None;
        }
        while self.fresh_due().is_some_and(|due| due <= now) {
            let items = self.fill();
            if !items.is_empty() {
                self.in_flight += 1;
                return Some(Batch {
                    no: self.last,
                    items,
                    tries: 0,
                    invalid: 0,
                });
            }
        }
        None
    }

    /// When the next batch is to be sent.
    pub(super) fn due(&self) -> Option<Instant> {
        let fresh = self.fresh_due().max(self.pause);
        let fresh = fresh.filter(|_| !self.fresh.is_empty());
        let again = self.again.keys().next().map(|(at, _)| *at);
        fresh.into_iter().chain(again).min()
    }

    /// The call of a batch has ended.
    pub(super) fn ended(&mut self, batch: &Batch) {
        self.in_flight = self.in_flight.saturating_sub(1);
        let again = usize::from(batch.tries > 0);
        self.in_flight_again = self.in_flight_again.saturating_sub(again);
    }

    /// The batch goes out once more, at once: it is in flight again.
    pub(super) fn resent(&mut self, batch: &Batch) {
        self.in_flight += 1;
        self.in_flight_again += usize::from(batch.tries > 0);
    }

    /// Pub/Sub answered: nothing keeps others from being sent.
    pub(super) fn well(&mut self) {
        (self.failures, self.pause) = (0, None);
        self.last_failure = None;
    }

    /// A call failed as a whole: others are likely to.
    pub(super) fn failed(
        &mut self,
        now: Instant,
        trouble: Trouble,
        reason: &Arc<Reason>,
        rng: &mut Rng,
    ) {
        self.failures = self.failures.saturating_add(1);
        self.last_failure = Some(Arc::clone(reason));
        let until = now + pause(trouble, self.failures, rng);
        self.pause = self.pause.max(Some(until));
    }

    /// Items of a batch whose call failed are sent again after a pause.
    pub(super) fn again(
        &mut self,
        now: Instant,
        mut batch: Batch,
        trouble: Trouble,
        rng: &mut Rng,
    ) {
        batch.tries = batch.tries.saturating_add(1);
        batch.invalid += u32::from(trouble == Trouble::Invalid);
        let at = now + pause(trouble, batch.tries, rng);
        self.again.insert((at, batch.no), batch);
    }

    /// An item of a batch is done with: its key is free once all of them are.
    pub(super) fn release(&mut self, batch: u64, item: &Item) {
        let Some(key) = &item.key else {
            return;
        };
        let Some(taken) = self.keys.get_mut(key).filter(|taken| taken.batch == batch) else {
            return;
        };
        taken.items = taken.items.saturating_sub(1);
        if taken.items > 0 {
            return;
        }
        if let Some(taken) = self.keys.remove(key) {
            for item in taken.behind.into_iter().rev() {
                self.fresh_bytes += item.bytes;
                self.fresh.push_front(item);
            }
        }
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.fresh.clear();
        self.fresh_bytes = 0;
        self.again.clear();
        self.keys.clear();
    }

    /// When what waits for company leaves: at once where a request is full.
    fn fresh_due(&self) -> Option<Instant> {
        let first = self.fresh.front()?;
        let full = self.fresh.len() >= REQUEST_MAX_IDS || self.fresh_bytes >= self.max_bytes;
        match full || self.haste > Haste::None {
            true => Some(first.since),
            false => Some(first.since + self.linger),
        }
    }

    /// Fills a batch from what waits. What another batch has the key of waits for that.
    fn fill(&mut self) -> Vec<Item> {
        self.last += 1;
        let no = self.last;
        let mut fill = Fill::new(self.max_bytes);
        let mut items = Vec::new();
        while let Some(next) = self.fresh.front() {
            let taken = next.key.as_ref().and_then(|key| self.keys.get_mut(key));
            let elsewhere = taken.filter(|taken| taken.batch != no);
            if let Some(taken) = elsewhere
                && self.haste < Haste::Now
            {
                self.fresh_bytes = self.fresh_bytes.saturating_sub(next.bytes);
                taken.behind.extend(self.fresh.pop_front());
                continue;
            }
            if !self.run_fits(no, &fill) || !fill.add(next.bytes) {
                break;
            }
            let Some(item) = self.fresh.pop_front() else {
                break;
            };
            self.fresh_bytes = self.fresh_bytes.saturating_sub(item.bytes);
            if let Some(key) = &item.key {
                let new = || Taken {
                    batch: no,
                    items: 0,
                    behind: VecDeque::new(),
                };
                let taken = self.keys.entry(Arc::clone(key)).or_insert_with(new);
                taken.items += 1;
            }
            items.push(item);
        }
        items
    }

    /// Whether what waits at the head, with what follows it of the same key, goes into this batch:
    /// it is not parted where a batch of its own has room for it.
    fn run_fits(&self, no: u64, fill: &Fill) -> bool {
        let Some(key) = self.fresh.front().and_then(|first| first.key.as_ref()) else {
            return true;
        };
        if self.keys.get(key).is_some_and(|taken| taken.batch == no) {
            return true;
        }
        let run = self.fresh.iter().take(REQUEST_MAX_IDS + 1);
        let run = run.take_while(|item| item.key.as_ref() == Some(key));
        let (ids, bytes) = run.fold((0, 0), |(ids, bytes), item| (ids + 1, bytes + item.bytes));
        fill.takes(ids, bytes) || !Fill::new(self.max_bytes).takes(ids, bytes)
    }
}

impl Batch {
    pub(super) fn no(&self) -> u64 {
        self.no
    }
}

fn pause(trouble: Trouble, times: u32, rng: &mut Rng) -> Duration {
    match trouble {
        Trouble::Transient | Trouble::Invalid => SOON.draw(times, rng),
        Trouble::Id => SOON.draw(times, rng).min(ID_MAX),
        Trouble::Config => LATER.draw(times, rng),
        Trouble::Throttled(asked) => {
            let asked = asked.unwrap_or_default().min(ASKED_MAX);
            SOON.draw(times, rng).max(asked)
        }
    }
}
