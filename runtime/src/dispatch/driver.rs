//! The driver: one loop between the machine and the runtime.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use futures_util::future::AbortHandle;
use pubsink_core::dispatch::DispatchOutput;

use super::loading::{Loading, load};
use super::shared::Shared;
use super::tasks::{TaskId, Tasks};
use crate::driver::Driver;
use crate::seam::{Runtime, Timer};
use crate::slots::SlotId;

pub(super) fn driver<R: Runtime>(tasks: Arc<Tasks>, runtime: R, seed: u64) -> Driver {
    let end = End(Arc::clone(&tasks));
    Driver::new(async move {
        // Inside the future, so that it ends with it, polled or not.
        let _end = end;
        let loading = load(Arc::clone(&tasks), runtime.clone(), seed);
        drive(&tasks, runtime.timer(), Box::pin(loading)).await;
    })
}

async fn drive<T: Timer>(tasks: &Tasks, timer: T, loading: Loading) {
    let mut timer = pin!(timer);
    let mut loading = Some(loading);
    let mut running = Running::default();
    loop {
        let turn = tasks.shared.turn(tasks.now());
        for task in turn.ended {
            running.0.remove(&task);
        }
        for output in turn.outputs {
            perform(tasks, &mut running, output, turn.unix_ms);
        }
        if turn.closed {
            return;
        }
        if let Some(at) = turn.until {
            timer.as_mut().reset(at);
        }
        wait(&tasks.shared, timer.as_mut(), turn.until, &mut loading).await;
    }
}

fn perform(tasks: &Tasks, running: &mut Running, output: DispatchOutput<SlotId>, now: i64) {
    match output {
        DispatchOutput::Store { call, hooks } => tasks.store(call, now, hooks),
        DispatchOutput::Claim { call, claim } => tasks.claim(call, claim),
        DispatchOutput::Record { call, records } => tasks.record(call, records),
        DispatchOutput::Replay { call, job, max } => tasks.replay(call, now, job, max),
        DispatchOutput::Attempt {
            attempt,
            row,
            context,
        } => {
            let task = tasks.attempt(attempt, row, context);
            running.0.insert(TaskId::Attempt(attempt), task);
        }
        DispatchOutput::Abort(attempt) => running.abort(TaskId::Attempt(attempt)),
        DispatchOutput::CheckIn {
            check_in,
            claim,
            row,
        } => {
            let task = tasks.check_in(check_in, claim, row);
            running.0.insert(TaskId::CheckIn(check_in), task);
        }
        DispatchOutput::AbortCheckIn(check_in) => running.abort(TaskId::CheckIn(check_in)),
        DispatchOutput::Event(event) => tasks.tell(&event),
        other => tracing::error!(?other, "an output the driver does not know"),
    }
}

/// Until something happened, or the timer fired where one is set.
async fn wait<T: Timer>(
    shared: &Shared,
    mut timer: Pin<&mut T>,
    until: Option<Instant>,
    loading: &mut Option<Loading>,
) {
    poll_fn(|cx| {
        // What it loads shows as something that happened.
        if let Some(load) = loading
            && load.as_mut().poll(cx).is_ready()
        {
            *loading = None;
        }
        if shared.poll_notified(cx).is_ready() {
            return Poll::Ready(());
        }
        match until {
            Some(_) => timer.as_mut().poll(cx),
            None => Poll::Pending,
        }
    })
    .await;
}

/// Attempts and check-ins under way. They end with the driver: nobody would record what becomes of
/// them.
#[derive(Default)]
struct Running(BTreeMap<TaskId, AbortHandle>);

impl Running {
    fn abort(&mut self, task: TaskId) {
        if let Some(task) = self.0.remove(&task) {
            abort(&task);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.values().for_each(abort);
    }
}

/// Aborting wakes a task, which is somebody else's code.
fn abort(task: &AbortHandle) {
    if catch_unwind(AssertUnwindSafe(|| task.abort())).is_err() {
        tracing::error!("a waker panicked");
    }
}

/// Tells whoever still waits when the driver ends, in whatever way.
struct End(Arc<Tasks>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.shared.end(self.0.now());
    }
}
