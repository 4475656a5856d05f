//! What a hook's message costs at least: its body hashed, the message written as JSON with the body
//! in base64, and that in base64 again, for a request. Nothing is allocated, checked or measured.

use base64_simd::STANDARD;
use sha2::{Digest as _, Sha256};

/// The buffers that are used again.
#[derive(Debug, Default)]
pub struct Pipeline {
    message: Vec<u8>,
    request: Vec<u8>,
}

impl Pipeline {
    /// Writes the data of one hook's message; how many bytes it has.
    pub fn encode(&mut self, id: &str, body: &[u8]) -> usize {
        const HEADERS: &[u8] =
            br#"{"content-type":"application/json","x-bench-event":"message.sent"}"#;
        let out = &mut self.message;
        out.clear();
        out.extend_from_slice(br#"{"v":1,"id":""#);
        out.extend_from_slice(id.as_bytes());
        out.extend_from_slice(br#"","source_id":"bench","tenant_id":null,"received_at":1764500000000,"content_type":"application/json","size":1024,"dedupe_key":null,"replay_id":null,"idempotency_key":""#);
        out.extend_from_slice(id.as_bytes());
        out.extend_from_slice(br#"","headers":"#);
        out.extend_from_slice(HEADERS);
        out.extend_from_slice(br#","sha256":""#);
        for byte in Sha256::digest(body) {
            const DIGITS: &[u8; 16] = b"0123456789abcdef";
            out.push(DIGITS[usize::from(byte >> 4)]);
            out.push(DIGITS[usize::from(byte & 15)]);
        }
        out.extend_from_slice(br#"","body_base64":""#);
        STANDARD.encode_append(body, out);
        out.extend_from_slice(br#""}"#);
        self.request.clear();
        STANDARD.encode_append(&self.message, &mut self.request);
        self.request.len()
    }
}
