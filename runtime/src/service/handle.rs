//! The handle and the driver of a service.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::join_all;

use super::builder::Service;
use super::control::{Control, Stopped};
use super::desk::Desk;
use super::pump::{Pumping, ended};
use crate::place::Place;
use crate::seam::Runtime;
use crate::subscribe::SourceEnd;
use crate::waiter::Waiter;

/// Stops a service. Clones share everything; dropping the last one stops it in the background,
/// with its [grace](super::ServiceBuilder::shutdown_grace).
#[derive(Clone)]
pub struct ServiceHandle(Arc<Handle>);

struct Handle {
    control: Arc<Control>,
    place: Arc<dyn Place>,
    grace: Duration,
}

impl ServiceHandle {
    pub(super) fn new(control: Arc<Control>, place: Arc<dyn Place>, grace: Duration) -> Self {
        Self(Arc::new(Handle {
            control,
            place,
            grace,
        }))
    }

    /// Takes nothing more, and gives back at once what no handler has yet. Resolves once running
    /// handlers came to their end and Pub/Sub confirmed what they said. After `limit` the rest is
    /// stopped and given back; a second later at most it resolves all the same.
    ///
    /// It stops when this is called, whether the future is polled or not. Called again, the
    /// sooner limit counts.
    pub fn shutdown(&self, limit: Duration) -> Stopping {
        let Handle { control, place, .. } = &*self.0;
        let state = match control.wait() {
            Ok(slot) => State::Waiting(Waiter::new(control, slot)),
            Err(stopped) => State::Stopped(Some(stopped)),
        };
        control.ask(place.now().checked_add(limit));
        Stopping(state)
    }

    /// The same, with the service's own grace as the limit.
    pub fn stop(&self) -> Stopping {
        self.shutdown(self.0.grace)
    }

    /// Whether it runs.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.0.control.is_alive()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.control.ask(self.place.now().checked_add(self.grace));
    }
}

impl fmt::Debug for ServiceHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceHandle")
            .field("is_alive", &self.is_alive())
            .finish_non_exhaustive()
    }
}

impl Service {
    /// Runs it until every subscription has ended by itself.
    pub async fn run<R: Runtime>(self, runtime: R, seed: u64) -> Stopped {
        let (handle, driver) = self.connect(runtime, seed);
        let stopped = driver.await;
        drop(handle);
        stopped
    }

    /// Runs it until `stop` resolves, a signal for example, and then stops it with its
    /// [grace](super::ServiceBuilder::shutdown_grace).
    pub async fn run_until<R: Runtime>(
        self,
        runtime: R,
        seed: u64,
        stop: impl Future<Output = ()> + Send,
    ) -> Stopped {
        let (handle, mut driver) = self.connect(runtime, seed);
        let mut stop = pin!(stop);
        let mut asked = false;
        poll_fn(|cx| {
            if !asked && stop.as_mut().poll(cx).is_ready() {
                asked = true;
                // How it ends the driver tells as well.
                drop(handle.stop());
            }
            Pin::new(&mut driver).poll(cx)
        })
        .await
    }
}

/// A service that is stopping. Resolves once it has stopped, with what was left.
#[must_use = "a service has stopped once this was awaited"]
pub struct Stopping(State);

enum State {
    Stopped(Option<Stopped>),
    Waiting(Waiter<Control>),
}

impl Future for Stopping {
    type Output = Stopped;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Stopped> {
        match &mut self.0 {
            // None: polled after it was ready.
            State::Stopped(stopped) => stopped.take().map_or(Poll::Pending, Poll::Ready),
            State::Waiting(waiter) => waiter.poll(cx),
        }
    }
}

impl fmt::Debug for Stopping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stopping")
    }
}

/// Runs a service. Ends when every subscription has, or the service was stopped; dropped before
/// that, it stops the handlers that run, and gives their messages back.
#[must_use = "nothing is handled until the driver is spawned or awaited"]
pub struct ServiceDriver(Pin<Box<dyn Future<Output = Stopped> + Send>>);

impl ServiceDriver {
    pub(super) fn new(control: Arc<Control>, desks: Vec<Arc<Desk>>, pumps: Vec<Pumping>) -> Self {
        let end = End { control, desks };
        Self(Box::pin(async move {
            // Inside the future, so that it ends with it, polled or not.
            let end = end;
            let subscriptions = join_all(pumps).await;
            let stopped = Stopped { subscriptions };
            end.control.ended(&stopped);
            stopped
        }))
    }
}

impl Future for ServiceDriver {
    type Output = Stopped;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Stopped> {
        self.0.as_mut().poll(cx)
    }
}

impl fmt::Debug for ServiceDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServiceDriver")
    }
}

/// Tells whoever still waits when the driver ends, in whatever way.
struct End {
    control: Arc<Control>,
    desks: Vec<Arc<Desk>>,
}

impl Drop for End {
    fn drop(&mut self) {
        let lost = || SourceEnd::Lost("the service's driver was dropped".into());
        let ends = self.desks.iter().map(|desk| ended(desk, lost()));
        self.control.ended(&Stopped {
            subscriptions: ends.collect(),
        });
    }
}
