//! The dispatcher machine: its state and its two verbs.

mod answers;
mod check_ins;
mod claims;
mod settlement;
mod sinks;
mod starts;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::attempts::Attempts;
use super::breaker::BreakerState;
use super::check_ins::CheckIns;
use super::intake::Intake;
use super::io::{
    CallId, DispatchGauges, DispatchInput, DispatchMisuse, DispatchOutput, DispatchWait,
    EnqueueError, Event, Hook, SinkSpec,
};
use super::lanes::{Lanes, Turns};
use super::options::DispatchOptions;
use super::records::{Backoff, Records};
use super::replays::Replays;
use crate::envelope::Envelope;
use crate::journal::Lane;
use crate::options::OptionError;
use crate::publish::Step;
use crate::retry::Rng;
use crate::text::Text;
use sinks::Sinks;

/// How long closing waits for the journal beyond its deadline.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Delivers every row of a journal to its sink: the sans-IO machine behind a dispatch handle.
///
/// Feed it with [`handle`](Self::handle), then call [`poll`](Self::poll) until it waits. `T` is
/// the caller's mark of a hook that comes in; each comes back once. At the start, feed it every
/// lane of the journal ([`Due`](DispatchInput::Due)) and every replay job that runs.
///
/// It holds the rows it has claimed, within its windows, and for each lane of the journal a few
/// words; never the rows that wait.
#[derive(Debug)]
pub struct Dispatcher<T> {
    options: DispatchOptions,
    rng: Rng,
    start: (Instant, i64),
    /// The latest instant seen: time never goes back.
    now: Instant,
    intake: Intake<T>,
    lanes: Lanes,
    sinks: Sinks,
    /// Lanes whose next row was larger than the room they were offered.
    hungry: Turns,
    /// The first of them was offered all there is, and waits for more.
    hungry_waits: bool,
    claims: BTreeMap<CallId, Claiming>,
    claim_backoff: Backoff,
    attempts: Attempts,
    check_ins: CheckIns,
    records: Records,
    replays: Replays,
    window: Window,
    last_call: u64,
    unknown_sinks: BTreeSet<Text>,
    closing: Option<Closing>,
    outputs: VecDeque<DispatchOutput<T>>,
    /// Hooks that are held no more and were handed to nobody, until the next input.
    let_go: Vec<Arc<Envelope>>,
}

/// A claim that the journal was asked for.
#[derive(Debug)]
struct Claiming {
    lane: Lane,
    rows: usize,
    bytes: usize,
}

/// What is claimed, and what is kept free for claims under way.
#[derive(Debug, Default)]
struct Window {
    rows: usize,
    bytes: usize,
    reserved_rows: usize,
    reserved_bytes: usize,
}

impl Window {
    /// Whether nothing is claimed, and nothing is being claimed.
    fn is_empty(&self) -> bool {
        self.rows == 0 && self.reserved_rows == 0
    }
}

#[derive(Debug)]
struct Closing {
    deadline: Option<Instant>,
    /// The deadline has passed, and the attempts were given up.
    over: bool,
}

impl<T> Dispatcher<T> {
    /// A dispatcher for `sinks`. `start_unix_ms` is the wall time at `start`; from then on it goes
    /// by the instants it is given, so a clock that is set does not disturb it. `seed` decides the
    /// pauses before retries and nothing else.
    ///
    /// # Errors
    ///
    /// An option that is out of range.
    pub fn new(
        options: DispatchOptions,
        sinks: Vec<SinkSpec>,
        start: Instant,
        start_unix_ms: i64,
        seed: u64,
    ) -> Result<Self, OptionError> {
        options.check()?;
        Ok(Self {
            rng: Rng::with_seed(seed),
            start: (start, start_unix_ms),
            now: start,
            intake: Intake::new(&options),
            lanes: Lanes::default(),
            sinks: Sinks::new(&options, sinks),
            hungry: Turns::default(),
            hungry_waits: false,
            claims: BTreeMap::new(),
            claim_backoff: Backoff::default(),
            attempts: Attempts::default(),
            check_ins: CheckIns::new(options.concurrency),
            records: Records::default(),
            replays: Replays::default(),
            window: Window::default(),
            last_call: 0,
            unknown_sinks: BTreeSet::new(),
            closing: None,
            outputs: VecDeque::new(),
            let_go: Vec::new(),
            options,
        })
    }

    /// Something happened.
    ///
    /// # Errors
    ///
    /// [`DispatchMisuse`] when the input does not fit the machine's state. It is ignored then.
    pub fn handle(&mut self, now: Instant, input: DispatchInput<T>) -> Result<(), DispatchMisuse> {
        self.advance(now);
        // Dropped once the input is dealt with: it may panic.
        let _let_go = self.take_let_go();
        match input {
            DispatchInput::Enqueue { tag, hook } => {
                let envelope = Arc::clone(&hook.envelope);
                if let Err((tag, error)) = self.try_enqueue(now, tag, hook) {
                    self.let_go.push(envelope);
                    let result = Err(error);
                    self.outputs
                        .push_back(DispatchOutput::Accepted { tag, result });
                }
                Ok(())
            }
            DispatchInput::Stored { call, result } => self.stored(call, result),
            DispatchInput::Due { lane, due } => {
                self.due(&lane, due);
                Ok(())
            }
            DispatchInput::Claimed { call, result } => self.claimed(call, result),
            DispatchInput::Attempted { attempt, outcome } => self.attempted(attempt, outcome),
            DispatchInput::CheckedIn { check_in, result } => {
                self.checked_in(check_in, result.as_ref().copied())
            }
            DispatchInput::Recorded { call, result } => self.recorded(call, result),
            DispatchInput::Replay(job) => {
                // Its letters would become rows that nobody delivers.
                let sink = job.filter.sink.as_deref().map(Text::new);
                match sink.filter(|sink| self.sinks.get(sink).is_none()) {
                    Some(unknown) => self.tell_unknown(&unknown),
                    None => self.replays.add(self.now, &job),
                }
                Ok(())
            }
            DispatchInput::Replayed { call, result } => self.replayed(call, result),
            DispatchInput::Close { deadline } => {
                // Closed twice, the sooner deadline counts.
                let before = self.closing.as_ref().and_then(|closing| closing.deadline);
                let deadline = before.into_iter().chain(deadline).min();
                let over = self.closing.as_ref().is_some_and(|closing| closing.over);
                self.closing = Some(Closing { deadline, over });
                self.park_all();
                Ok(())
            }
        }
    }

    /// Takes a hook, or gives its mark back at once.
    ///
    /// # Errors
    ///
    /// The mark and why: too many hooks wait for the journal, a sink that there is not, or the
    /// dispatcher is closed.
    pub fn try_enqueue(
        &mut self,
        now: Instant,
        tag: T,
        mut hook: Hook,
    ) -> Result<(), (T, EnqueueError)> {
        self.advance(now);
        if self.closing.is_some() {
            return Err((tag, EnqueueError::Closed));
        }
        if let Err(error) = self.check_destinations(&mut hook) {
            return Err((tag, error));
        }
        let check_in = self.wants_check_in(&hook);
        self.intake.push(tag, hook, check_in)
    }

    /// Takes the hooks that are held no more and were handed to nobody: a driver that holds a lock
    /// drops them after it, since a body can be foreign memory, whose `Drop` is foreign code. What
    /// nobody takes is dropped with the next input.
    pub fn take_let_go(&mut self) -> Vec<Arc<Envelope>> {
        let mut let_go = std::mem::take(&mut self.let_go);
        let_go.extend(self.check_ins.take_let_go());
        let_go
    }

    /// What to do now, or how long nothing is to be done.
    ///
    /// The wait changes with every input, and with every poll that gave something to do.
    pub fn poll(&mut self, now: Instant) -> Step<DispatchOutput<T>, DispatchWait> {
        self.advance(now);
        if self.outputs.is_empty() {
            self.work();
        }
        match self.outputs.pop_front() {
            Some(output) => Step::Do(output),
            None => self.wait(),
        }
    }

    /// Whether it is closed, and everything it had claimed is recorded or given back.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closing.is_some()
            && self.outputs.is_empty()
            && self.intake.len() == 0
            && self.attempts.len() == 0
            && self.records.len() == 0
            && self.claims.is_empty()
            && self.replays.is_idle()
    }

    /// What it holds.
    #[must_use]
    pub fn gauges(&self) -> DispatchGauges {
        let open = |state| state != BreakerState::Closed;
        DispatchGauges {
            intake: self.intake.len(),
            rows: self.window.rows,
            bytes: self.window.bytes,
            attempts: self.attempts.len(),
            check_ins: self.check_ins.len(),
            unrecorded: self.records.len(),
            lanes: self.lanes.len(),
            open_breakers: self
                .sinks
                .iter()
                .filter(|sink| open(sink.breaker.state()))
                .count(),
        }
    }

    /// Where the breaker of each sink stands, by its name.
    #[must_use]
    pub fn breakers(&self) -> Vec<(Text, BreakerState)> {
        let sinks = self.sinks.iter();
        sinks
            .map(|sink| (sink.spec.name.clone(), sink.breaker.state()))
            .collect()
    }

    /// How long the row has been due that waits longest to be claimed; nothing where none waits.
    ///
    /// A row of an ordering key is due once it is the next of its key. A sink that is left alone,
    /// a full window or a journal that fails makes rows wait; those that are claimed are not
    /// looked at.
    #[must_use]
    pub fn oldest_due_age(&self, now: Instant) -> Duration {
        let unix = self.unix_ms(now.max(self.now));
        let since = self.lanes.oldest(unix).unwrap_or(unix);
        Duration::from_millis(u64::try_from(unix.saturating_sub(since)).unwrap_or_default())
    }

    /// The wall time at `now`, unix milliseconds, as this machine counts it.
    #[must_use]
    pub fn unix_ms(&self, now: Instant) -> i64 {
        let (start, unix) = self.start;
        let passed = now.saturating_duration_since(start).as_millis();
        unix.saturating_add(i64::try_from(passed).unwrap_or(i64::MAX))
    }

    fn check_destinations(&self, hook: &mut Hook) -> Result<(), EnqueueError> {
        if hook.to.is_empty() {
            return Err(EnqueueError::NoSink);
        }
        for at in 0..hook.to.len() {
            let (before, rest) = hook.to.split_at_mut(at);
            let to = &mut rest[0];
            let Some(sink) = self.sinks.get(&to.sink) else {
                return Err(EnqueueError::UnknownSink(to.sink.clone()));
            };
            if before.iter().any(|before| before.sink == to.sink) {
                return Err(EnqueueError::SinkTwice(to.sink.clone()));
            }
            // Anything else would make a lane of every key for nothing.
            to.key = to
                .key
                .take()
                .filter(|key| sink.spec.ordered && !key.is_empty());
        }
        Ok(())
    }

    fn advance(&mut self, now: Instant) {
        self.now = self.now.max(now);
    }

    fn unix_now(&self) -> i64 {
        self.unix_ms(self.now)
    }

    /// When it is `unix`, if an instant can say so.
    fn instant(&self, unix: i64) -> Option<Instant> {
        let (start, start_unix) = self.start;
        let later = u64::try_from(unix.saturating_sub(start_unix)).unwrap_or_default();
        start.checked_add(Duration::from_millis(later))
    }

    fn call(last: &mut u64) -> CallId {
        *last += 1;
        CallId(*last)
    }

    fn event(&mut self, event: Event) {
        self.outputs.push_back(DispatchOutput::Event(event));
    }

    /// Everything that can be done now, as outputs.
    fn work(&mut self) {
        let now = self.now;
        self.expire();
        self.advance_breakers();
        let unix = self.unix_now();
        for lane in self.lanes.wake(unix) {
            self.list(&lane, true);
        }
        let last = &mut self.last_call;
        while let Some((call, hooks)) = self.intake.next(|| Self::call(last)) {
            self.outputs
                .push_back(DispatchOutput::Store { call, hooks });
        }
        if self.closing.is_none() {
            self.start_attempts();
            self.claim_rows();
            let last = &mut self.last_call;
            while let Some((call, job, max)) = self.replays.next(now, || Self::call(last)) {
                self.outputs
                    .push_back(DispatchOutput::Replay { call, job, max });
            }
        }
        self.begin_check_ins();
        let last = &mut self.last_call;
        while let Some((call, records)) = self.records.next(now, || Self::call(last)) {
            self.outputs
                .push_back(DispatchOutput::Record { call, records });
        }
    }

    fn wait(&self) -> Step<DispatchOutput<T>, DispatchWait> {
        if self.is_closed() {
            return Step::Wait(None, DispatchWait::Closed);
        }
        let open = self.closing.is_none();
        let row = self.lanes.next().and_then(|due| self.instant(due));
        let probe = self.sinks.iter().filter(|sink| sink.is_listed());
        let probe = probe.filter_map(|sink| sink.breaker.open_until()).min();
        let closing = self.closing.as_ref().and_then(|closing| {
            let deadline = closing.deadline?;
            if closing.over {
                deadline.checked_add(LAST_WORDS)
            } else {
                Some(deadline)
            }
        });
        [
            (row.filter(|_| open), DispatchWait::Row),
            (self.attempts.due(), DispatchWait::Attempt),
            (self.check_ins.due(), DispatchWait::CheckIn),
            (probe.filter(|_| open), DispatchWait::Probe),
            (self.replays.due().filter(|_| open), DispatchWait::Replay),
            (self.records.due(), DispatchWait::Journal),
            (
                self.claim_backoff.until().filter(|_| open),
                DispatchWait::Journal,
            ),
            (closing, DispatchWait::Closing),
        ]
        .into_iter()
        .filter_map(|(due, reason)| Some((due.filter(|due| *due > self.now)?, reason)))
        .min_by_key(|(due, _)| *due)
        .map_or(Step::Wait(None, DispatchWait::Input), |(due, reason)| {
            Step::Wait(Some(due), reason)
        })
    }
}
