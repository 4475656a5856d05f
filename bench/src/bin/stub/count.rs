//! Counting the messages of a request as its bytes come, without building anything of it.

use bytes::Buf as _;
use memchr::memmem::Finder;

use pubsink_bench::Error;

use super::gunzip::Gunzip;

/// Counts the messages of a JSON request by their `"data"`, which each has once: every body has
/// bytes, base64 has no quotes, and no attribute of a load is called that.
pub(crate) struct JsonCounter {
    finder: Finder<'static>,
}

/// How many bytes of the last piece have to stand before the next one.
pub(crate) const JSON_OVERLAP: usize = NAME.len() - 1;
const NAME: &[u8] = br#""data":"#;

impl JsonCounter {
    pub(crate) fn new() -> Self {
        Self {
            finder: Finder::new(NAME),
        }
    }

    /// How many messages begin in a piece.
    pub(crate) fn count(&self, piece: &[u8]) -> usize {
        self.finder.find_iter(piece).count()
    }
}

/// Counts the messages of a publish request in its gRPC frame, or the ids of an acknowledge request:
/// both have a name in field 1, and the entries of field 2.
#[derive(Default)]
pub(crate) struct FrameCounter {
    pub(crate) messages: usize,
    /// The bytes of the current entry that are still to come.
    skip: usize,
    /// The prefix, or an entry's tag and length, as far as it has come.
    head: Vec<u8>,
    /// Whether the prefix has come.
    begun: bool,
    /// What undoes the rest, where the prefix says that it is compressed.
    gunzip: Option<Gunzip>,
}

impl FrameCounter {
    /// Counts on, over the next piece.
    pub(crate) fn count(&mut self, piece: &[u8]) -> Result<(), Error> {
        match self.gunzip.take() {
            None => self.count_plain(piece),
            Some(mut gunzip) => {
                gunzip.feed(piece, |plain| self.count_plain(plain))?;
                self.gunzip = Some(gunzip);
                Ok(())
            }
        }
    }

    fn count_plain(&mut self, mut piece: &[u8]) -> Result<(), Error> {
        loop {
            let skipped = self.skip.min(piece.len());
            piece.advance(skipped);
            self.skip -= skipped;
            let Some((&byte, rest)) = piece.split_first() else {
                return Ok(());
            };
            piece = rest;
            self.head.push(byte);
            if self.begun {
                self.entry(byte)?;
            } else if self.head.len() == 5 {
                self.begun = true;
                let compressed = self.head[0] == 1;
                self.head.clear();
                if compressed {
                    self.gunzip = Some(Gunzip::new(0));
                    return self.count(piece);
                }
            }
        }
    }

    /// Takes an entry's tag and length, once `last` was its last byte.
    fn entry(&mut self, last: u8) -> Result<(), Error> {
        let [tag, length @ ..] = &*self.head else {
            return Ok(());
        };
        if length.is_empty() || last >= 0x80 {
            return Ok(());
        }
        match tag {
            0x0A => {}
            0x12 => self.messages += 1,
            tag => return Err(format!("a request with a field {tag:#x}").into()),
        }
        let bytes = length.iter().rev();
        self.skip = bytes.fold(0, |sum, byte| sum << 7 | usize::from(byte & 0x7F));
        self.head.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use bytes::BytesMut;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use pubsink_bench::floor;
    use pubsink_bench::load::Load;

    use super::*;

    #[test]
    fn a_request_in_pieces_of_any_size_has_its_messages() {
        for size in [1, 100, 1_024] {
            let load = Load::new(7, size);
            let mut frame = BytesMut::new();
            floor::grpc::write_frame(&mut frame, &load, 0..7);
            let mut json = Vec::new();
            floor::rest::write_body(&mut json, &load, 0..7);
            for piece in [1, 2, 3, 7, 8, 1_000, 100_000] {
                let mut counter = FrameCounter::default();
                for piece in frame.chunks(piece) {
                    counter.count(piece).unwrap();
                }
                assert_eq!(counter.messages, 7, "protobuf, {size} bytes by {piece}");
                assert_eq!(in_pieces(&json, piece), 7, "JSON, {size} bytes by {piece}");
            }
        }
    }

    fn gzip(plain: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(plain).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_compressed_request_in_pieces_of_any_size_has_its_messages() {
        let load = Load::new(700, 1_024);
        let mut frame = BytesMut::new();
        floor::grpc::write_frame(&mut frame, &load, 0..700);
        let message = gzip(&frame[5..]);
        let length = u32::try_from(message.len()).unwrap().to_be_bytes();
        let frame = [&[1][..], &length, &message].concat();
        let mut json = Vec::new();
        floor::rest::write_body(&mut json, &load, 0..700);
        let json = gzip(&json);
        for piece in [1, 3, 1_000, 10_000_000] {
            let mut counter = FrameCounter::default();
            for piece in frame.chunks(piece) {
                counter.count(piece).unwrap();
            }
            assert_eq!(counter.messages, 700, "protobuf by {piece}");
            let (counter, mut messages) = (JsonCounter::new(), 0);
            let mut gunzip = Gunzip::new(JSON_OVERLAP);
            for piece in json.chunks(piece) {
                let count = |plain: &[u8]| {
                    messages += counter.count(plain);
                    Ok(())
                };
                gunzip.feed(piece, count).unwrap();
            }
            assert_eq!(messages, 700, "JSON by {piece}");
        }
    }

    fn in_pieces(json: &[u8], piece: usize) -> usize {
        let counter = JsonCounter::new();
        let starts = (0..json.len()).step_by(piece);
        let pieces = starts.map(|start| {
            let end = json.len().min(start + piece);
            &json[start.saturating_sub(JSON_OVERLAP)..end]
        });
        pieces.map(|piece| counter.count(piece)).sum()
    }
}
