//! The seam on smol.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Instant;

use futures_util::FutureExt as _;
use pubsink_runtime::seam::{Runtime, Timer};
use smol::Executor;

/// One of smol's executors. Timers are async-io's, which run beside any of them.
///
/// Made [`global`](Self::global), or `from` a `&Arc<Executor<'static>>` or a
/// `&'static Executor<'static>`.
#[derive(Clone)]
pub struct Smol(Place);

#[derive(Clone)]
enum Place {
    Global,
    /// Weak, since tasks hold their runtime: a strong one would keep an executor from ever being
    /// dropped, and its tasks with it.
    Shared(Weak<Executor<'static>>),
    Static(&'static Executor<'static>),
}

impl Smol {
    /// smol's global executor, whose threads smol starts when they are first needed.
    #[must_use]
    pub fn global() -> Self {
        Self(Place::Global)
    }
}

/// Tasks run for as long as the executor is there and someone runs it. They are dropped with it.
impl From<&Arc<Executor<'static>>> for Smol {
    fn from(executor: &Arc<Executor<'static>>) -> Self {
        Self(Place::Shared(Arc::downgrade(executor)))
    }
}

/// Tasks run for as long as someone runs the executor.
impl From<&'static Executor<'static>> for Smol {
    fn from(executor: &'static Executor<'static>) -> Self {
        Self(Place::Static(executor))
    }
}

impl Runtime for Smol {
    type Timer = SmolTimer;

    fn now(&self) -> Instant {
        Instant::now()
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        match &self.0 {
            Place::Global => smol::spawn(task).detach(),
            Place::Static(executor) => executor.spawn(task).detach(),
            Place::Shared(executor) => match executor.upgrade() {
                Some(executor) => executor.spawn(task).detach(),
                // Dropped like the tasks the executor had.
                None => drop(task),
            },
        }
    }

    fn timer(&self) -> SmolTimer {
        SmolTimer(async_io::Timer::never())
    }
}

impl fmt::Debug for Smol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Place::Global => "Smol(global)",
            Place::Shared(_) => "Smol(shared)",
            Place::Static(_) => "Smol(static)",
        })
    }
}

/// An async-io timer.
#[derive(Debug)]
pub struct SmolTimer(async_io::Timer);

impl Timer for SmolTimer {
    fn reset(mut self: Pin<&mut Self>, at: Instant) {
        self.0.set_at(at);
    }
}

impl Future for SmolTimer {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.poll_unpin(cx).map(|_| ())
    }
}
