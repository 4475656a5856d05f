//! A dispatcher on simulated time: a journal that can fail, sinks that do as they are told.

mod checks;
mod foreign;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pubsink_core::dispatch::{
    AttemptId, DispatchInput, DispatchOptions, DispatchOutput, DispatchWait, Dispatcher, Event,
    Hook, SinkSpec,
};
use pubsink_core::envelope::Envelope;
use pubsink_core::failure::{Class, Failure};
use pubsink_core::journal::{
    Destination, JournalError, Lane, ReplayJob, RowId, Table, TableLimits,
};
use pubsink_core::publish::Step;
use pubsink_core::reason::{Reason, TransportKind};
use pubsink_core::sink::Receipt;

use crate::seen::Seen;
use crate::store::Store;

/// The wall time at which a simulation begins.
pub(crate) const BEGIN: i64 = 1_750_000_000_000;

/// How long a sink takes, and what it says.
pub(crate) type Saying = (Duration, Result<Receipt, Failure>);
/// Asked at the begin of each attempt: the time since the simulation began, the sink, the hook's
/// id and the number of the attempt.
pub(crate) type Script = Box<dyn FnMut(Duration, &str, &str, u32) -> Saying>;
/// Whether a call to the journal fails: asked with its name.
pub(crate) type Faults = Box<dyn FnMut(Duration, &str) -> bool>;

pub(crate) struct Sim {
    pub(crate) machine: Dispatcher<u64>,
    pub(crate) table: Table,
    pub(crate) store: Store,
    pub(crate) options: DispatchOptions,
    pub(crate) script: Script,
    pub(crate) faults: Faults,
    /// Whether a record that fails was kept all the same.
    pub(crate) faults_after: bool,
    /// How long the journal takes.
    pub(crate) journal_takes: Duration,
    start: Instant,
    now: Instant,
    sinks: BTreeMap<String, SinkSpec>,
    /// Answers on their way.
    answers: BTreeMap<(Instant, u64), Answer>,
    serial: u64,
    running: BTreeMap<AttemptId, (RowId, String, Instant)>,
    next_tag: u64,
    pub(crate) seen: Seen,
}

type Answer = Box<dyn FnOnce(&mut Sim) -> Option<DispatchInput<u64>>>;

pub(crate) fn sink(name: &str) -> SinkSpec {
    SinkSpec {
        name: name.into(),
        batched: false,
        ordered: false,
        inline_max_bytes: None,
    }
}

pub(crate) fn envelope(id: &str, source: &str, body: &[u8]) -> Arc<Envelope> {
    Arc::new(Envelope::new(id, source, BEGIN, foreign::body(body)))
}

pub(crate) fn ok() -> Result<Receipt, Failure> {
    Ok(Receipt::new())
}

pub(crate) fn fails(class: Class) -> Result<Receipt, Failure> {
    let detail = "as it was told".into();
    let transport = TransportKind::Other;
    Err(Failure::new(class, Reason::Transport { transport, detail }))
}

pub(crate) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

impl Sim {
    pub(crate) fn new(options: DispatchOptions, sinks: Vec<SinkSpec>, script: Script) -> Self {
        Self::over(
            Table::new(TableLimits {
                rows: u64::MAX,
                bytes: u64::MAX,
            }),
            options,
            sinks,
            script,
            7,
        )
    }

    /// A dispatcher that finds `table` when it starts.
    pub(crate) fn over(
        table: Table,
        options: DispatchOptions,
        sinks: Vec<SinkSpec>,
        script: Script,
        seed: u64,
    ) -> Self {
        #[allow(clippy::disallowed_methods, reason = "any instant will do")]
        let start = Instant::now();
        let machine = Dispatcher::new(options.clone(), sinks.clone(), start, BEGIN, seed);
        let mut sim = Self {
            machine: machine.unwrap(),
            options,
            script,
            faults: Box::new(|_, _| false),
            faults_after: false,
            journal_takes: ms(1),
            start,
            now: start,
            sinks: sinks.into_iter().map(|s| (s.name.to_string(), s)).collect(),
            answers: BTreeMap::new(),
            serial: 0,
            running: BTreeMap::new(),
            next_tag: 0,
            seen: Seen::default(),
            store: Store::default(),
            table,
        };
        for (lane, due) in sim.table.lanes() {
            sim.input(DispatchInput::Due { lane, due });
        }
        for job in sim.table.replays() {
            sim.input(DispatchInput::Replay(job));
        }
        sim
    }

    pub(crate) fn at(&self) -> Duration {
        self.now - self.start
    }

    pub(crate) fn unix(&self) -> i64 {
        BEGIN + i64::try_from(self.at().as_millis()).unwrap()
    }

    /// Enqueues a hook for every sink.
    pub(crate) fn enqueue(&mut self, id: &str, source: &str) -> u64 {
        self.enqueue_keyed(id, source, None)
    }

    pub(crate) fn enqueue_keyed(&mut self, id: &str, source: &str, key: Option<&str>) -> u64 {
        self.enqueue_envelope(envelope(id, source, b"{}"), key)
    }

    pub(crate) fn enqueue_envelope(&mut self, envelope: Arc<Envelope>, key: Option<&str>) -> u64 {
        let to = self.sinks.values().map(|sink| Destination {
            sink: sink.name.clone(),
            key: key.map(Into::into),
        });
        let hook = Hook {
            envelope,
            to: to.collect(),
            claim: None,
            once: None,
        };
        self.enqueue_hook(hook)
    }

    pub(crate) fn enqueue_hook(&mut self, hook: Hook) -> u64 {
        self.next_tag += 1;
        let tag = self.next_tag;
        self.input(DispatchInput::Enqueue { tag, hook });
        tag
    }

    pub(crate) fn replay(&mut self, job: ReplayJob) {
        let job = self.table.begin_replay(job).unwrap();
        self.input(DispatchInput::Replay(job));
    }

    pub(crate) fn close(&mut self, deadline: Option<Duration>) {
        let deadline = deadline.map(|at| self.start + at);
        self.input(DispatchInput::Close { deadline });
    }

    pub(crate) fn resume(&mut self, lane: &Lane) {
        if let Some(due) = self.table.resume(lane) {
            let lane = lane.clone();
            self.input(DispatchInput::Due { lane, due });
        }
    }

    pub(crate) fn input(&mut self, input: DispatchInput<u64>) {
        self.handle(input);
        self.drain();
    }

    fn handle(&mut self, input: DispatchInput<u64>) {
        foreign::inside(|| self.machine.handle(self.now, input)).unwrap();
        drop(self.machine.take_let_go());
    }

    /// Runs until there is nothing to wait for; returns why.
    pub(crate) fn run(&mut self) -> DispatchWait {
        self.run_until(Duration::MAX)
    }

    /// Runs for so long at most, jumping from one thing that is due to the next.
    pub(crate) fn run_until(&mut self, until: Duration) -> DispatchWait {
        loop {
            let (wait, reason) = self.drain();
            let answer = self.answers.keys().next().map(|(at, _)| *at);
            let next = wait.into_iter().chain(answer).min();
            let end = self.start.checked_add(until);
            match next {
                Some(next) if end.is_none_or(|end| next <= end) => {
                    assert!(next >= self.now, "a wait in the past: {reason:?}");
                    self.now = next;
                }
                _ => {
                    self.now = end.unwrap_or(self.now).max(self.now);
                    return reason;
                }
            }
            while let Some(entry) = self.answers.first_entry() {
                if entry.key().0 > self.now {
                    break;
                }
                let answer = entry.remove();
                if let Some(input) = answer(self) {
                    self.handle(input);
                }
            }
        }
    }

    fn drain(&mut self) -> (Option<Instant>, DispatchWait) {
        loop {
            self.seen.steps += 1;
            let step = foreign::inside(|| self.machine.poll(self.now));
            drop(self.machine.take_let_go());
            match step {
                Step::Do(output) => self.output(output),
                Step::Wait(until, reason) => {
                    assert!(
                        until.is_none_or(|until| until > self.now),
                        "a wait that is over already: {reason:?}"
                    );
                    self.check_ceilings();
                    return (until, reason);
                }
            }
        }
    }

    fn answer(
        &mut self,
        after: Duration,
        answer: impl FnOnce(&mut Self) -> Option<DispatchInput<u64>> + 'static,
    ) {
        self.serial += 1;
        // An answer that never comes.
        let Some(at) = self.now.checked_add(after) else {
            return;
        };
        self.answers.insert((at, self.serial), Box::new(answer));
    }

    /// Whether the journal fails; if so, before or after it did what it was asked.
    fn fails(&mut self, what: &str) -> Option<JournalError> {
        let at = self.at();
        (self.faults)(at, what).then(|| JournalError::Storage("no space left".into()))
    }

    fn output(&mut self, output: DispatchOutput<u64>) {
        let takes = self.journal_takes;
        match output {
            DispatchOutput::Store { call, hooks } => self.answer(takes, move |sim| {
                let result = match sim.fails("store") {
                    Some(error) => Err(error),
                    None => sim.table.enqueue(sim.unix(), &hooks),
                };
                Some(DispatchInput::Stored { call, result })
            }),
            DispatchOutput::Claim { call, claim } => self.answer(takes, move |sim| {
                let result = match sim.fails("claim") {
                    Some(error) => Err(error),
                    None => Ok(sim.table.claim(&claim)),
                };
                Some(DispatchInput::Claimed { call, result })
            }),
            DispatchOutput::Record { call, records } => self.answer(takes, move |sim| {
                let failed = sim.fails("record");
                let kept = failed.is_none() || sim.faults_after;
                let result = if kept {
                    sim.table.record(&records)
                } else {
                    Ok(())
                };
                let result = failed.map_or(result, Err);
                Some(DispatchInput::Recorded { call, result })
            }),
            DispatchOutput::Replay { call, job, max } => self.answer(takes, move |sim| {
                let result = match sim.fails("replay") {
                    Some(error) => Err(error),
                    None => sim.table.replay(sim.unix(), &job, max),
                };
                Some(DispatchInput::Replayed { call, result })
            }),
            DispatchOutput::Accepted { tag, result } => self.seen.accepted.push((tag, result)),
            DispatchOutput::Abort(attempt) => {
                self.seen.aborted += 1;
                assert!(self.running.remove(&attempt).is_some(), "aborted twice");
            }
            DispatchOutput::Attempt {
                attempt,
                row,
                context,
            } => {
                let at = self.at();
                let sink = row.lane.sink.to_string();
                let id = row.envelope.id.clone();
                self.check_attempt(row.id, &sink);
                self.check_claim(&row, context.claim.as_ref());
                assert_eq!(context.attempt, row.attempts + 1);
                let number = context.attempt;
                self.running
                    .insert(attempt, (row.id, sink.clone(), self.now));
                self.seen
                    .attempts
                    .push((at, sink.clone(), id.clone(), number));
                self.seen
                    .claims
                    .push((sink.clone(), id.clone(), context.claim));
                let (takes, outcome) = (self.script)(at, &sink, &id, number);
                self.answer(takes, move |sim| {
                    // An aborted attempt ends without an answer.
                    sim.running.remove(&attempt)?;
                    if outcome.is_ok() {
                        sim.seen.delivered.push((sink, id));
                    }
                    Some(DispatchInput::Attempted { attempt, outcome })
                });
            }
            DispatchOutput::CheckIn {
                check_in,
                claim,
                row,
            } => {
                let hook = (row.envelope.id.as_str(), &row.envelope.body);
                let (takes, said) = self.store.begin(self.at(), check_in, &claim, hook);
                self.answer(takes, move |sim| {
                    let result = sim.store.end(check_in, said)?;
                    Some(DispatchInput::CheckedIn { check_in, result })
                });
            }
            DispatchOutput::AbortCheckIn(check_in) => self.store.abort(check_in),
            DispatchOutput::Event(event) => self.event(event),
            other => panic!("{other:?}"),
        }
    }

    fn event(&mut self, event: Event) {
        let at = self.at();
        match event {
            Event::Settled(settled) => self.seen.settled.push(settled),
            Event::Retry { .. } => {}
            Event::Breaker { sink, state } => {
                self.seen.breakers.push((at, sink.to_string(), state));
            }
            Event::Journal { what, .. } => self.seen.journal_errors.push(what),
            Event::Replay(job) => self.seen.replays.push(job),
            Event::UnknownSink(name) => self.seen.unknown_sinks.push(name.to_string()),
            other => panic!("{other:?}"),
        }
    }
}
