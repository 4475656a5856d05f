//! A publisher on simulated time: what a test does with it, and what it sees.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use super::builder::{Server, SimulationBuilder, Tokens, Watcher};
use super::trace::Tapped;
use super::{Answer, SentRequest, Settled, Stored, TokenAnswer};
use crate::delivery::DeliveryContext;
use crate::envelope::Envelope;
use crate::failure::{Failure, Outcome};
use crate::options::PublisherOptions;
use crate::publish::{Admission, Input, Message, Misuse, Publisher};

/// Drives a [`Publisher`] on simulated time against a scripted server.
///
/// Nothing happens while no method runs. [`run`](Self::run) and [`run_until`](Self::run_until)
/// move time from one deadline or answer straight to the next. All times are counted from the
/// start; the [`Instant`] handed in is only what the machine sees for it, since this crate reads
/// no clock.
///
/// `T` is the test's own mark of a message, for example its name or its number.
///
/// # Panics
///
/// Running panics where the machine breaks its own promises: it never waits, waits for the past,
/// or names an instant at which nothing is due.
pub struct Simulation<T> {
    pub(super) machine: Tapped<T>,
    pub(super) start: Instant,
    pub(super) now: Instant,
    pub(super) latency: Duration,
    pub(super) server: Server,
    pub(super) tokens: Tokens,
    pub(super) watcher: Option<Watcher<T>>,
    /// What happens later, each with a number so that equal times keep their order.
    pub(super) ahead: BTreeMap<(Instant, u64), Ahead<T>>,
    pub(super) scheduled: u64,
    /// How much came out of the machine.
    pub(super) outputs: u64,
    pub(super) requests: Vec<SentRequest>,
    pub(super) stored: Vec<Stored>,
    pub(super) outcomes: Vec<Settled<T>>,
    pub(super) flushed: Vec<(T, Duration)>,
    /// How many outcomes [`next_outcome`](Self::next_outcome) has given.
    seen: usize,
    recorded: Option<Receiver<String>>,
}

/// What happens later.
pub(super) enum Ahead<T> {
    Input(Input<T>),
    /// A message that is refused before it reaches the machine.
    Refused(T, Failure),
}

impl<T: fmt::Debug> Simulation<T> {
    /// A publisher without a token provider and the server that answers it.
    ///
    /// Any `start` will do; use one for all simulations of a test that compares them.
    #[must_use]
    pub fn new(
        options: impl Into<Arc<PublisherOptions>>,
        start: Instant,
        server: impl FnMut(&SentRequest) -> Answer + 'static,
    ) -> Self {
        Self::builder(options, start).serve(server)
    }

    /// The same with more to set.
    #[must_use]
    pub fn builder(
        options: impl Into<Arc<PublisherOptions>>,
        start: Instant,
    ) -> SimulationBuilder<T> {
        SimulationBuilder::new(options.into(), start)
    }

    pub(super) fn build(setup: SimulationBuilder<T>, server: Server) -> Self {
        let mut machine = Tapped::new(setup.options, setup.tokens.is_some(), setup.seed);
        let recorded = setup.record.then(|| {
            let (sender, receiver) = mpsc::channel();
            machine.record(move |line| {
                // Nobody reads it any more where the simulation is gone.
                let _ = sender.send(format!("{line}\n"));
            });
            receiver
        });
        Self {
            machine,
            start: setup.start,
            now: setup.start,
            latency: setup.latency,
            server,
            tokens: setup
                .tokens
                .unwrap_or_else(|| Box::new(|_| TokenAnswer::never())),
            watcher: setup.watcher,
            ahead: BTreeMap::new(),
            scheduled: 0,
            outputs: 0,
            requests: Vec::new(),
            stored: Vec::new(),
            outcomes: Vec::new(),
            flushed: Vec::new(),
            seen: 0,
            recorded,
        }
    }

    /// Admits a plain message now. One that breaks a rule is settled at once.
    pub fn admit(&mut self, tag: T, message: Message) {
        self.admit_at(self.elapsed(), tag, message);
    }

    /// Has a plain message admitted at `at` after the start, or now where that is over.
    pub fn admit_at(&mut self, at: Duration, tag: T, message: Message) {
        let admission = Admission::message(message, self.machine.options());
        self.admit_checked_at(at, tag, admission);
    }

    /// Admits a hook now: one attempt to deliver it, with its context.
    pub fn deliver(&mut self, tag: T, envelope: &Envelope, context: &DeliveryContext) {
        self.deliver_at(self.elapsed(), tag, envelope, context);
    }

    /// Has a hook admitted at `at` after the start, or now where that is over.
    pub fn deliver_at(
        &mut self,
        at: Duration,
        tag: T,
        envelope: &Envelope,
        context: &DeliveryContext,
    ) {
        let admission = Admission::hook(envelope, context, self.machine.options());
        self.admit_checked_at(at, tag, admission);
    }

    /// Sends what waits without lingering; [`flushed`](Self::flushed) tells when all of it is
    /// settled.
    pub fn flush(&mut self, tag: T) {
        self.take(Input::Flush { tag });
    }

    /// Goes on with an ordering key that was stopped, now.
    pub fn resume(&mut self, key: &str) {
        self.take(Input::Resume { key: key.into() });
    }

    /// Goes on with every ordering key, now.
    pub fn resume_all(&mut self) {
        self.take(Input::ResumeAll);
    }

    /// Closes the publisher. What is not settled `limit` from now is given up.
    pub fn close(&mut self, limit: Option<Duration>) {
        // A limit past the end of time is none.
        let deadline = limit.and_then(|limit| self.now.checked_add(limit));
        self.take(Input::Close { deadline });
    }

    /// Gives the machine any input, now. [`schedule`](Self::schedule) gives one later.
    ///
    /// # Errors
    ///
    /// [`Misuse`] when the input does not fit the machine's state.
    pub fn handle(&mut self, input: Input<T>) -> Result<(), Misuse> {
        self.input(input)
    }

    /// Has the machine given any input at `at` after the start, or now where that is over. One
    /// that does not fit by then fails the run.
    pub fn schedule(&mut self, at: Duration, input: Input<T>) {
        self.ahead_at(at, Ahead::Input(input));
    }

    /// The time from the start.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.now - self.start
    }

    /// The machine, to look at.
    #[must_use]
    pub fn machine(&self) -> &Publisher<T> {
        &self.machine
    }

    /// Every request, in the order they were sent.
    #[must_use]
    pub fn requests(&self) -> &[SentRequest] {
        &self.requests
    }

    /// Everything the server stored, in order.
    #[must_use]
    pub fn stored(&self) -> &[Stored] {
        &self.stored
    }

    /// Every outcome, in the order they came.
    #[must_use]
    pub fn outcomes(&self) -> &[Settled<T>] {
        &self.outcomes
    }

    /// The last outcome of `tag`; none while it is on its way.
    #[must_use]
    pub fn outcome(&self, tag: &T) -> Option<&Outcome>
    where
        T: PartialEq,
    {
        let mut newest_first = self.outcomes.iter().rev();
        let settled = newest_first.find(|settled| settled.tag == *tag)?;
        Some(&settled.outcome)
    }

    /// Runs until there is an outcome that this method has not given before, and gives it; none
    /// once nothing is left to happen. For a loop that tries failed messages again.
    pub fn next_outcome(&mut self) -> Option<Settled<T>>
    where
        T: Clone,
    {
        while self.seen == self.outcomes.len() {
            if !self.step(None) {
                return None;
            }
        }
        self.seen += 1;
        self.outcomes.get(self.seen - 1).cloned()
    }

    /// The flushes that are done, with the time when all before them was settled.
    #[must_use]
    pub fn flushed(&self) -> &[(T, Duration)] {
        &self.flushed
    }

    /// The trace of the run since the last call, where it is
    /// [recorded](SimulationBuilder::record).
    pub fn trace(&mut self) -> String {
        self.recorded.iter().flat_map(Receiver::try_iter).collect()
    }

    fn admit_checked_at(&mut self, at: Duration, tag: T, admission: Result<Admission, Failure>) {
        self.ahead_at(
            at,
            match admission {
                Ok(admission) => Ahead::Input(Input::Admit { tag, admission }),
                Err(failure) => Ahead::Refused(tag, failure),
            },
        );
    }
}

impl<T: fmt::Debug> fmt::Debug for Simulation<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Simulation")
            .field("elapsed", &self.elapsed())
            .field("machine", self.machine())
            .field("requests", &self.requests)
            .field("outcomes", &self.outcomes)
            .finish_non_exhaustive()
    }
}
