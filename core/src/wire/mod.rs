//! The wires: requests out, answers in. Pure functions.
//!
//! Both wires of a publisher stand here; [`subscribe`] has those of a subscription. [`grpc`] is what
//! all calls over gRPC share.

mod base64_text;
mod compress;
mod error_document;
pub mod grpc;
mod message_ids;
mod publish_grpc;
mod publish_request;
mod reply;
mod retry_hint;
mod shown;
pub(crate) mod size;
pub mod subscribe;

pub(crate) use compress::compress;
pub use error_document::{ErrorDocument, ErrorInfo};
pub use publish_grpc::read_grpc_reply;
pub(crate) use publish_grpc::read_grpc_reply_hiding;
pub use publish_request::EncodedPublish;
pub(crate) use reply::read_reply_hiding;
pub use reply::{Reply, Verdict, read_reply};
pub use retry_hint::RETRY_AFTER_MAX;

use bytes::Bytes;
use http::Request;

use crate::options::{PublisherOptions, Wire};
use crate::publish::Body;
use crate::token::Token;

/// Encodes the messages of a batch, in a buffer that was used before where it is large enough.
pub(crate) fn encode<'a>(
    options: &PublisherOptions,
    messages: impl ExactSizeIterator<Item = &'a Body> + Clone,
    buffer: Vec<u8>,
) -> EncodedPublish {
    match options.wire() {
        Wire::Rest => publish_request::encode(messages, buffer),
        Wire::Grpc => publish_grpc::encode(options.topic_name(), messages, buffer),
    }
}

/// An empty buffer with room for `len` bytes: `used`, where that has the room. One that has not is
/// let go first, so that nothing is copied and its memory is not held beside the new one's.
fn with_room(mut used: Vec<u8>, len: usize) -> Vec<u8> {
    if used.capacity() < len {
        drop(used);
        return Vec::with_capacity(len);
    }
    used.clear();
    used
}

/// The request that carries `body`, or what it was compressed to, where that is smaller.
pub(crate) fn http_request(
    options: &PublisherOptions,
    body: Bytes,
    compressed: Option<&Bytes>,
    token: Option<&Token>,
) -> Request<Bytes> {
    let smaller = compressed.filter(|compressed| compressed.len() < body.len());
    let sent = smaller.cloned().unwrap_or(body);
    let mut request = match options.wire() {
        Wire::Rest => publish_request::http_request(options.publish_url(), sent, token),
        Wire::Grpc => publish_grpc::http_request(options, sent, token),
    };
    if smaller.is_some() {
        compress::say(options.wire(), request.headers_mut());
    }
    request
}

/// The buffer of a body, emptied, where nobody else has it any more.
pub(crate) fn take_buffer(body: Bytes) -> Option<Vec<u8>> {
    let mut buffer = body.try_into_mut().ok()?;
    buffer.clear();
    Some(buffer.into())
}
