//! The frame of a message: one byte that says whether it is compressed, four of its length, then
//! the message.

use bytes::{BufMut as _, BytesMut};

/// What stands before a message.
pub(in crate::wire) const PREFIX_BYTES: usize = 5;

/// What stands before a message of `len` bytes. No request of a publisher has more than four bytes
/// can hold.
pub(in crate::wire) fn prefix(len: usize) -> [u8; PREFIX_BYTES] {
    let [a, b, c, d] = u32::try_from(len).unwrap_or(u32::MAX).to_be_bytes();
    [0, a, b, c, d]
}

/// What stands before a message that was compressed to `len` bytes.
#[cfg(feature = "gzip")]
pub(in crate::wire) fn compressed_prefix(len: usize) -> [u8; PREFIX_BYTES] {
    let [_, len @ ..] = prefix(len);
    let [a, b, c, d] = len;
    [1, a, b, c, d]
}

/// Appends a frame to `out`. Its message is what `message` appends: it is written in place, and
/// copied nowhere.
///
/// A buffer that has room is not allocated anew, so one can serve many frames.
///
/// # Errors
///
/// [`FrameError::TooLarge`] where four bytes cannot hold its length. Nothing is appended then.
///
/// ```
/// use pubsink_core::bytes::BytesMut;
/// use pubsink_core::wire::grpc::write_frame;
///
/// let mut out = BytesMut::new();
/// write_frame(&mut out, |out| out.extend_from_slice(b"hello"))?;
/// assert_eq!(&out[..], b"\0\0\0\0\x05hello");
/// # Ok::<(), pubsink_core::wire::grpc::FrameError>(())
/// ```
pub fn write_frame(
    out: &mut BytesMut,
    message: impl FnOnce(&mut BytesMut),
) -> Result<(), FrameError> {
    let start = out.len();
    out.put_bytes(0, PREFIX_BYTES);
    message(out);
    let size = out.len() - start - PREFIX_BYTES;
    let Ok(len) = u32::try_from(size) else {
        out.truncate(start);
        let max = u32::MAX as usize;
        return Err(FrameError::TooLarge { size, max });
    };
    out[start + 1..start + PREFIX_BYTES].copy_from_slice(&len.to_be_bytes());
    Ok(())
}

/// Bytes that are no frame this side takes. What follows them cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// The message is compressed, which was not asked for.
    #[error("a gRPC message is compressed, which was not asked for")]
    Compressed,
    /// A frame starts with 0 or 1: this is something else, perhaps a web page.
    #[error("no gRPC frame starts with byte {0:#04x}")]
    NoFrame(u8),
    /// The message is longer than this side takes.
    #[error("a gRPC message of {size} bytes is over the limit of {max}")]
    TooLarge {
        /// Its size.
        size: usize,
        /// The limit.
        max: usize,
    },
    /// The bytes ended inside a frame.
    #[error("the bytes ended inside a gRPC frame")]
    Cut,
}
