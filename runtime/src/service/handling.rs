//! One delivery, from its handler to its last word.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;

use pubsink_core::subscribe::{SettleError, Settlement};
use tower_service::Service as _;
use tracing::Span;

use super::contain::{contained, contained_future};
use super::context::Context;
use super::desk::{Answer, Desk, Verdict};
use super::event::ServiceEvent;
use super::route::Route;
use super::span::{HandlingClass, handling_span, mark_handling};
use crate::in_span::in_span;
use crate::subscribe::{Delivery, Lost};

/// Handles a delivery in a task of its own. Whatever happens to the task, the delivery is settled.
pub(super) fn start(desk: &Arc<Desk>, route: &Route, delivery: Delivery) {
    let context = Context::of(&delivery, desk.attempt(delivery.message()));
    // Layers are cloned with it, which is foreign code.
    let route = contained(|| route.clone());
    let unfinished = Unfinished {
        desk: Arc::clone(desk),
        context: Some(context.clone()),
    };
    let place = Arc::clone(&desk.place);
    desk.running.spawn(&*place, |number| async move {
        let mut unfinished = unfinished;
        let desk = Arc::clone(&unfinished.desk);
        let started = desk.place.now();
        let span = handling_span(&context);
        let verdict = async {
            let (answer, lost) = match route {
                Ok(route) => answer(&desk, route, &context, delivery.lease().lost()).await,
                Err(panicked) => (Err(panicked), false),
            };
            let mut verdict = desk.judge(&context, answer).await;
            if lost {
                verdict.failed.get_or_insert(HandlingClass::LeaseLost);
            }
            verdict
        };
        let verdict = in_span(&span, verdict).await;
        mark(span, verdict);
        desk.running.settling(number);
        unfinished.context = None;
        let took = desk.place.now().saturating_duration_since(started);
        settle(&desk, delivery, context, verdict, took).await;
    });
}

/// What the handler answers, and whether the lease was lost meanwhile.
async fn answer(desk: &Desk, route: Route, context: &Context, lost: Lost) -> (Answer, bool) {
    let given = context.clone();
    let call = async move {
        let mut route = route;
        poll_fn(|cx| route.poll_ready(cx)).await?;
        route.call(given).await
    };
    let mut call = pin!(contained_future(call));
    let mut watched = Some(lost);
    let answer = poll_fn(|cx| {
        let answer = call.as_mut().poll(cx);
        // Also where it has ended: it may have been the handler that saw it first.
        if let Some(lost) = &mut watched
            && let Poll::Ready(cause) = Pin::new(lost).poll(cx)
        {
            watched = None;
            let context = context.clone();
            desk.tell(&ServiceEvent::LeaseLost { context, cause });
        }
        answer
    })
    .await;
    (answer, watched.is_none())
}

fn mark(span: Span, verdict: Verdict) {
    if let Some(class) = verdict.failed {
        mark_handling(&span, class);
    }
    // It ends here, and not when the settlement is confirmed: that may be after a long pause.
    drop(span);
}

async fn settle(
    desk: &Desk,
    delivery: Delivery,
    context: Context,
    verdict: Verdict,
    took: std::time::Duration,
) {
    let settlement = verdict.settlement;
    let settling = delivery.settle(settlement);
    desk.metrics.handled(settlement, verdict.failed, took);
    let mut unconfirmed = Unconfirmed {
        desk,
        settling: Some((context.clone(), settlement)),
    };
    desk.tell(&ServiceEvent::Handled {
        context: context.clone(),
        settlement,
        took,
    });
    let result = settling.await;
    if matches!(result, Err(SettleError::Closed)) {
        return;
    }
    unconfirmed.settling = None;
    if let Err(error) = result {
        desk.tell(&ServiceEvent::SettleFailed {
            context,
            settlement,
            error,
        });
    }
}

/// Tells that a handling was stopped, unless it came to its end.
struct Unfinished {
    desk: Arc<Desk>,
    /// None: it came to its end.
    context: Option<Context>,
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(context) = self.context.take() {
            self.desk.abandon(context);
        }
    }
}

/// Tells and counts a settlement of which it is not known whether it counts: it was closed first,
/// or its wait for it was stopped.
struct Unconfirmed<'a> {
    desk: &'a Desk,
    /// None: it is known.
    settling: Option<(Context, Settlement)>,
}

impl Drop for Unconfirmed<'_> {
    fn drop(&mut self) {
        if let Some((context, settlement)) = self.settling.take() {
            self.desk.unconfirmed.fetch_add(1, Ordering::Relaxed);
            self.desk.tell(&ServiceEvent::SettleFailed {
                context,
                settlement,
                error: SettleError::Closed,
            });
        }
    }
}
