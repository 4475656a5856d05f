//! Leases are extended, and end.

use std::time::{Duration, Instant};

use super::sending::{refused, trouble};
use super::{Subscriber, later};
use crate::subscribe::calls::What;
use crate::subscribe::failure::{CallClass, CallFailure, IdFailure};
use crate::subscribe::hand::Place;
use crate::subscribe::io::{LeaseLost, SubscribeOutput};
use crate::subscribe::leases::{Extending, LEAST_SECONDS, LeaseNo, Trouble};
use crate::token::Token;

/// How many requests that extend leases are in flight at most. They are small, and what waits for
/// one is about to end.
const CALLS: usize = 8;
/// The least time that one has.
const LEAST_TIME: Duration = Duration::from_millis(250);

impl Subscriber {
    /// Extends the leases that are due.
    pub(super) fn extend(&mut self) -> bool {
        if self.calls.extending() >= CALLS || self.is_over() {
            return false;
        }
        let Some(next) = self.leases.next(self.now, self.extension.seconds()) else {
            return false;
        };
        self.extend_these(next, None);
        true
    }

    /// What a stream's messages are leased for, in seconds.
    pub(super) fn stream_ack_deadline(&self) -> u16 {
        let max = self.options.max_lease().as_secs();
        let max = u16::try_from(max).unwrap_or(u16::MAX);
        self.extension.seconds().min(max).max(LEAST_SECONDS)
    }

    /// A lease that has ended is lost.
    pub(super) fn lapse(&mut self) -> bool {
        let Some(lapsed) = self.leases.lapsed(self.now) else {
            return false;
        };
        let cause = match lapsed.kept {
            true => LeaseLost::MaxLease,
            false => LeaseLost::Expired,
        };
        self.hand.change(lapsed.message, |known| known.lease = None);
        self.lose(lapsed.message, cause);
        true
    }

    /// What came of a request that extends leases.
    pub(super) fn extended(
        &mut self,
        leases: Vec<LeaseNo>,
        seconds: u16,
        sent: Instant,
        renewed: bool,
        result: Result<(), CallFailure>,
    ) {
        let Err(failure) = result else {
            for lease in leases {
                self.keep(lease, sent, seconds);
            }
            return;
        };
        self.tell_failed("extend", leases.len(), &failure);
        match failure.class {
            CallClass::Unauthenticated if !renewed && failure.refused.is_some() => {
                let leases = self.leases.still_asked(leases);
                if !leases.is_empty() && !self.is_over() {
                    self.extend_these(Extending { leases, seconds }, failure.refused);
                }
            }
            CallClass::PerId => {
                for lease in leases {
                    let id = self.leases.ack_id(lease);
                    match id.and_then(|id| failure.ids.get(id)) {
                        None => self.keep(lease, sent, seconds),
                        Some(IdFailure::Transient(_)) => self.extend_later(lease, Trouble::Id),
                        // Where it is being acked, that may be why: the ack's own answer counts.
                        Some(IdFailure::Permanent(_)) if self.leases.is_settling(lease) => {}
                        Some(IdFailure::Permanent(why)) => {
                            self.refuse(lease, LeaseLost::Refused(why.clone()));
                        }
                    }
                }
            }
            class => {
                let trouble = trouble(class);
                for lease in leases {
                    let goes_on = self.leases.failed(lease, self.now, trouble);
                    if !goes_on {
                        self.refuse(lease, LeaseLost::Refused(refused(&failure)));
                    }
                }
            }
        }
    }

    fn extend_these(&mut self, next: Extending, refused: Option<Token>) {
        let Extending { leases, seconds } = next;
        let ids = leases.iter().filter_map(|no| self.leases.ack_id(*no));
        let ids = ids.cloned().collect();
        // A request without an answer must leave time for another one.
        let end = self.leases.first_end(&leases).unwrap_or(self.now);
        let half = end.saturating_duration_since(self.now) / 2;
        let time = self.call_time().min(half.max(LEAST_TIME));
        let deadline = later(self.now, time);
        let what = What::Extend { leases, seconds };
        let call = self
            .calls
            .begin(self.now, deadline, what, refused.is_some());
        self.outputs.push_back(SubscribeOutput::ModifyDeadline {
            call,
            ids,
            seconds,
            refused,
        });
    }

    /// A lease was extended: Pub/Sub says that it is ours.
    fn keep(&mut self, lease: LeaseNo, sent: Instant, seconds: u16) {
        self.leases.extended(lease, sent, seconds);
        let Some(no) = self.leases.message(lease) else {
            return;
        };
        if let Some(known) = self.hand.get(no)
            && matches!(known.place, Place::Buffered(_))
        {
            self.turns.wait(known.key.as_ref(), no, true);
        }
    }

    fn extend_later(&mut self, lease: LeaseNo, trouble: Trouble) {
        self.leases.failed(lease, self.now, trouble);
    }

    fn refuse(&mut self, lease: LeaseNo, cause: LeaseLost) {
        if let Some(no) = self.leases.message(lease) {
            self.lose(no, cause);
        }
    }
}
