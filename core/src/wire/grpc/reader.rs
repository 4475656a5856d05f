//! Messages from the bytes of a stream, however they are cut.

use std::fmt;
use std::mem;

use bytes::{Bytes, BytesMut};

use super::frame::{FrameError, PREFIX_BYTES};

/// The longest message that is taken: 20 MiB. Pub/Sub's messages have at most 10 MB, and Google's
/// emulator puts up to 11 MB into one answer.
pub const MESSAGE_MAX_BYTES: usize = 20 * 1024 * 1024;

/// Reads frames from chunks as they come.
///
/// A message that lies within one chunk is a slice of it; only one that spans chunks is copied
/// together. Memory is taken as bytes arrive, never because a prefix promises them.
///
/// ```
/// use pubsink_core::bytes::Bytes;
/// use pubsink_core::wire::grpc::{FrameReader, MESSAGE_MAX_BYTES};
///
/// let mut reader = FrameReader::new(MESSAGE_MAX_BYTES);
/// let mut chunk = Bytes::from_static(b"\0\0\0\0\x02hi\0\0\0");
/// assert_eq!(reader.next_message(&mut chunk)?.as_deref(), Some(&b"hi"[..]));
/// assert_eq!(reader.next_message(&mut chunk)?, None);
/// let mut chunk = Bytes::from_static(b"\0\x01!");
/// assert_eq!(reader.next_message(&mut chunk)?.as_deref(), Some(&b"!"[..]));
/// reader.end()?;
/// # Ok::<(), pubsink_core::wire::grpc::FrameError>(())
/// ```
pub struct FrameReader {
    max: usize,
    prefix: [u8; PREFIX_BYTES],
    /// How much of the prefix is there.
    prefix_len: usize,
    /// What is there of a message that spans chunks.
    message: BytesMut,
    failed: Option<FrameError>,
}

impl FrameReader {
    /// A reader at the start of a stream, for messages of at most `max` bytes.
    #[must_use]
    pub fn new(max: usize) -> Self {
        Self {
            max,
            prefix: [0; PREFIX_BYTES],
            prefix_len: 0,
            message: BytesMut::new(),
            failed: None,
        }
    }

    /// Takes from `chunk` until a message is whole. `None`: the chunk is used up, and more is
    /// needed.
    ///
    /// # Errors
    ///
    /// [`FrameError`]; it is the same from then on.
    pub fn next_message(&mut self, chunk: &mut Bytes) -> Result<Option<Bytes>, FrameError> {
        if let Some(failed) = self.failed {
            return Err(failed);
        }
        self.read(chunk)
            .inspect_err(|error| self.failed = Some(*error))
    }

    /// The stream has ended.
    ///
    /// # Errors
    ///
    /// [`FrameError::Cut`] inside a frame, or the error from before.
    pub fn end(&self) -> Result<(), FrameError> {
        match self.failed {
            Some(failed) => Err(failed),
            None if self.prefix_len > 0 => Err(FrameError::Cut),
            None => Ok(()),
        }
    }

    fn read(&mut self, chunk: &mut Bytes) -> Result<Option<Bytes>, FrameError> {
        let taken = chunk.split_to((PREFIX_BYTES - self.prefix_len).min(chunk.len()));
        self.prefix[self.prefix_len..][..taken.len()].copy_from_slice(&taken);
        self.prefix_len += taken.len();
        if self.prefix_len < PREFIX_BYTES {
            return Ok(None);
        }
        let len = self.message_len()?;
        let missing = len - self.message.len();
        if chunk.len() < missing {
            // Doubled, but never beyond the message.
            let room = chunk.len().max(self.message.len()).min(missing);
            self.message.reserve(room);
            self.message.extend_from_slice(chunk);
            chunk.clear();
            return Ok(None);
        }
        let rest = chunk.split_to(missing);
        self.prefix_len = 0;
        if self.message.is_empty() {
            return Ok(Some(rest));
        }
        self.message.extend_from_slice(&rest);
        Ok(Some(mem::take(&mut self.message).freeze()))
    }

    /// The length that the prefix tells, where it is one this side takes.
    fn message_len(&self) -> Result<usize, FrameError> {
        let [flag, len @ ..] = self.prefix;
        match flag {
            0 => {}
            1 => return Err(FrameError::Compressed),
            other => return Err(FrameError::NoFrame(other)),
        }
        let size = usize::try_from(u32::from_be_bytes(len)).unwrap_or(usize::MAX);
        if size > self.max {
            let max = self.max;
            return Err(FrameError::TooLarge { size, max });
        }
        Ok(size)
    }
}

/// Without the bytes, which are the sender's.
impl fmt::Debug for FrameReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrameReader")
            .field("max", &self.max)
            .field("held", &(self.prefix_len + self.message.len()))
            .field("failed", &self.failed)
            .finish()
    }
}

#[cfg(test)]
mod tests;
