//! Replay jobs that run.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::io::CallId;
use super::records::Backoff;
use crate::journal::{ReplayJob, ReplayState};
use crate::text::Text;

/// How often a job takes a step, at most: ten times a second keeps a high rate even and a low one
/// cheap.
const STEPS_PER_SECOND: u32 = 10;

/// The replay jobs that run, each at its rate.
#[derive(Debug, Default)]
pub(super) struct Replays {
    jobs: BTreeMap<Text, Running>,
    calls: BTreeMap<CallId, Text>,
    backoff: Backoff,
}

#[derive(Debug)]
struct Running {
    per_second: u32,
    next: Instant,
    asked: bool,
}

impl Replays {
    /// A job is to run, if its state says so.
    pub(super) fn add(&mut self, now: Instant, job: &ReplayJob) {
        if job.state != ReplayState::Running {
            self.jobs.remove(&job.id);
            return;
        }
        let per_second = job.per_second.max(1);
        let running = self.jobs.entry(job.id.clone()).or_insert(Running {
            per_second,
            next: now,
            asked: false,
        });
        running.per_second = per_second;
    }

    /// When the next step is due.
    pub(super) fn due(&self) -> Option<Instant> {
        let jobs = self.jobs.values().filter(|job| !job.asked);
        let next = jobs.map(|job| job.next).min()?;
        Some(self.backoff.until().map_or(next, |until| until.max(next)))
    }

    /// The next step that is due: the job, and how many of its messages.
    pub(super) fn next(
        &mut self,
        now: Instant,
        call: impl FnOnce() -> CallId,
    ) -> Option<(CallId, Text, usize)> {
        if !self.backoff.is_over(now) {
            return None;
        }
        let due = self.jobs.iter_mut();
        let (id, job) = due
            .filter(|(_, job)| !job.asked && job.next <= now)
            .min_by_key(|(_, job)| job.next)?;
        let (count, pause) = step(job.per_second);
        job.asked = true;
        job.next = now.checked_add(pause).unwrap_or(now);
        let call = call();
        self.calls.insert(call, id.clone());
        Some((call, id.clone(), count))
    }

    /// A step was answered; tells whether there was one.
    pub(super) fn answered(&mut self, now: Instant, call: CallId, failed: bool) -> Option<Text> {
        let id = self.calls.remove(&call)?;
        if let Some(job) = self.jobs.get_mut(&id) {
            job.asked = false;
        }
        if failed {
            self.backoff.failed(now);
        } else {
            self.backoff.reset();
        }
        Some(id)
    }

    /// A job runs no more.
    pub(super) fn remove(&mut self, id: &Text) {
        self.jobs.remove(id);
    }

    pub(super) fn is_idle(&self) -> bool {
        self.calls.is_empty()
    }
}

/// How many messages a step sends, and how long it is until the next one.
fn step(per_second: u32) -> (usize, Duration) {
    let count = per_second.div_ceil(STEPS_PER_SECOND);
    let pause = Duration::from_secs(1).saturating_mul(count) / per_second;
    (count as usize, pause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_kept_whatever_it_is() {
        for rate in [1, 3, 9, 10, 11, 50, 999, 100_000] {
            let (count, pause) = step(rate);
            let per_second = count as f64 / pause.as_secs_f64();
            assert!(pause >= Duration::from_millis(90), "{rate}: {pause:?}");
            assert!(
                (per_second - f64::from(rate)).abs() < 0.01 * f64::from(rate),
                "{rate}"
            );
        }
    }
}
