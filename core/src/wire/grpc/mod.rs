//! What every call over gRPC shares: its head, frames, and the status it ends with.

pub(super) mod call;
pub(super) mod fields;
pub(super) mod frame;
pub(crate) mod proto;
mod reader;
pub(crate) mod status;
pub(super) mod write;

pub use frame::{FrameError, write_frame};
pub use reader::{FrameReader, MESSAGE_MAX_BYTES};
