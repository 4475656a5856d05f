//! The wires: requests out, answers in. Pure functions.
//!
//! Of `topics.publish` over REST what a publisher needs stands here; [`subscribe`] has both wires
//! of a subscription. [`grpc`] is what all calls over gRPC share.

mod base64_text;
mod error_document;
pub mod grpc;
mod publish_request;
mod reply;
mod retry_hint;
mod shown;
pub(crate) mod size;
pub mod subscribe;

pub use error_document::{ErrorDocument, ErrorInfo};
pub use publish_request::EncodedPublish;
pub(crate) use publish_request::{encode, http_request};
pub(crate) use reply::read_reply_hiding;
pub use reply::{Reply, Verdict, read_reply};
pub use retry_hint::RETRY_AFTER_MAX;
