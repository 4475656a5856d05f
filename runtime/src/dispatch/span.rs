//! The span of an attempt.

use pubsink_core::delivery::DeliveryContext;
use pubsink_core::failure::Failure;
use pubsink_core::journal::Row;
use pubsink_core::sink::Receipt;
use tracing::Span;
use tracing::field::Empty;

/// The span that an attempt runs in. Whatever the sink logs is inside of it.
///
/// `traceparent` is the hook's own, where it came with one: a layer that exports spans makes the
/// attempt a child of it, so that every attempt of a hook, however late, is in its trace.
pub(super) fn attempt(row: &Row, context: &DeliveryContext) -> Span {
    let envelope = &row.envelope;
    let headers = envelope.headers.iter();
    let traceparent = headers
        .filter(|(name, _)| name.eq_ignore_ascii_case("traceparent"))
        .find_map(|(_, value)| traceparent(value));
    tracing::info_span!(
        "ankusa.dispatch.attempt",
        hook_id = envelope.id.as_str(),
        source_id = envelope.source_id.as_str(),
        tenant_id = envelope.tenant(),
        sink = row.lane.sink.as_str(),
        attempt = context.attempt,
        replay_id = context.replay_id.as_deref(),
        traceparent,
        error_class = Empty,
    )
}

/// Marks the span of a failed attempt: by its class, never by its reason, which others wrote.
pub(super) fn mark(span: &Span, outcome: &Result<Receipt, Failure>) {
    if let Err(failure) = outcome {
        span.record("error_class", failure.class.error_class().as_str());
    }
}

/// A W3C trace parent. Anything else that a header of that name may hold is nobody's business.
fn traceparent(value: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(value).ok()?;
    let mut parts = text.split('-');
    let well_formed = [2, 32, 16, 2].iter().all(|len| {
        let part = parts.next().unwrap_or_default();
        part.len() == *len && part.bytes().all(|byte| byte.is_ascii_hexdigit())
    });
    (well_formed && parts.next().is_none()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_trace_parent_is_one() {
        let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        assert_eq!(traceparent(good.as_bytes()), Some(good));
        for bad in [
            "",
            "00",
            "my password",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x",
            "00-0af7651916cd43dd8448eb211c80319g-b7ad6b7169203331-01",
        ] {
            assert_eq!(traceparent(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(traceparent(&[0xFF; 55]), None);
    }
}
