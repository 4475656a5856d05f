//! Delivering to a sink whatever it does.

use std::any::Any;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;
use pubsink_core::delivery::DeliveryContext;
use pubsink_core::envelope::Envelope;
use pubsink_core::failure::Failure;
use pubsink_core::sink::Receipt;

use super::{AnySink, Sink};

/// Delivers a hook to a sink, with an answer that makes sense whatever the sink does.
///
/// # Errors
///
/// What the sink answers, a pause of nothing read as no pause; and for one that panicked a
/// transient failure that says so: it may have stored the hook before.
pub async fn safe_deliver<S: Sink>(
    sink: &S,
    envelope: &Envelope,
    context: &DeliveryContext,
) -> Result<Receipt, Failure> {
    deliver_safely(sink, envelope, context).await
}

/// The same for a sink whose type is forgotten.
pub(crate) async fn deliver_safely(
    sink: &dyn AnySink,
    envelope: &Envelope,
    context: &DeliveryContext,
) -> Result<Receipt, Failure> {
    // The call may panic as well as its future.
    let attempt = async { sink.deliver(envelope, context).await };
    match AssertUnwindSafe(attempt).catch_unwind().await {
        Ok(answer) => answer.map(Receipt::sane).map_err(Failure::sane),
        Err(panic) => Err(broken(&panicked(&*panic))),
    }
}

/// The failure of a sink that gave no answer.
pub(crate) fn broken(detail: &str) -> Failure {
    Failure::transient(detail).maybe_stored(true)
}

fn panicked(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.map_or_else(
        || "the sink panicked".to_owned(),
        |text| format!("the sink panicked: {text}"),
    )
}
