//! The REST wire of `topics.publish`: requests out, replies in. Pure functions.

mod error_document;
mod publish_request;
mod reply;
mod retry_hint;
pub(crate) mod size;

pub use error_document::ErrorDocument;
pub use publish_request::EncodedPublish;
pub(crate) use publish_request::{encode, http_request};
pub(crate) use reply::read_reply_hiding;
pub use reply::{Reply, Verdict, read_reply};
pub use retry_hint::RETRY_AFTER_MAX;
