//! What a journal has to be delivered from an earlier time.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use pubsink_core::dispatch::{DispatchInput, Event};
use pubsink_core::failure::Failure;
use pubsink_core::journal::{JournalError, ReplayState};
use pubsink_core::retry::{NextStep, RetryPolicy, Rng};

use super::journal::{Answer, AnyJournal};
use super::tasks::Tasks;
use crate::seam::{Runtime, Timer as _};

/// A journal that cannot be read at the start is asked again until it can: half a second later,
/// then up to half a minute.
const POLICY: RetryPolicy = RetryPolicy {
    base: Duration::from_millis(500),
    max: Duration::from_secs(30),
    max_attempts: u32::MAX,
    max_retry_after: Duration::ZERO,
    max_elapsed: Duration::MAX,
};

/// Tells the machine of the rows and the replay jobs that are there. Hooks that come in meanwhile
/// are not held up.
pub(super) async fn load<R: Runtime>(tasks: Arc<Tasks>, runtime: R, seed: u64) {
    let mut asking = Asking {
        timer: Box::pin(runtime.timer()),
        runtime,
        rng: Rng::with_seed(seed),
        tasks,
    };
    for (lane, due) in asking.insist("lanes", |journal| journal.lanes()).await {
        asking.tell(DispatchInput::Due { lane, due });
    }
    let replays = asking.insist("replays", |journal| journal.replays()).await;
    for job in replays {
        if job.state == ReplayState::Running {
            asking.tell(DispatchInput::Replay(job));
        }
    }
}

struct Asking<R: Runtime> {
    tasks: Arc<Tasks>,
    runtime: R,
    timer: Pin<Box<R::Timer>>,
    rng: Rng,
}

impl<R: Runtime> Asking<R> {
    fn tell(&self, input: DispatchInput<crate::slots::SlotId>) {
        self.tasks.shared.input(self.runtime.now(), input);
    }

    async fn insist<T>(
        &mut self,
        what: &'static str,
        ask: impl Fn(&dyn AnyJournal) -> Answer<'_, T>,
    ) -> T {
        let mut attempt = 0;
        loop {
            let error = match safely(&*self.tasks.journal, &ask).await {
                Ok(answer) => return answer,
                Err(error) => error,
            };
            attempt += 1;
            let failure = Failure::transient(&error);
            self.tasks.shared.metrics.journal_failed(what);
            self.tasks.tell(&Event::Journal { what, error });
            let step = POLICY.next_step(&failure, attempt, Duration::ZERO, &mut self.rng);
            if let NextStep::RetryAfter(pause) = step {
                self.sleep(pause).await;
            }
        }
    }

    async fn sleep(&mut self, pause: Duration) {
        let until = self.runtime.now() + pause;
        while self.runtime.now() < until {
            self.timer.as_mut().reset(until);
            self.timer.as_mut().await;
        }
    }
}

/// The journal is the user's code, and asked in the driver's own task.
async fn safely<'a, T>(
    journal: &'a dyn AnyJournal,
    ask: impl Fn(&'a dyn AnyJournal) -> Answer<'a, T>,
) -> Result<T, JournalError> {
    let asked = pin!(async { ask(journal).await });
    let answer = AssertUnwindSafe(asked).catch_unwind().await;
    answer.unwrap_or_else(|_| Err(JournalError::Storage("it panicked".into())))
}

/// A load on its way, for the driver to poll.
pub(super) type Loading = Pin<Box<dyn Future<Output = ()> + Send>>;
