//! What every call over gRPC shares: frames, and the status a call ends with.

mod frame;
pub(super) mod proto;
mod reader;
pub(super) mod status;

pub use frame::{FrameError, write_frame};
pub use reader::{FrameReader, MESSAGE_MAX_BYTES};
