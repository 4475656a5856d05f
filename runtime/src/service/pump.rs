//! The loop of one subscription: from its source to its handlers, and its end.

use std::future::{Future, poll_fn};
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;

use super::contain::contained;
use super::control::{Control, Stop, SubscriptionEnd};
use super::desk::Desk;
use super::event::ServiceEvent;
use super::handling::start;
use super::route::Route;
use super::running::{Running, Signal};
use crate::place::Place;
use crate::seam::Timer;
use crate::subscribe::{Delivery, Source, SourceEnd};

/// How long after its deadline a source has to give back what is left, before it is left alone.
const MARGIN: Duration = Duration::from_secs(1);
/// How long handlings have to notice that they were stopped. Only one that blocks its thread takes
/// longer than a turn of its executor.
const NOTICE: Duration = Duration::from_millis(100);

/// What a loop works with.
pub(super) struct Pump {
    pub(super) desk: Arc<Desk>,
    pub(super) control: Arc<Control>,
    pub(super) signal: Arc<Signal>,
    pub(super) route: Route,
    /// Tells what gathers messages that no more will come.
    pub(super) hurry: Option<Box<dyn Fn() + Send>>,
}

/// A loop on its way.
pub(super) type Pumping = Pin<Box<dyn Future<Output = SubscriptionEnd> + Send>>;

/// Hands every delivery of the source to the handler until there are no more, or the service is
/// stopped; then waits for handlers and source.
pub(super) async fn pump<S: Source>(mut source: S, pump: Pump) -> SubscriptionEnd {
    let Pump {
        desk,
        control,
        signal,
        route,
        hurry,
    } = pump;
    let _handlings = AbortOnDrop(Arc::clone(&desk.running));
    let broke = hand_out(&mut source, &desk, &control, &signal, route).await;
    let mut closing = Closing {
        desk: &desk,
        control: &control,
        signal: &signal,
        hurry,
        timer: desk.place.timer(),
        asked: None,
    };
    poll_fn(|cx| closing.poll_handlings(cx, &mut source)).await;
    desk.running.abort_handlers();
    let end = match broke {
        Some(what) => SourceEnd::Lost(what.into()),
        None => closing.closed(&mut source).await,
    };
    desk.running.abort_all();
    let limit = desk.place.now() + NOTICE;
    poll_fn(|cx| closing.poll_noticed(cx, limit)).await;
    desk.tell(&ServiceEvent::SourceEnded {
        subscription: desk.subscription.clone(),
        end: end.clone(),
    });
    ended(&desk, end)
}

/// Where a subscription stands that ends so.
pub(super) fn ended(desk: &Desk, end: SourceEnd) -> SubscriptionEnd {
    // Some may not have noticed yet that they were stopped.
    let left = desk.running.count();
    SubscriptionEnd {
        subscription: desk.subscription.clone(),
        end,
        abandoned: desk.abandoned.load(Ordering::Relaxed) + left.handling,
        unconfirmed: desk.unconfirmed.load(Ordering::Relaxed) + left.settling,
    }
}

const BROKE: &str = "the source panicked";

/// Until there are no more. What broke, where something did.
async fn hand_out<S: Source>(
    source: &mut S,
    desk: &Arc<Desk>,
    control: &Control,
    signal: &Signal,
    route: Route,
) -> Option<&'static str> {
    loop {
        match turn(source, control, signal).await {
            Turn::Next(Some(delivery)) => start(desk, &route, delivery),
            Turn::Next(None) | Turn::Stop => return None,
            Turn::Broke => return Some(BROKE),
        }
    }
}

enum Turn {
    Next(Option<Delivery>),
    Broke,
    Stop,
}

async fn turn<S: Source>(source: &mut S, control: &Control, signal: &Signal) -> Turn {
    let mut next = pin!(AssertUnwindSafe(async { source.next().await }).catch_unwind());
    poll_fn(|cx| {
        signal.register(cx.waker());
        if control.stop().is_some() {
            return Poll::Ready(Turn::Stop);
        }
        next.as_mut().poll(cx).map(|next| match next {
            Ok(next) => Turn::Next(next),
            Err(_) => Turn::Broke,
        })
    })
    .await
}

/// A loop that hands out no more.
struct Closing<'a> {
    desk: &'a Desk,
    control: &'a Control,
    signal: &'a Signal,
    hurry: Option<Box<dyn Fn() + Send>>,
    timer: Pin<Box<dyn Timer>>,
    /// What the source was told.
    asked: Option<Stop>,
}

impl Closing<'_> {
    /// Until every handling is done, its settlement confirmed, or the grace is over.
    fn poll_handlings<S: Source>(&mut self, cx: &mut Context<'_>, source: &mut S) -> Poll<()> {
        self.signal.register(cx.waker());
        let stop = self.control.stop();
        if let Some(stop) = stop
            && self.asked != Some(stop)
        {
            self.asked = Some(stop);
            if contained(|| source.close(stop.deadline)).is_err() {
                tracing::error!(subscription = %self.desk.subscription, "a source panicked");
            }
        }
        // Also where the source ended by itself.
        if let Some(hurry) = self.hurry.take() {
            hurry();
        }
        if self.desk.running.is_idle() {
            return Poll::Ready(());
        }
        match stop.and_then(|stop| stop.deadline) {
            Some(deadline) => self.poll_until(cx, deadline),
            None => Poll::Pending,
        }
    }

    /// Until the source is closed, or past its time.
    async fn closed<S: Source>(&mut self, source: &mut S) -> SourceEnd {
        let mut closed = pin!(AssertUnwindSafe(async { source.closed().await }).catch_unwind());
        poll_fn(|cx| {
            self.signal.register(cx.waker());
            if let Poll::Ready(end) = closed.as_mut().poll(cx) {
                return Poll::Ready(end.unwrap_or_else(|_| SourceEnd::Lost(BROKE.into())));
            }
            let deadline = self.control.stop().and_then(|stop| stop.deadline);
            match deadline.and_then(|deadline| deadline.checked_add(MARGIN)) {
                Some(limit) => self
                    .poll_until(cx, limit)
                    .map(|()| SourceEnd::Lost("the source did not close in time".into())),
                None => Poll::Pending,
            }
        })
        .await
    }

    /// Until every handling that was stopped has told so, or there was time enough for it.
    fn poll_noticed(&mut self, cx: &mut Context<'_>, limit: Instant) -> Poll<()> {
        self.signal.register(cx.waker());
        match self.desk.running.is_idle() {
            true => Poll::Ready(()),
            false => self.poll_until(cx, limit),
        }
    }

    fn poll_until(&mut self, cx: &mut Context<'_>, at: Instant) -> Poll<()> {
        poll_until(&*self.desk.place, &mut self.timer, cx, at)
    }
}

/// By the clock: a timer may fire early.
pub(super) fn poll_until(
    place: &dyn Place,
    timer: &mut Pin<Box<dyn Timer>>,
    cx: &mut Context<'_>,
    at: Instant,
) -> Poll<()> {
    if place.now() >= at {
        return Poll::Ready(());
    }
    timer.as_mut().reset(at);
    if timer.as_mut().poll(cx).is_ready() {
        if place.now() >= at {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
    }
    Poll::Pending
}

/// The handlings end with their loop: nobody would know of them.
struct AbortOnDrop(Arc<Running>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort_all();
    }
}
