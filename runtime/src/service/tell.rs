//! Telling what happened.

use pubsink_core::subscribe::Settlement;

use super::contain::contained;
use super::event::ServiceEvent;
use crate::subscribe::SourceEnd;

/// The user's own function that hears of everything.
pub(super) type Observer = Box<dyn Fn(&ServiceEvent) + Send + Sync>;

/// Tells the log what an operator should see without asking, and the observer everything. Without
/// an observer the log is told of each failure, so that none is silent.
pub(super) struct Teller(pub(super) Option<Observer>);

impl Teller {
    pub(super) fn tell(&self, event: &ServiceEvent) {
        // A log subscriber is foreign code as well.
        let told = contained(|| {
            log(event, self.0.is_none());
            if let Some(observer) = &self.0 {
                observer(event);
            }
        });
        if told.is_err() {
            let _ = contained(|| tracing::error!("the observer of a service panicked"));
        }
    }
}

macro_rules! about {
    ($level:ident, $context:expr, $($what:tt)*) => {
        tracing::$level!(
            subscription = $context.subscription(),
            message_id = $context.message_id().as_str(),
            attempt = $context.attempt(),
            $($what)*
        )
    };
}

fn log(event: &ServiceEvent, all: bool) {
    match event {
        ServiceEvent::GaveUp {
            context,
            settlement: Settlement::Drop,
        } => about!(error, context, "a message was given up and is dropped"),
        ServiceEvent::SourceEnded { subscription, end } => match end {
            SourceEnd::Closed => tracing::info!(%subscription, "a subscription is closed"),
            SourceEnd::GaveUp(reason) => {
                tracing::error!(%subscription, %reason, "a subscription was given up");
            }
            SourceEnd::Lost(what) => {
                tracing::error!(%subscription, %what, "a subscription was lost");
            }
        },
        _ if all => log_failure(event),
        // Each message may have one or more of these: they are the observer's.
        _ => {}
    }
}

fn log_failure(event: &ServiceEvent) {
    match event {
        ServiceEvent::DecodeFailed { context, error } => {
            about!(warn, context, %error, "a message could not be read");
        }
        ServiceEvent::HandlerFailed { context, error } => {
            about!(warn, context, %error, "a handler failed");
        }
        ServiceEvent::Panicked { context, error } => {
            about!(error, context, %error, "a handler panicked");
        }
        ServiceEvent::ReplyFailed { context, error } => {
            about!(warn, context, %error, "a reply was not published");
        }
        ServiceEvent::GaveUp { context, .. } => {
            about!(warn, context, "a message was given up");
        }
        ServiceEvent::LeaseLost { context, cause } => {
            about!(
                warn,
                context,
                ?cause,
                "a lease was lost while a handler worked"
            );
        }
        ServiceEvent::SettleFailed { context, error, .. } => {
            about!(warn, context, %error, "a settlement does not count");
        }
        ServiceEvent::Abandoned { context } => {
            about!(warn, context, "a handling was stopped before its end");
        }
        ServiceEvent::Handled { .. } | ServiceEvent::SourceEnded { .. } => {}
    }
}
