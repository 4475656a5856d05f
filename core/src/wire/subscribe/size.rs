//! How large a request about leases is, without encoding it.

use crate::json::escaped_len;
use crate::subscribe::{AckId, SubscriberOptions, Wire};
use crate::wire::size::field;

/// The most bytes that Pub/Sub takes of an acknowledge or a deadline change (its quotas page).
pub const ACK_REQUEST_MAX_BYTES: usize = 524_288;

/// What `id` adds to the body of an acknowledge or a deadline change.
#[must_use]
pub fn ack_id_bytes(wire: Wire, id: &AckId) -> usize {
    match wire {
        Wire::Grpc => field(id.as_bytes().len()),
        // With the comma that parts it from the next.
        Wire::Rest => escaped_len(id.as_str()) + 1,
    }
}

/// What the body of an acknowledge or a deadline change has beside its ids, at most.
#[must_use]
pub fn ack_overhead_bytes(wire: Wire, options: &SubscriberOptions) -> usize {
    match wire {
        // Its frame's prefix, and the field of its seconds.
        Wire::Grpc => 5 + field(options.subscription_name().len()) + 4,
        Wire::Rest => r#"{"ackIds":[],"ackDeadlineSeconds":65535}"#.len(),
    }
}
