//! Bodies are checked in at the claim store, which is the user's code.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;
use pubsink_core::claim::{ClaimError, ClaimRef};
use pubsink_core::envelope::Envelope;
use tracing::Span;
use tracing::field::Empty;

use crate::claims::AnyClaimStore;
use crate::in_span::in_span;
use crate::metrics::DispatchMetrics;

/// Checks the body of a hook in, with an answer whatever the store does.
pub(super) async fn check_in(
    store: &dyn AnyClaimStore,
    claim: &ClaimRef,
    envelope: &Envelope,
    metrics: &DispatchMetrics,
) -> Result<(), ClaimError> {
    let checking_in = metrics.checking_in();
    let span = span(envelope);
    // The call may panic as well as its future.
    let work = async { store.check_in(claim, envelope.body.clone()).await };
    let work = AssertUnwindSafe(work).catch_unwind();
    let result = in_span(&span, work).await;
    let result = result.unwrap_or_else(|_| Err(ClaimError::unavailable("it panicked")));
    if let Err(error) = &result {
        // By its kind, never by its detail, which others wrote.
        span.record("error_kind", error.kind());
        span.record("otel.status_code", "ERROR");
    }
    checking_in.ended(&result);
    result
}

/// The span that a check-in runs in. Whatever the store logs is inside of it.
fn span(envelope: &Envelope) -> Span {
    tracing::info_span!(
        "ankusa.claim.check_in",
        hook_id = envelope.id.as_str(),
        source_id = envelope.source_id.as_str(),
        tenant_id = envelope.tenant(),
        bytes = envelope.size(),
        error_kind = Empty,
        otel.status_code = Empty,
    )
}
