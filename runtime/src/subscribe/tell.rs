//! Telling the log what happened.

use std::time::Duration;

use pubsink_core::subscribe::{CallClass, SubscribeEvent};
use pubsink_core::wire::subscribe::Unreadable;

/// The most messages of one answer that the log names.
const NAMED_MAX: usize = 10;
/// A pause that no single end of a stream is followed by: several attempts brought nothing, or the
/// server asks for it.
const LONG_PAUSE: Duration = Duration::from_secs(1);

pub(super) fn tell(subscription: &str, event: &SubscribeEvent) {
    match event {
        SubscribeEvent::StreamOpened(stream) => {
            tracing::debug!(subscription, stream = stream.number(), "a stream is open");
        }
        // Servers end each stream now and then.
        SubscribeEvent::Interrupted { failure, again_in }
            if is_common(failure.class, *again_in) =>
        {
            let (reason, again_in) = (&failure.reason, again_in.as_secs_f64());
            tracing::debug!(subscription, %reason, again_in, "no messages come; asking again");
        }
        SubscribeEvent::Interrupted { failure, again_in } => {
            let (reason, again_in) = (&failure.reason, again_in.as_secs_f64());
            tracing::warn!(subscription, %reason, again_in, "no messages come; asking again");
        }
        SubscribeEvent::CallFailed { what, ids, failure } => {
            let reason = &failure.reason;
            tracing::warn!(subscription, what, ids, %reason, "a call about leases failed");
        }
        SubscribeEvent::Redelivered { message_id } => {
            tracing::debug!(subscription, %message_id, "a message in hand came again");
        }
        SubscribeEvent::Unreadable(messages) => unreadable(subscription, messages),
        SubscribeEvent::LostWaiting { message_id, cause } => {
            tracing::debug!(subscription, %message_id, ?cause, "a lease ended before a handler was free");
        }
        SubscribeEvent::GaveUp(reason) => {
            tracing::error!(subscription, %reason, "the subscription is given up");
        }
        other => tracing::debug!(subscription, event = ?other, "something happened"),
    }
}

/// Names messages that could not be read.
fn unreadable(subscription: &str, messages: &[Unreadable]) {
    for message in messages.iter().take(NAMED_MAX) {
        tracing::warn!(
            subscription,
            message_id = message.message_id.as_ref().map(|id| id.as_str()),
            ack_id = message.ack_id.as_ref().map(|id| id.as_str()),
            problem = %message.problem,
            "a message could not be read"
        );
    }
    if messages.len() > NAMED_MAX {
        let more = messages.len() - NAMED_MAX;
        tracing::warn!(subscription, more, "more messages could not be read");
    }
}

/// Whether it is what happens to every stream, and not what an operator has to see.
fn is_common(class: CallClass, again_in: Duration) -> bool {
    let passing = matches!(class, CallClass::Transient | CallClass::Throttled(_));
    passing && again_in < LONG_PAUSE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_never_reached_is_no_common_end_of_a_stream() {
        let (short, long) = (Duration::from_millis(800), Duration::from_secs(30));
        for class in [CallClass::Transient, CallClass::Throttled(None)] {
            assert!(is_common(class, short), "{class:?}");
            assert!(!is_common(class, long), "{class:?}");
        }
        assert!(!is_common(CallClass::Config, short));
    }
}
