//! Request bodies made smaller: gzip, as REST's `content-encoding` and gRPC's `grpc-encoding` have
//! it.

use bytes::Bytes;
use http::header::CONTENT_ENCODING;
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::options::{PublisherOptions, Wire};

const GRPC_ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");

/// Compresses a body where the options ask for it, in a buffer that was used before; one is asked
/// for only then. What comes back is to be sent where it is smaller than the body, which is where it
/// is whole.
#[cfg(feature = "gzip")]
pub(crate) fn compress(
    options: &PublisherOptions,
    body: &[u8],
    buffer: impl FnOnce() -> Vec<u8>,
) -> Option<Bytes> {
    use super::grpc::frame::{PREFIX_BYTES, compressed_prefix};
    use crate::options::Compression;

    let (above, level) = match options.compression() {
        Compression::Off => return None,
        Compression::Gzip { above, level } => (above, level),
    };
    if body.len() <= above {
        return None;
    }
    let mut out = buffer();
    out.clear();
    match options.wire() {
        Wire::Rest => gzip::append(&mut out, body, level, body.len()),
        Wire::Grpc => {
            // A frame is compressed within: its message is, and its prefix says so.
            out.extend_from_slice(&[0; PREFIX_BYTES]);
            let message = body.get(PREFIX_BYTES..).unwrap_or_default();
            gzip::append(&mut out, message, level, body.len());
            let prefix = compressed_prefix(out.len() - PREFIX_BYTES);
            out[..PREFIX_BYTES].copy_from_slice(&prefix);
        }
    }
    Some(out.into())
}

#[cfg(not(feature = "gzip"))]
pub(crate) fn compress(
    _: &PublisherOptions,
    _: &[u8],
    _: impl FnOnce() -> Vec<u8>,
) -> Option<Bytes> {
    None
}

/// Says that a request's body is compressed.
pub(super) fn say(wire: Wire, headers: &mut HeaderMap) {
    let name = match wire {
        Wire::Rest => CONTENT_ENCODING,
        Wire::Grpc => GRPC_ENCODING,
    };
    headers.insert(name, HeaderValue::from_static("gzip"));
}

#[cfg(feature = "gzip")]
mod gzip {
    use flate2::{Compress, FlushCompress, Status};

    /// The most that gzip looks back, as a power of two: 32 KiB.
    const WINDOW_BITS: u8 = 15;
    /// Room for what gzip has around the data.
    const AROUND: usize = 64;

    /// Appends `plain` as gzip. Stops, somewhere, where `out` would come to `limit` bytes.
    pub(super) fn append(out: &mut Vec<u8>, plain: &[u8], level: u8, limit: usize) {
        let level = flate2::Compression::new(level.into());
        let mut state = Compress::new_gzip(level, WINDOW_BITS);
        let mut rest = plain;
        while out.len() < limit {
            if out.len() == out.capacity() {
                // In quarters, so that little is copied, and never beyond what may be sent.
                let more = limit / 4 + AROUND;
                out.reserve_exact(more.min(limit - out.len()));
            }
            let before = state.total_in();
            let status = state.compress_vec(rest, out, FlushCompress::Finish);
            let read = usize::try_from(state.total_in() - before).unwrap_or(usize::MAX);
            rest = rest.get(read..).unwrap_or_default();
            match status {
                Ok(Status::Ok | Status::BufError) => {}
                Ok(Status::StreamEnd) => return,
                // It cannot fail; if it did, what is there must not be sent.
                Err(_) => out.resize(limit, 0),
            }
        }
    }
}

#[cfg(test)]
#[cfg(feature = "gzip")]
mod tests;
