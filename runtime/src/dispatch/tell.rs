//! Telling what happened.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pubsink_core::dispatch::{BreakerState, Event};

/// The user's own function that hears of everything.
pub(super) type Observer = Box<dyn Fn(&Event) + Send + Sync>;

/// Tells the log what an operator should see without asking, and the observer everything.
pub(super) fn tell(observer: Option<&Observer>, event: &Event) {
    log(event);
    let Some(observer) = observer else {
        return;
    };
    if catch_unwind(AssertUnwindSafe(|| observer(event))).is_err() {
        tracing::error!("the observer of a dispatcher panicked");
    }
}

fn log(event: &Event) {
    match event {
        Event::Journal { what, error } => {
            tracing::warn!(what, %error, "the journal failed; it is asked again");
        }
        Event::UnknownSink(sink) => {
            tracing::warn!(%sink, "there are rows for a sink that there is not; they are kept");
        }
        Event::Breaker { sink, state } => match state {
            BreakerState::Open => {
                tracing::warn!(%sink, "a sink keeps failing; it is left alone for a while");
            }
            BreakerState::Probing => tracing::info!(%sink, "a sink is probed"),
            BreakerState::Closed => tracing::info!(%sink, "a sink is back"),
        },
        // Each hook has one or more of these: they are the observer's.
        _ => {}
    }
}
