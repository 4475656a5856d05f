//! The loop of a simulation: do all there is to do, then jump to what is next.

use std::fmt;
use std::time::{Duration, Instant};

use super::answer::{Says, What};
use super::simulation::Ahead;
use super::{Event, SentRequest, Settled, Simulation, Stored, over_grpc, replies};
use crate::options::Wire;
use crate::publish::{
    Input, Misuse, Output, PublishRequest, RequestId, Response, Sent, Step, WaitReason,
};
use crate::token::Token;
use crate::wire::Reply;

/// More outputs than any amount of work a test can hand in at one instant needs.
const POLLS_MAX: u32 = 1_000_000;

impl<T: fmt::Debug> Simulation<T> {
    /// Runs until nothing is left to happen: everything is settled, or waits for an input.
    pub fn run(&mut self) {
        while self.step(None) {}
    }

    /// Runs until `end` after the start, and stands there.
    pub fn run_until(&mut self, end: Duration) {
        let end = self.start + end;
        while self.step(Some(end)) {}
        self.now = self.now.max(end);
    }

    /// Does all there is to do now, and says until when the machine waits, and why.
    pub fn drain(&mut self) -> (Option<Duration>, WaitReason) {
        for _ in 0..POLLS_MAX {
            match self.machine.poll(self.now) {
                Step::Do(output) => self.perform(output),
                Step::Wait(due, reason) => {
                    let past = due.is_some_and(|due| due <= self.now);
                    assert!(!past, "the machine waits for the past: {reason:?}");
                    drop(self.machine.take_unsent());
                    return (due.map(|due| due - self.start), reason);
                }
            }
        }
        unreachable!("the machine never waits");
    }

    /// Goes to what is next, no further than `end`, and says whether there was anything.
    pub(super) fn step(&mut self, end: Option<Instant>) -> bool {
        let (due, reason) = self.drain();
        let due = due.map(|due| self.start + due);
        let event = self.ahead.first_key_value().map(|((at, _), _)| *at);
        let next = due.into_iter().chain(event).min();
        let Some(next) = next.filter(|next| end.is_none_or(|end| *next <= end)) else {
            return false;
        };
        self.now = next;
        if event == Some(next) {
            self.happen();
        } else {
            let outputs = self.outputs;
            let then = self.drain();
            let at = self.elapsed();
            assert!(
                self.outputs > outputs,
                "nothing was due at {at:?} for {reason:?}; then {then:?}"
            );
        }
        true
    }

    /// Gives the machine an input that fits it by construction.
    pub(super) fn take(&mut self, input: Input<T>) {
        let taken = self.input(input);
        assert!(
            taken.is_ok(),
            "the simulation misused the machine: {taken:?}"
        );
    }

    pub(super) fn input(&mut self, input: Input<T>) -> Result<(), Misuse> {
        self.tell(Event::Input(&input));
        let taken = self.machine.handle(self.now, input);
        self.tell(Event::Handled(self.machine.gauges()));
        taken
    }

    /// Has `what` happen at `at` after the start, or now where that is over.
    pub(super) fn ahead_at(&mut self, at: Duration, what: Ahead<T>) {
        let at = self.start + at;
        if at <= self.now {
            self.befall(what);
            return;
        }
        self.scheduled += 1;
        self.ahead.insert((at, self.scheduled), what);
    }

    /// Everything that is due, the machine acting between.
    fn happen(&mut self) {
        while let Some(due) = self
            .ahead
            .first_entry()
            .filter(|due| due.key().0 <= self.now)
        {
            let what = due.remove();
            self.befall(what);
            self.drain();
        }
    }

    fn befall(&mut self, what: Ahead<T>) {
        match what {
            Ahead::Input(input) => self.take(input),
            Ahead::Refused(tag, failure) => {
                let at = self.elapsed();
                let outcome = Err(failure);
                self.outcomes.push(Settled { tag, at, outcome });
            }
        }
    }

    fn perform(&mut self, output: Output<T>) {
        self.outputs += 1;
        self.tell(Event::Output(&output));
        let at = self.elapsed();
        match output {
            Output::Authorize { request, refused } => self.authorize(request, refused.as_ref()),
            Output::Send(request) => self.send(request),
            // The answer comes all the same, as it may in a real run.
            Output::Cancel(_) => {}
            Output::Settled { tag, outcome } => self.outcomes.push(Settled { tag, at, outcome }),
            Output::Flushed { tag } => self.flushed.push((tag, at)),
        }
    }

    fn authorize(&mut self, request: RequestId, refused: Option<&Token>) {
        let answer = (self.tokens)(refused);
        let input = match answer.says {
            Says::Token(token) => Input::Token { request, token },
            Says::Lost => Input::Lost {
                request,
                detail: "the provider is gone".into(),
            },
            Says::Never => return,
        };
        self.come(answer.after, input);
    }

    fn send(&mut self, request: PublishRequest) {
        let id = request.id();
        let (http, sent) = request.encode();
        let request = SentRequest::new(id, self.elapsed(), http);
        self.tell(Event::Request(&request));
        let answer = (self.server)(&request);
        let first = self.stored.len();
        if answer.stored {
            let ids = (first..).map(|number| format!("id-{number}"));
            let stored = ids.zip(request.messages.iter().cloned());
            self.stored
                .extend(stored.map(|(id, message)| Stored { id, message }));
        }
        self.requests.push(request);
        let input = match answer.what {
            What::Ids => {
                let ids = self.stored[first..].iter().map(|stored| &stored.id);
                Input::Response(self.answered(sent, &replies::ids(ids)))
            }
            What::Reply(reply) => Input::Response(self.answered(sent, &reply)),
            What::Failed(kind) => Input::Response(sent.failed(kind, "it broke")),
            What::Lost => Input::Lost {
                request: id,
                detail: "the task is gone".into(),
            },
            What::Never => return,
        };
        self.come(answer.after.unwrap_or(self.latency), input);
    }

    /// What becomes of a request that is answered so, on the publisher's wire.
    fn answered(&self, sent: Sent, reply: &Reply) -> Response {
        match self.machine.options().wire() {
            Wire::Rest => sent.answered(reply),
            Wire::Grpc => {
                let (reply, trailers) = over_grpc::spoken(reply);
                sent.answered_with(&reply, &trailers)
            }
        }
    }

    /// Has an answer come after this long, never within the poll that asked for it.
    fn come(&mut self, after: Duration, input: Input<T>) {
        self.scheduled += 1;
        let at = (self.now + after, self.scheduled);
        self.ahead.insert(at, Ahead::Input(input));
    }

    fn tell(&mut self, event: Event<'_, T>) {
        let at = self.elapsed();
        if let Some(watcher) = &mut self.watcher {
            watcher(at, event);
        }
    }
}
