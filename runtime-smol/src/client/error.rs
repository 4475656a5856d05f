//! What curl's errors mean for a request.

use std::error::Error as _;
use std::io;

use isahc::Error;
use isahc::error::ErrorKind;
use pubsink_runtime::core::reason::TransportKind;
use pubsink_runtime::seam::TransportError;

/// An error instead of a reply. `begun`: whether something may have been sent.
pub(super) fn send_error(error: &Error, begun: bool) -> TransportError {
    let kind = match error.kind() {
        // Nothing was sent, whatever the reason.
        _ if !begun => TransportKind::Connect,
        ErrorKind::InvalidRequest => TransportKind::Other,
        ErrorKind::Timeout => TransportKind::Timeout,
        // Whatever else: the reply cannot be read, or a second connection failed that curl opened
        // to send the request again.
        _ => TransportKind::Connection,
    };
    TransportError::new(kind, describe(error))
}

/// An error within a reply.
pub(super) fn read_error(error: &io::Error) -> TransportError {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    match inner {
        Some(inner) => send_error(inner, true),
        None => TransportError::of(TransportKind::Connection, error),
    }
}

/// curl's own words, behind its number of the error: isahc's are about the kind only.
fn describe(error: &Error) -> String {
    match error.source().map(ToString::to_string) {
        Some(said) if said.starts_with(REWIND) => {
            "the pooled connection died before a reply, and the request is not sent twice".into()
        }
        Some(said) => format!("curl {said}"),
        None => error.to_string(),
    }
}

/// `CURLE_SEND_FAIL_REWIND`: curl wanted to send the request again.
const REWIND: &str = "[65]";
