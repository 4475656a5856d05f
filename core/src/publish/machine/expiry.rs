//! What time does: requests that get no answer, and the end of a close.

use std::collections::VecDeque;
use std::time::Instant;

use super::fate::{Fate, closed};
use super::{AUTHORIZE_TIMEOUT, Closing, Publisher, State};
use crate::failure::Class;
use crate::publish::entry::Kind;
use crate::publish::io::Output;
use crate::publish::job::Job;
use crate::reason::TransportKind;

impl<T> Publisher<T> {
    pub(super) fn expire(&mut self, now: Instant) {
        while let Some((due, id)) = self.deadlines.first().copied() {
            if due > now {
                break;
            }
            self.deadlines.pop_first();
            let state = self.requests.get(&id).map(|request| &request.state);
            let fate = match state {
                Some(State::Sent(_) | State::SentAgain) => {
                    let detail = "no reply within twice the timeout, connecting included";
                    Fate::transport(TransportKind::Timeout, detail.into(), true)
                }
                _ => {
                    let seconds = AUTHORIZE_TIMEOUT.as_secs();
                    let detail = format!("the token provider did not answer within {seconds} s");
                    Fate::no_credentials(detail.into())
                }
            };
            self.outputs.push(Output::Cancel(id));
            self.end(id, &fate);
        }
        if self.is_past_closing(now) {
            self.closing = Some(Closing { deadline: None });
            self.give_up(now);
        }
    }

    /// Whether the time for closing is over: the next poll gives everything up.
    pub(super) fn is_past_closing(&self, now: Instant) -> bool {
        self.closing_deadline()
            .is_some_and(|deadline| deadline <= now)
    }

    /// When closing gives up, where it is closing and does.
    pub(super) fn closing_deadline(&self) -> Option<Instant> {
        self.closing.as_ref()?.deadline
    }

    /// Settles everything that is held: the time for closing is over.
    pub(super) fn give_up(&mut self, now: Instant) {
        let unsent = closed("the publisher was shut down before the message was sent");
        let unsent = Fate::is(Class::Transient, unsent);
        let sent = closed("the publisher was shut down before the reply came");
        let mut sent = Fate::is(Class::Transient, sent);
        sent.may_have_been_stored = true;
        while let Some((id, request)) = self.requests.first_key_value() {
            let id = *id;
            let fate = match request.state {
                State::Sent(_) | State::SentAgain => &sent,
                State::Authorizing | State::Reauthorizing(..) => &unsent,
            };
            self.outputs.push(Output::Cancel(id));
            // This stops no ordering key: all of it is settled for one and the same reason.
            self.fail(request.job, request.part.clone(), fate);
            self.finish(id);
        }
        self.parts = [VecDeque::new(), VecDeque::new()];
        while let Some((id, job)) = self.jobs.first_key_value() {
            let id = *id;
            let key = job.key.clone();
            self.fail_job(id, &unsent);
            if let Some(key) = key {
                self.waiting.release(&key);
            }
        }
        // What a key settles one way may free more of it to go the other way, so both are asked
        // until neither has any.
        while let Some((kind, (key, batch))) = Kind::ALL
            .into_iter()
            .find_map(|kind| Some((kind, self.waiting.take(kind, now)?)))
        {
            let id = self.new_job(Job::new(kind, key.clone(), batch));
            self.fail_job(id, &unsent);
            if let Some(key) = key {
                self.waiting.release(&key);
            }
        }
        self.report_flushes();
    }

    /// Fails all that is left of a job that has no request.
    fn fail_job(&mut self, id: u64, fate: &Fate) {
        self.fail_parts(id, fate);
        self.remove_job(id);
    }
}
