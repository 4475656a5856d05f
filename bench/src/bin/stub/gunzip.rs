//! Undoing gzip piece by piece.

use flate2::{Decompress, FlushDecompress, Status};
use pubsink_bench::Error;

/// So much comes apart at a time.
const BUFFER: usize = 256 * 1024;
/// The most that gzip looks back, as a power of two.
const WINDOW_BITS: u8 = 15;

/// What is to be undone of one body.
pub(crate) struct Gunzip {
    state: Decompress,
    out: Vec<u8>,
    /// How many bytes of the last piece have to stand before the next one.
    overlap: usize,
}

impl Gunzip {
    pub(crate) fn new(overlap: usize) -> Self {
        Self {
            state: Decompress::new_gzip(WINDOW_BITS),
            out: Vec::with_capacity(BUFFER),
            overlap,
        }
    }

    /// Undoes a piece, and gives what it was in pieces to `take`.
    pub(crate) fn feed(
        &mut self,
        mut piece: &[u8],
        mut take: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        loop {
            let kept = self.out.len().saturating_sub(self.overlap);
            self.out.drain(..kept);
            let (read, written) = (self.state.total_in(), self.state.total_out());
            let flush = FlushDecompress::None;
            let status = self.state.decompress_vec(piece, &mut self.out, flush)?;
            let read = usize::try_from(self.state.total_in() - read)?;
            piece = &piece[read..];
            let nothing = self.state.total_out() == written;
            if !nothing {
                take(&self.out)?;
            }
            if status == Status::StreamEnd && !piece.is_empty() {
                return Err("something follows a compressed body".into());
            }
            if piece.is_empty() && (nothing || status == Status::StreamEnd) {
                return Ok(());
            }
        }
    }
}
