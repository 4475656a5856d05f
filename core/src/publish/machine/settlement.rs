//! Admission and settlement: every mark that came in goes out once.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use super::Publisher;
use super::fate::{Fate, FateClass, closed};
use crate::failure::{Class, Failure, MessageId};
use crate::publish::Unsent;
use crate::publish::admission::Admission;
use crate::publish::entry::{Entry, Kind, Member};
use crate::publish::io::{Output, Refused};
use crate::publish::job::Job;
use crate::publish::unboxed;
use crate::retry::throttle_draw;

impl<T> Publisher<T> {
    /// Takes a message, or gives it back at once with the failure. The same as
    /// [`Input::Admit`](crate::publish::Input::Admit), whose refusals come out of the next poll.
    ///
    /// # Errors
    ///
    /// The message and the failure: the publisher holds as much as it may, the message's ordering key
    /// is stopped, or the publisher is closed.
    pub fn try_admit(
        &mut self,
        now: Instant,
        tag: T,
        admission: Admission,
    ) -> Result<(), Box<Refused<T>>> {
        let now = self.advance(now);
        let (tenant, size) = (admission.tenant(), admission.size());
        let mut failure = if self.closing.is_some() {
            Failure::new(Class::Transient, closed("the publisher is closed"))
        } else if let Some(stopped) = self.stopped.refusal(&admission) {
            Failure::new(Class::Transient, stopped)
        } else {
            match self.ceilings.admit(tenant, size) {
                Ok(tenant) => {
                    // Only now: refused for a ceiling it would leave its key open to a later message.
                    if admission.resumes_key() {
                        self.resume_key(admission.ordering_key());
                    }
                    let (kind, stretch) = (Kind::of(&admission), self.flushes.admit());
                    let (member, body) = Member::new(tag, admission, tenant, stretch);
                    self.waiting.push(kind, now, member, body);
                    return Ok(());
                }
                Err(full) => {
                    let pause = throttle_draw(&mut self.rng, admission.attempt());
                    Failure::new(Class::RetryAfter(pause), full)
                }
            }
        };
        failure.diagnostics = admission.diagnostics();
        Err(Box::new(Refused {
            tag,
            failure,
            admission,
        }))
    }

    /// Takes the messages that were settled and never left: a driver that holds a lock drops them
    /// after it. What nobody takes is dropped with the next input.
    pub fn take_unsent(&mut self) -> Vec<Unsent> {
        std::mem::take(&mut self.unsent)
    }

    pub(super) fn admit(&mut self, now: Instant, tag: T, admission: Admission) {
        if let Err(refused) = self.try_admit(now, tag, admission) {
            let (tag, outcome) = (refused.tag, Err(refused.failure));
            self.unsent.push(refused.admission.into());
            self.outputs.push(Output::Settled { tag, outcome });
        }
    }

    /// Settles messages that were stored.
    pub(super) fn stored(&mut self, members: Vec<Option<Member<T>>>, ids: Vec<MessageId>) {
        for member in members.iter().flatten() {
            self.release(member);
        }
        self.outputs.push_stored(members, ids);
    }

    fn release(&mut self, member: &Member<T>) {
        self.ceilings.release(member.tenant, member.size);
        self.flushes.settle(member.stretch);
    }

    /// Settles the messages `part` of a job with one failure.
    pub(super) fn fail(&mut self, job: u64, part: Range<usize>, fate: &Fate) {
        let Some(members) = self.jobs.get_mut(&job).map(|job| job.take(part)) else {
            return;
        };
        for member in members.into_iter().flatten() {
            self.fail_member(member, fate);
        }
    }

    /// Settles what is left of a job and has no request.
    pub(super) fn fail_parts(&mut self, job: u64, fate: &Fate) {
        let parts = self.jobs.get_mut(&job).map(Job::take_parts);
        for part in parts.into_iter().flatten() {
            self.fail(job, part, fate);
        }
    }

    /// Fails a message that waits by itself.
    pub(super) fn fail_entry(&mut self, entry: Entry<T>, fate: &Fate) {
        self.fail_member(entry.member, fate);
        self.unsent.push(entry.body.into());
    }

    pub(super) fn fail_member(&mut self, mut member: Member<T>, fate: &Fate) {
        let class = match fate.class {
            // Each with a draw of its own, so that they do not come back together.
            FateClass::Throttled(at_least) => {
                let draw = throttle_draw(&mut self.rng, member.attempt);
                Class::RetryAfter(at_least.map_or(draw, |pause| pause.max(draw)))
            }
            FateClass::Is(class) => class,
        };
        let mut failure = Failure::new(class, Arc::clone(&fate.reason));
        failure.may_have_been_stored = fate.may_have_been_stored;
        failure.diagnostics = unboxed(member.diagnostics.take());
        self.release(&member);
        self.outputs.push(Output::Settled {
            tag: member.tag,
            outcome: Err(failure),
        });
    }

    pub(super) fn report_flushes(&mut self) {
        while let Some(tag) = self.flushes.pop_done() {
            self.outputs.push(Output::Flushed { tag });
        }
    }
}
