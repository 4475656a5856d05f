//! By way of a journal: a hook is kept on disk before it is attempted, and until it is settled.

use std::future::poll_fn;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{Either, select};
use pubsink_core::dispatch::{Accepted, EnqueueError, Event, Settled};
use pubsink_core::envelope::Envelope;
use pubsink_core::journal::{ReplayJob, ReplayState, RowId};
use pubsink_journal::DiskJournal;
use pubsink_runtime::dispatch::{Dispatch, Shutdown};
use pubsink_runtime::journal::Journal as _;
use pubsink_tokio::Publisher;
use pubsink_tokio::seam::{Runtime, Timer as _};

use super::attempts::Finished;
use super::keeping::{Hook, Keeping, Kept, may_wait};
use super::left::Left;
use super::level::Level;
use super::lines::Line;
use super::names::{LineName, name};
use super::report::{Of, Report};
use super::told::Told;
use super::watch::Watch;
use super::way::Way;
use crate::interrupt::Interrupt;
use crate::say::say;

/// How often the end is looked for where no event says so, and batches are sent on that nothing
/// more comes to.
const LOOK: Duration = Duration::from_millis(50);
/// How many steps are settled before outcomes are written out.
const STEPS: usize = 1_000;
/// How long the dispatcher may take to let go of nothing.
const LAST_LIMIT: Duration = Duration::from_secs(5);

/// Hooks by way of a journal.
pub(super) struct Journaled<R: Runtime> {
    runtime: R,
    journal: Arc<DiskJournal>,
    dir: PathBuf,
    dispatch: Dispatch,
    publisher: Publisher,
    keeping: Keeping<R>,
    watch: Watch,
    /// What holds claims back while it is full.
    levels: Vec<Arc<Level>>,
    told: Told,
    /// The first row that this run enqueued. Later ones are its own.
    first_row: Option<RowId>,
    /// The replay job that the run is for, and how long it leaves hooks under way when that pauses.
    replay: Option<(ReplayJob, Duration)>,
    /// Whether it was said that hooks wait for room in the journal.
    crowded: bool,
    /// What the journal holds could not be told in the end.
    broken: bool,
    closing: Option<Shutdown>,
}

/// What happened.
pub(super) enum Step {
    Kept(Kept),
    Told(Event),
}

/// What a way by a journal is made of.
pub(super) struct Connected {
    pub(super) journal: Arc<DiskJournal>,
    pub(super) dir: PathBuf,
    pub(super) dispatch: Dispatch,
    pub(super) publisher: Publisher,
    pub(super) watch: Watch,
    pub(super) levels: Vec<Arc<Level>>,
    pub(super) replay: Option<(ReplayJob, Duration)>,
}

impl<R: Runtime> Journaled<R> {
    pub(super) fn new(runtime: R, connected: Connected) -> Self {
        let Connected {
            journal,
            dir,
            dispatch,
            publisher,
            watch,
            levels,
            replay,
        } = connected;
        Self {
            keeping: Keeping::new(runtime.clone(), dispatch.clone()),
            runtime,
            journal,
            dir,
            dispatch,
            publisher,
            watch,
            levels,
            told: Told::default(),
            first_row: None,
            replay,
            crowded: false,
            broken: false,
            closing: None,
        }
    }

    fn step(&mut self, step: Step, report: &mut Report) {
        match step {
            Step::Kept(Kept { hook, result }) => self.kept(hook, result, report),
            Step::Told(Event::Settled(settled)) => self.settled(&settled, report),
            Step::Told(Event::Replay(job)) => {
                if let Some((known, _)) = &mut self.replay
                    && known.id == job.id
                {
                    *known = job;
                }
            }
            Step::Told(event) => self.watch.say(event, report),
        }
    }

    fn kept(&mut self, hook: Hook, result: Result<Accepted, EnqueueError>, report: &mut Report) {
        match result {
            Ok(Accepted::Stored(rows)) => {
                self.crowded = false;
                let first = self.first_row.into_iter().chain(rows).min();
                self.first_row = first;
            }
            // It is told of when it is settled.
            Ok(Accepted::Known(state)) if state.pending > 0 => {}
            Ok(Accepted::Known(state)) => {
                let first = LineName::of(&hook.name).is_none_or(|name| self.told.is_first(name));
                if first {
                    report.earlier(hook.line, &state);
                }
            }
            Err(error) if may_wait(&error) && self.room_may_come(&error) => {
                if !self.crowded {
                    self.crowded = true;
                    report.say(&format!("pubsink: {error}; line {} waits", hook.line));
                }
                self.keeping.wait(hook);
            }
            Err(error) => not_kept(&hook, &error, report),
            Ok(_) => {}
        }
    }

    /// Whether anything under way will make room.
    fn room_may_come(&self, error: &EnqueueError) -> bool {
        let gauges = self.dispatch.gauges();
        let idle = gauges.rows == 0 && gauges.lanes == 0;
        self.closing.is_none() && !(idle && matches!(error, EnqueueError::Journal(_)))
    }

    fn settled(&mut self, settled: &Settled, report: &mut Report) {
        let row = &settled.row;
        if row.claim.is_some() && settled.outcome.is_ok() {
            self.watch.claimed();
        }
        let name = row.once.as_deref().and_then(LineName::of);
        let own = self.first_row.is_some_and(|first| row.id >= first) && row.replay_id.is_none();
        // A row of an earlier run may be settled before its line is read.
        if let Some(name) = name.filter(|_| !own)
            && !self.told.is_first(name)
        {
            return;
        }
        let of = Of {
            line: name.map(|name| name.line),
            envelope: &row.envelope,
            replay_id: row.replay_id.as_deref(),
        };
        let outcome = match &settled.outcome {
            Ok(receipt) => Ok(receipt.clone()),
            Err((failure, cause)) => Err(failure.clone().maybe_stored(cause.maybe_stored)),
        };
        let finished = Finished {
            may_be_twice: outcome.is_ok() && row.maybe_stored,
            outcome,
            attempts: settled.attempts,
        };
        report.finished(of, &finished);
    }

    /// Whether every hook is settled, as far as this run can.
    async fn is_idle(&mut self, report: &Report) -> bool {
        let gauges = self.dispatch.gauges();
        let held = gauges.intake + gauges.rows + gauges.unrecorded + gauges.lanes;
        if held > 0 || !self.keeping.is_empty() || !self.watch.is_empty() || self.is_replaying() {
            return false;
        }
        // The dispatcher may not know yet what there is from an earlier time.
        let sink = self.publisher.options().topic_name();
        match self.journal.lanes().await {
            Ok(lanes) => !lanes.iter().any(|(lane, _)| *lane.sink == *sink),
            Err(error) => {
                report.say(&format!("pubsink: cannot look into the journal: {error}"));
                self.broken = true;
                true
            }
        }
    }

    fn is_replaying(&self) -> bool {
        let job = self.replay.as_ref();
        job.is_some_and(|(job, _)| job.state == ReplayState::Running)
    }

    fn close(&mut self, limit: Duration) {
        // Claims that wait for room must not hold up the end.
        for level in &self.levels {
            level.set_free();
        }
        if self.closing.is_none() {
            self.closing = Some(self.dispatch.shutdown(limit));
        }
    }

    /// Tells of everything that happened by now.
    fn drain(&mut self, report: &mut Report) {
        loop {
            let step = self.keeping.next().map(Step::Kept);
            let Some(step) = step.or_else(|| self.watch.next().map(Step::Told)) else {
                return report.flush();
            };
            self.step(step, report);
        }
    }
}

impl<R: Runtime> Way for Journaled<R> {
    type Step = Step;

    async fn send(
        &mut self,
        line: Line,
        envelope: Envelope,
        report: &mut Report,
        interrupt: &Interrupt,
    ) -> bool {
        let mut asked = pin!(interrupt.asked());
        while !self.keeping.has_room(&envelope) {
            let step = poll_fn(|cx| self.poll(cx));
            match select(asked.as_mut(), step).await {
                Either::Right((step, _)) => self.settle(step, report),
                Either::Left(_) => break,
            }
        }
        if interrupt.is_asked() {
            return false;
        }
        let topic = self.publisher.options().topic_name();
        self.keeping.ask(Hook {
            line: line.number,
            name: name(topic, line.number, &line.text),
            envelope: envelope.into(),
        });
        true
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Step> {
        if let Poll::Ready(kept) = self.keeping.poll(cx) {
            return Poll::Ready(Step::Kept(kept));
        }
        self.watch.poll(cx).map(Step::Told)
    }

    fn settle(&mut self, step: Step, report: &mut Report) {
        self.step(step, report);
        for _ in 0..STEPS {
            let step = self.keeping.next().map(Step::Kept);
            let Some(step) = step.or_else(|| self.watch.next().map(Step::Told)) else {
                break;
            };
            self.step(step, report);
        }
        report.flush();
    }

    fn under_way(&self) -> usize {
        self.keeping.len() + self.dispatch.gauges().attempts
    }

    fn flush(&mut self) {
        drop(self.publisher.flush());
    }

    fn shut_down(&mut self, limit: Duration, report: &mut Report) {
        self.close(limit);
        for hook in self.keeping.give_up() {
            not_kept(&hook, &EnqueueError::Closed, report);
        }
        report.flush();
        self.flush();
    }

    async fn finish(&mut self, report: &mut Report) {
        let mut timer = pin!(self.runtime.timer());
        loop {
            if let Some((job, limit)) = &self.replay
                && job.state == ReplayState::Failing
                && self.closing.is_none()
            {
                report.say(&format!(
                    "pubsink: the replay {:?} paused itself: {} of its hooks in a row died again; \
                     after the repair --resume {} goes on; it leaves alone what died again, \
                     which needs a new replay",
                    &*job.id, job.progress.died_in_a_row, job.id
                ));
                let limit = *limit;
                self.close(limit);
            }
            // The driver may have something to tell yet: it has told everything when it is closed.
            let over = !self.dispatch.is_alive() || self.is_idle(report).await;
            if over && self.closing.is_none() {
                self.close(LAST_LIMIT);
            }
            timer.as_mut().reset(self.runtime.now() + LOOK);
            let next = poll_fn(|cx| {
                let closed = self.closing.as_mut();
                if closed.is_some_and(|closing| closing.poll_unpin(cx).is_ready()) {
                    return Poll::Ready(Next::Closed);
                }
                if let Poll::Ready(step) = self.poll(cx) {
                    return Poll::Ready(Next::Step(Box::new(step)));
                }
                timer.as_mut().poll(cx).map(|()| Next::Look)
            });
            match next.await {
                Next::Step(step) => self.settle(*step, report),
                Next::Look => self.flush(),
                Next::Closed => {
                    self.drain(report);
                    // It has ended: asked again it would never answer.
                    self.closing = Some(self.dispatch.shutdown(Duration::ZERO));
                    return;
                }
            }
        }
    }

    async fn end(&mut self) -> Left {
        if self.closing.is_none() {
            self.close(LAST_LIMIT);
        }
        if let Some(closing) = &mut self.closing {
            closing.await;
        }
        let replay = self.replay.as_ref().map(|(job, _)| &job.id);
        let left = Left::of(&self.journal, &self.dir, replay).await;
        self.journal.close();
        left.unwrap_or_else(|error| {
            say(format_args!(
                "pubsink: cannot look into the journal: {error}"
            ));
            self.broken = true;
            Left {
                dir: self.dir.display().to_string(),
                ..Left::default()
            }
        })
    }

    fn has_failed(&self) -> bool {
        let job = self.replay.as_ref();
        self.broken || job.is_some_and(|(job, _)| job.state == ReplayState::Failing)
    }
}

enum Next {
    Step(Box<Step>),
    Look,
    Closed,
}

fn not_kept(hook: &Hook, error: &EnqueueError, report: &mut Report) {
    let of = Of {
        line: Some(hook.line),
        envelope: &hook.envelope,
        replay_id: None,
    };
    report.not_kept(of, error);
}
