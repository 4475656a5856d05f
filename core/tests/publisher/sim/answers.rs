//! What a scripted server says.

use pubsink_core::testing::replies;
pub(crate) use pubsink_core::testing::{Answer, TokenAnswer};
use pubsink_core::wire::Reply;

/// A reply of `body` alone.
pub(crate) fn reply(status: u16, body: impl Into<bytes::Bytes>) -> Reply {
    Reply {
        status,
        body: body.into(),
        ..Reply::default()
    }
}

/// 200 with these ids.
pub(crate) fn ids<'a>(ids: impl Iterator<Item = &'a str>) -> Reply {
    replies::ids(ids)
}

/// A Google error document.
pub(crate) fn error(http: u16, status: &str) -> Reply {
    replies::error(http, status, "the server's text").build()
}
