//! Replies to publishes, made beforehand: only their heads differ from one another.

use bytes::{Bytes, BytesMut};

/// The most messages of a request.
const IDS: usize = 1_000;

/// The ids of replies. They are the same in all replies, of 16 digits as Pub/Sub's are.
pub(crate) struct Replies {
    /// `"id","id",…`
    json: Vec<u8>,
    /// gRPC frames, by how many ids they have.
    frames: Vec<Bytes>,
}

impl Replies {
    pub(crate) fn new() -> Self {
        let ids = (0..IDS).map(|index| format!("{}", 8_140_743_286_000_000 + index));
        let ids: Vec<String> = ids.collect();
        let quoted: Vec<String> = ids.iter().map(|id| format!("\"{id}\"")).collect();
        Self {
            json: quoted.join(",").into_bytes(),
            frames: (0..=IDS).map(|count| frame(&ids[..count])).collect(),
        }
    }

    /// Writes an HTTP/1.1 reply with so many ids, at most 1,000.
    pub(crate) fn write_json(&self, out: &mut Vec<u8>, count: usize) {
        const OPEN: &[u8] = br#"{"messageIds":["#;
        const CLOSE: &[u8] = b"]}";
        // An id, its quotes and the comma.
        let ids = &self.json[..(count.min(IDS) * 19).saturating_sub(1)];
        let length = OPEN.len() + ids.len() + CLOSE.len();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
        );
        out.extend_from_slice(head.as_bytes());
        out.extend_from_slice(OPEN);
        out.extend_from_slice(ids);
        out.extend_from_slice(CLOSE);
    }

    /// A gRPC frame with so many ids, at most 1,000.
    pub(crate) fn frame(&self, count: usize) -> Bytes {
        self.frames[count.min(IDS)].clone()
    }
}

fn frame(ids: &[String]) -> Bytes {
    let mut out = BytesMut::new();
    let length = u32::try_from(ids.len() * 18).unwrap_or_default();
    out.extend_from_slice(&[0]);
    out.extend_from_slice(&length.to_be_bytes());
    for id in ids {
        out.extend_from_slice(&[0x0A, 16]);
        out.extend_from_slice(id.as_bytes());
    }
    out.freeze()
}
