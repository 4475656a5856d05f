//! Requests: their start, their answers and their end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::fate::{Fate, FateClass};
use super::{AUTHORIZE_TIMEOUT, InFlight, Publisher, State};
use crate::failure::Class;
use crate::publish::Unsent;
use crate::publish::entry::Kind;
use crate::publish::io::{Misuse, Output};
use crate::publish::job::Job;
use crate::publish::request::{Payload, PublishRequest, RequestId, Response};
use crate::reason::{Reason, TransportKind};
use crate::text::Text;
use crate::token::Token;
use crate::wire::Verdict;

impl<T> Publisher<T> {
    pub(super) fn has_room(&self, kind: Kind) -> bool {
        let max = match kind {
            Kind::Batched => self.options.batch_max_inflight(),
            Kind::Direct => self.options.sink_concurrency(),
        };
        self.in_flight[kind as usize] < max
    }

    pub(super) fn start_requests(&mut self, now: Instant) {
        for kind in Kind::ALL {
            while self.has_room(kind) {
                // Bisected parts go ahead of new batches.
                let job = match self.parts[kind as usize].pop_front() {
                    Some(job) => job,
                    None => match self.waiting.take(kind, now) {
                        Some((key, batch)) => self.new_job(Job::new(kind, key, batch)),
                        None => break,
                    },
                };
                self.start_part(now, job);
            }
        }
    }

    pub(super) fn new_job(&mut self, job: Job<T>) -> u64 {
        let id = self.next_id();
        self.jobs.insert(id, job);
        id
    }

    pub(super) fn next_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    pub(super) fn start_part(&mut self, now: Instant, job_id: u64) {
        let request = RequestId(self.next_id());
        let Some(job) = self.jobs.get_mut(&job_id) else {
            return;
        };
        let Some(part) = job.start_part() else {
            return;
        };
        self.in_flight[job.kind as usize] += 1;
        let in_flight = InFlight {
            job: job_id,
            part,
            deadline: now,
            state: State::Authorizing,
        };
        self.requests.insert(request, in_flight);
        if self.authorize {
            self.set_deadline(request, now, AUTHORIZE_TIMEOUT);
            self.outputs.push(Output::Authorize {
                request,
                refused: None,
            });
        } else {
            self.send(now, request, None, State::Sent(None));
        }
    }

    pub(super) fn send(&mut self, now: Instant, id: RequestId, token: Option<Token>, state: State) {
        let Some(request) = self.requests.get_mut(&id) else {
            return;
        };
        let Some(job) = self.jobs.get_mut(&request.job) else {
            return;
        };
        let payload = match (job.encoded(&request.part), job.fresh.take()) {
            (Some(encoded), _) => Payload::Again(Box::new(encoded)),
            (None, fresh) => Payload::Fresh(fresh.unwrap_or_default()),
        };
        request.state = state;
        // Connecting and answering have the timeout each; the transport keeps to both, and this
        // is what no transport can pass.
        self.set_deadline(id, now, self.options.timeout().saturating_mul(2));
        self.outputs.push(Output::Send(PublishRequest {
            id,
            options: Arc::clone(&self.options),
            token,
            payload,
        }));
    }

    pub(super) fn token(
        &mut self,
        now: Instant,
        id: RequestId,
        token: Result<Token, Text>,
    ) -> Result<(), Misuse> {
        let Some(request) = self.live(id)? else {
            return Ok(());
        };
        let state = match (&request.state, token) {
            (State::Sent(_) | State::SentAgain, _) => return Err(Misuse::NoTokenWanted(id)),
            (_, Err(detail)) => {
                self.end(id, &Fate::no_credentials(detail));
                return Ok(());
            }
            (State::Reauthorizing(refused, reason), Ok(token)) if *refused == token => {
                let fate = Fate::is(Class::Config, reason.clone());
                self.end(id, &fate);
                return Ok(());
            }
            (State::Authorizing, Ok(token)) => (State::Sent(Some(token.clone())), token),
            (State::Reauthorizing(..), Ok(token)) => (State::SentAgain, token),
        };
        // Past the deadline of closing nothing is sent any more.
        if !self.is_past_closing(now) {
            self.send(now, id, Some(state.1), state.0);
        }
        Ok(())
    }

    pub(super) fn response(&mut self, now: Instant, response: Response) -> Result<(), Misuse> {
        let id = response.id;
        let Some(request) = self.live(id)? else {
            return Ok(());
        };
        let token = match &request.state {
            State::Sent(token) => token.clone(),
            State::SentAgain => None,
            State::Authorizing | State::Reauthorizing(..) => return Err(Misuse::NotSent(id)),
        };
        let (job_id, part) = (request.job, request.part.clone());
        let Some(job) = self.jobs.get_mut(&job_id) else {
            return Ok(());
        };
        if !response.fits(&part, job.len()) {
            return Err(Misuse::ForeignResponse(id));
        }
        match response.verdict {
            Verdict::Delivered(ids) => {
                let members = job.take(part);
                self.stored(members, ids);
                self.finish(id);
            }
            Verdict::Refused(_) | Verdict::TooLarge(_) if part.len() > 1 => {
                job.keep_encoded(response.encoded);
                job.bisect(part);
                self.finish(id);
            }
            Verdict::Refused(reason) => self.end(id, &Fate::is(Class::Permanent, reason)),
            Verdict::TooLarge(reason) => self.end(id, &Fate::is(Class::Transient, reason)),
            Verdict::Config(reason) => self.end(id, &Fate::is(Class::Config, reason)),
            Verdict::Unauthenticated(reason) => match token {
                Some(token) => {
                    job.keep_encoded(response.encoded);
                    self.reauthorize(now, id, token, reason);
                }
                None => self.end(id, &Fate::is(Class::Config, reason)),
            },
            Verdict::Throttled {
                reason,
                at_least,
                may_have_been_stored,
            } => {
                let mut fate = Fate::is(Class::Transient, reason);
                fate.class = FateClass::Throttled(at_least);
                fate.may_have_been_stored = may_have_been_stored;
                self.end(id, &fate);
            }
            Verdict::Transient {
                reason,
                may_have_been_stored,
            } => {
                let mut fate = Fate::is(Class::Transient, reason);
                fate.may_have_been_stored = may_have_been_stored;
                self.end(id, &fate);
            }
        }
        Ok(())
    }

    /// Pub/Sub refused the token: the provider is asked for a fresh one, once.
    pub(super) fn reauthorize(
        &mut self,
        now: Instant,
        id: RequestId,
        token: Token,
        reason: Reason,
    ) {
        if let Some(request) = self.requests.get_mut(&id) {
            request.state = State::Reauthorizing(token.clone(), reason);
        }
        self.set_deadline(id, now, AUTHORIZE_TIMEOUT);
        if !self.is_past_closing(now) {
            self.outputs.push(Output::Authorize {
                request: id,
                refused: Some(token),
            });
        }
    }

    pub(super) fn lost(&mut self, id: RequestId, detail: Text) -> Result<(), Misuse> {
        let Some(request) = self.live(id)? else {
            return Ok(());
        };
        let fate = match request.state {
            State::Authorizing | State::Reauthorizing(..) => Fate::no_credentials(detail),
            State::Sent(_) | State::SentAgain => {
                Fate::transport(TransportKind::Other, detail, true)
            }
        };
        self.end(id, &fate);
        Ok(())
    }

    /// The request, unless it is over: then an answer is too late, and no fault.
    pub(super) fn live(&self, id: RequestId) -> Result<Option<&InFlight>, Misuse> {
        if id.0 > self.next_id || id.0 == 0 {
            return Err(Misuse::UnknownRequest(id));
        }
        Ok(self.requests.get(&id))
    }

    /// Settles a request's messages with one failure, which may stop their ordering key.
    pub(super) fn end(&mut self, id: RequestId, fate: &Fate) {
        if let Some(request) = self.requests.get(&id) {
            let job = request.job;
            self.fail(job, request.part.clone(), fate);
            self.stop_key(job, fate);
            self.finish(id);
        }
    }

    /// A request is over; what is left of its job goes on.
    pub(super) fn finish(&mut self, id: RequestId) {
        let Some(request) = self.requests.remove(&id) else {
            return;
        };
        self.deadlines.remove(&(request.deadline, id));
        let Some(job) = self.jobs.get_mut(&request.job) else {
            return;
        };
        let kind = job.kind as usize;
        self.in_flight[kind] -= 1;
        job.end_part();
        if job.is_done() {
            let key = job.key.take();
            self.remove_job(request.job);
            if let Some(key) = key {
                self.waiting.release(&key);
            }
        } else {
            // Ahead of what waits, so that a batch is done before another is begun.
            let queued = self.parts[kind]
                .iter()
                .filter(|job| **job == request.job)
                .count();
            for _ in queued..job.startable() {
                self.parts[kind].push_front(request.job);
            }
        }
        self.report_flushes();
    }

    /// A job is over, sent or not.
    pub(super) fn remove_job(&mut self, id: u64) {
        let fresh = self.jobs.remove(&id).and_then(|job| job.fresh);
        self.unsent
            .extend(fresh.into_iter().flatten().map(Unsent::from));
    }

    pub(super) fn set_deadline(&mut self, id: RequestId, now: Instant, after: Duration) {
        if let Some(request) = self.requests.get_mut(&id) {
            self.deadlines.remove(&(request.deadline, id));
            request.deadline = later(now, after);
            self.deadlines.insert((request.deadline, id));
        }
    }
}

/// `now + after`, or a time that never comes where the sum is out of range.
fn later(now: Instant, after: Duration) -> Instant {
    const NEVER: Duration = Duration::from_secs(60 * 60 * 24 * 365);
    now.checked_add(after).unwrap_or(now + NEVER)
}
