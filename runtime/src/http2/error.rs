//! What HTTP/2's errors mean for a request.

use std::fmt;

use pubsink_core::reason::TransportKind;

use crate::seam::TransportError;

/// Nothing was sent.
pub(super) fn no_connection(detail: impl fmt::Display) -> TransportError {
    TransportError::new(TransportKind::Connect, detail.to_string())
}

/// An error before a request was handed over.
pub(super) fn not_sent(error: &h2::Error) -> TransportError {
    let kind = match kind(error) {
        TransportKind::Connection => TransportKind::Connect,
        other => other,
    };
    TransportError::of(kind, error)
}

/// An error after that.
pub(super) fn broken(error: &h2::Error) -> TransportError {
    TransportError::of(kind(error), error)
}

/// The stream is over, whatever the reason; its receiving side knows.
pub(super) fn ended() -> TransportError {
    TransportError::new(TransportKind::Connection, "the stream has ended")
}

/// Whether the server wants no more of a request that it has answered: not a fault.
pub(super) fn is_enough(error: &h2::Error) -> bool {
    error.reason() == Some(h2::Reason::NO_ERROR)
}

fn kind(error: &h2::Error) -> TransportKind {
    if is_untouched(error) {
        TransportKind::Connect
    } else if error.is_io() || error.reason().is_some() {
        TransportKind::Connection
    } else {
        // The request itself cannot be sent.
        TransportKind::Other
    }
}

/// Whether the server says that it has done nothing with a request (RFC 9113, 8.7): it was
/// refused, or came after the last one that a server who goes away still took.
fn is_untouched(error: &h2::Error) -> bool {
    let is_refused = error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM);
    error.is_remote() && (is_refused || error.is_go_away())
}
