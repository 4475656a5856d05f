//! A sink that only tells.

use pubsink_core::delivery::DeliveryContext;
use pubsink_core::envelope::Envelope;
use pubsink_core::failure::Failure;
use pubsink_core::sink::Receipt;

use super::Sink;

/// Writes one `tracing` event at level `INFO` for each hook: which one it is and how large, never
/// its body or headers. To see what comes in; nothing is kept, so it is not durable.
#[derive(Debug, Clone, Copy, Default)]
pub struct LogSink;

impl Sink for LogSink {
    async fn deliver(
        &self,
        envelope: &Envelope,
        context: &DeliveryContext,
    ) -> Result<Receipt, Failure> {
        tracing::info!(
            hook_id = envelope.id.as_str(),
            source_id = envelope.source_id.as_str(),
            tenant_id = envelope.tenant(),
            size = envelope.size(),
            attempt = context.attempt,
            "a hook"
        );
        Ok(Receipt::new())
    }

    fn durable(&self) -> bool {
        false
    }
}
