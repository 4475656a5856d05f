//! Leases, and when they are extended.

mod plan;
#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use self::plan::Plan;
use super::agenda::Agenda;
use super::fill::Fill;
use super::hand::MessageNo;
use super::message::AckId;
use super::numbered::{No, Numbered};
use super::pauses::Pauses;

/// The least that a lease is extended by, in seconds: Pub/Sub takes no less.
pub(super) const LEAST_SECONDS: u16 = 10;

/// A lease that is extended takes along all that are due within this part of an extension, so that
/// the number of requests follows the number of leases by thousands, and not their arrivals.
const COMPANY: u32 = 10;
/// The same for those whose extension failed: they are due when they are.
const COMPANY_AGAIN: Duration = Duration::from_millis(100);
/// How many leases a request is chosen from at most.
const VISITS: usize = 4_000;

/// The pauses after an extension failed for a while, and for a reason that somebody has to mend.
/// Both are cut so that two more tries fit before the lease ends.
const SOON: Pauses = Pauses {
    first: Duration::from_millis(250),
    max: Duration::from_secs(10),
};
const LATER: Pauses = Pauses {
    first: Duration::from_secs(1),
    max: Duration::from_secs(10),
};
/// The longest pause before an id is tried again that Pub/Sub names itself.
const ID_MAX: Duration = Duration::from_secs(2);
/// The shortest pause of all.
const LEAST_PAUSE: Duration = Duration::from_millis(100);
/// How often an id is sent in requests that are refused as a whole.
const INVALID_TRIES: u32 = 3;

/// The number of a lease: one ack id.
pub(super) type LeaseNo = No;

/// A lease that begins.
#[derive(Debug)]
pub(super) struct NewLease {
    pub(super) message: MessageNo,
    pub(super) ack_id: AckId,
    /// What the id takes in a request.
    pub(super) bytes: usize,
    /// How long it is, as far as that is known.
    pub(super) seconds: u16,
    /// No extension reaches beyond this.
    pub(super) last: Instant,
    /// It is extended then, whatever it has: its length is not known, or Pub/Sub has to say that
    /// it is still ours.
    pub(super) receipt: Option<Instant>,
}

/// Why an extension failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    /// It may pass by itself.
    Transient,
    /// The same, said of this id.
    Id,
    /// A pause is asked for.
    Throttled(Option<Duration>),
    /// Somebody has to mend something.
    Config,
    /// The request was refused, and it is not known for which id.
    Invalid,
}

/// A request that extends leases.
#[derive(Debug)]
pub(super) struct Extending {
    pub(super) leases: Vec<LeaseNo>,
    pub(super) seconds: u16,
}

/// A lease that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lapsed {
    pub(super) message: MessageNo,
    /// It was kept for as long as leases may be.
    pub(super) kept: bool,
}

/// The leases in hand.
#[derive(Debug)]
pub(super) struct Leases {
    leases: Numbered<Lease>,
    /// When each is extended.
    due: Agenda<LeaseNo>,
    /// Those whose last extension failed. They have requests of their own: one that cannot be
    /// extended must not hold up the others.
    again: Agenda<LeaseNo>,
    /// When each ends, but for those that are being settled.
    ends: Agenda<LeaseNo>,
    /// Pub/Sub asked for a pause until then.
    throttled: Option<Instant>,
    /// What a request takes of ids.
    max_bytes: usize,
}

#[derive(Debug)]
struct Lease {
    message: MessageNo,
    ack_id: AckId,
    bytes: usize,
    /// When it ends: surely not before, as far as is known here.
    end: Instant,
    /// What it was last extended by.
    length: Duration,
    last: Instant,
    receipt: bool,
    renewal: Renewal,
    /// Where it stands among those that are extended, or tried again.
    turn: Option<No>,
    /// Where it stands among those that end.
    ending: Option<No>,
    tries: u32,
    invalid: u32,
}

/// When a lease is extended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Renewal {
    Due(Instant),
    /// The last time it failed.
    Again(Instant),
    /// A request is under way.
    Asked,
    /// It is not: it ends with its end.
    Never,
    /// What settles it is under way.
    Settling,
}

impl Leases {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self {
            leases: Numbered::default(),
            due: Agenda::default(),
            again: Agenda::default(),
            ends: Agenda::default(),
            throttled: None,
            max_bytes,
        }
    }

    /// A lease begins.
    pub(super) fn begin(&mut self, now: Instant, new: NewLease) -> LeaseNo {
        let length = Duration::from_secs(new.seconds.into());
        let lease = Lease {
            message: new.message,
            ack_id: new.ack_id,
            bytes: new.bytes,
            end: now + length,
            length,
            last: new.last,
            receipt: new.receipt.is_some(),
            renewal: Renewal::Never,
            turn: None,
            ending: None,
            tries: 0,
            invalid: 0,
        };
        let renewal = new.receipt.map_or_else(|| lease.next(), Renewal::Due);
        let end = lease.end;
        let no = self.leases.insert(lease);
        self.ends_at(no, end);
        self.set(no, renewal);
        no
    }

    /// A lease is nobody's any more.
    pub(super) fn end(&mut self, no: LeaseNo) {
        let Some(lease) = self.leases.remove(no) else {
            return;
        };
        if let Some(turn) = lease.turn {
            self.index(lease.renewal).remove(turn);
        }
        if let Some(ending) = lease.ending {
            self.ends.remove(ending);
        }
    }

    pub(super) fn message(&self, no: LeaseNo) -> Option<MessageNo> {
        self.leases.get(no).map(|lease| lease.message)
    }

    pub(super) fn ack_id(&self, no: LeaseNo) -> Option<&AckId> {
        self.leases.get(no).map(|lease| &lease.ack_id)
    }

    pub(super) fn bytes(&self, no: LeaseNo) -> usize {
        self.leases.get(no).map_or(0, |lease| lease.bytes)
    }

    /// Its ack id stops being a slice of the answer that brought it, which may be large.
    pub(super) fn detach(&mut self, no: LeaseNo) {
        if let Some(lease) = self.leases.get_mut(no) {
            lease.ack_id = AckId::from(lease.ack_id.as_str());
        }
    }

    /// What settles it goes out: it is not extended any more.
    pub(super) fn settling(&mut self, no: LeaseNo) -> Option<AckId> {
        self.set(no, Renewal::Settling);
        self.ack_id(no).cloned()
    }

    pub(super) fn is_settling(&self, no: LeaseNo) -> bool {
        let lease = self.leases.get(no);
        lease.is_some_and(|lease| lease.renewal == Renewal::Settling)
    }

    /// What was to settle it failed. Tells whether the lease is still ours; it is extended again
    /// then.
    pub(super) fn resume(&mut self, no: LeaseNo, now: Instant) -> bool {
        let Some(lease) = self.leases.get(no) else {
            return false;
        };
        let renewal = lease.next();
        let ours = lease.end > now;
        if ours {
            self.set(no, renewal);
        }
        ours
    }

    /// The next request that extends leases, by `seconds` at most.
    pub(super) fn next(&mut self, now: Instant, seconds: u16) -> Option<Extending> {
        let company = Duration::from_secs(seconds.into()) / COMPANY;
        loop {
            let is_due = |index: &Agenda<LeaseNo>| index.first().is_some_and(|(at, _)| at <= now);
            let (index, until) = if is_due(&self.again) {
                (&self.again, now + COMPANY_AGAIN)
            } else if is_due(&self.due) {
                (&self.due, now + company)
            } else {
                return None;
            };
            let throttled = self.throttled.filter(|_| std::ptr::eq(index, &self.due));
            let mut fill = Fill::new(self.max_bytes);
            let mut chosen: Option<Extending> = None;
            let mut put_off = Vec::new();
            for no in index.until(until).take(VISITS) {
                let Some(lease) = self.leases.get(no) else {
                    continue;
                };
                match lease.plan(now, seconds, throttled) {
                    Plan::Extend(seconds) => {
                        let chosen = chosen.get_or_insert_with(|| Extending {
                            leases: Vec::new(),
                            seconds,
                        });
                        // Those that get another length have their own turn.
                        if chosen.seconds != seconds {
                            continue;
                        }
                        if !fill.add(lease.bytes) {
                            break;
                        }
                        chosen.leases.push(no);
                    }
                    Plan::Later(at) => put_off.push((no, Renewal::Due(at))),
                    Plan::Never => put_off.push((no, Renewal::Never)),
                }
            }
            for (no, renewal) in put_off {
                self.set(no, renewal);
            }
            if let Some(chosen) = chosen {
                for no in &chosen.leases {
                    self.ask(*no, now, chosen.seconds);
                }
                return Some(chosen);
            }
        }
    }

    /// The same request again: those of `leases` that still wait for its answer.
    pub(super) fn still_asked(&self, mut leases: Vec<LeaseNo>) -> Vec<LeaseNo> {
        leases.retain(|no| {
            let lease = self.leases.get(*no);
            lease.is_some_and(|lease| lease.renewal == Renewal::Asked)
        });
        leases
    }

    /// When the first of `leases` ends.
    pub(super) fn first_end(&self, leases: &[LeaseNo]) -> Option<Instant> {
        let ends = leases.iter().filter_map(|no| self.leases.get(*no));
        ends.map(|lease| lease.end).min()
    }

    /// It was extended by a request that was sent at `sent`.
    pub(super) fn extended(&mut self, no: LeaseNo, sent: Instant, seconds: u16) {
        let Some(lease) = self.leases.get_mut(no) else {
            return;
        };
        let length = Duration::from_secs(seconds.into());
        let end = lease.end.max(sent + length);
        lease.end = end;
        (lease.length, lease.receipt) = (length, false);
        (lease.tries, lease.invalid) = (0, 0);
        let renewal = lease.next();
        if lease.renewal != Renewal::Settling {
            self.ends_at(no, end);
            self.set(no, renewal);
        }
    }

    /// An extension failed. Tells whether it is tried again, or may be before its end.
    pub(super) fn failed(&mut self, no: LeaseNo, now: Instant, trouble: Trouble) -> bool {
        if let Trouble::Throttled(asked) = trouble {
            let until = now + asked.unwrap_or(LATER.first).min(Duration::from_secs(600));
            self.throttled = self.throttled.max(Some(until));
        }
        let Some(lease) = self.leases.get_mut(no) else {
            return true;
        };
        if lease.renewal == Renewal::Settling {
            return true;
        }
        lease.tries += 1;
        if trouble == Trouble::Invalid {
            lease.invalid += 1;
            if lease.invalid >= INVALID_TRIES {
                return false;
            }
        }
        let renewal = lease.again(now, trouble);
        self.set(no, renewal);
        true
    }

    /// A lease that has ended.
    pub(super) fn lapsed(&mut self, now: Instant) -> Option<Lapsed> {
        let (_, no) = self.ends.first().filter(|(end, _)| *end <= now)?;
        let lease = self.leases.get(no)?;
        let lapsed = Lapsed {
            message: lease.message,
            kept: lease.is_final(),
        };
        self.end(no);
        Some(lapsed)
    }

    /// When something is to be done about a lease.
    pub(super) fn timers(&self) -> impl Iterator<Item = Instant> {
        let firsts = [&self.due, &self.again, &self.ends].map(Agenda::first);
        firsts.into_iter().flatten().map(|(at, _)| at)
    }

    /// It is being extended.
    fn ask(&mut self, no: LeaseNo, now: Instant, seconds: u16) {
        self.set(no, Renewal::Asked);
        let Some(lease) = self.leases.get_mut(no) else {
            return;
        };
        // A first extension may be shorter than what the lease came with: from now on the shorter
        // one counts, since whether the request arrives is not known.
        let end = lease.end.min(now + Duration::from_secs(seconds.into()));
        lease.end = end;
        self.ends_at(no, end);
    }

    fn set(&mut self, no: LeaseNo, renewal: Renewal) {
        let Some(lease) = self.leases.get_mut(no) else {
            return;
        };
        let before = std::mem::replace(&mut lease.renewal, renewal);
        let (turn, end) = (lease.turn.take(), lease.end);
        if let Some(turn) = turn {
            self.index(before).remove(turn);
        }
        if let Renewal::Due(at) | Renewal::Again(at) = renewal {
            let turn = self.index(renewal).insert(at, no);
            if let Some(lease) = self.leases.get_mut(no) {
                lease.turn = Some(turn);
            }
        }
        match (before, renewal) {
            (Renewal::Settling, Renewal::Settling) => {}
            (Renewal::Settling, _) => self.ends_at(no, end),
            (_, Renewal::Settling) => self.ends_never(no),
            _ => {}
        }
    }

    /// Where those stand that are extended so.
    fn index(&mut self, renewal: Renewal) -> &mut Agenda<LeaseNo> {
        match renewal {
            Renewal::Again(_) => &mut self.again,
            _ => &mut self.due,
        }
    }

    /// It ends then, unless something becomes of it before.
    fn ends_at(&mut self, no: LeaseNo, end: Instant) {
        self.ends_never(no);
        if let Some(lease) = self.leases.get_mut(no) {
            lease.ending = Some(self.ends.insert(end, no));
        }
    }

    fn ends_never(&mut self, no: LeaseNo) {
        let lease = self.leases.get_mut(no);
        if let Some(ending) = lease.and_then(|lease| lease.ending.take()) {
            self.ends.remove(ending);
        }
    }
}
