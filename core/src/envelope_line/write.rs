//! A line written.

use bytes::Bytes;

use crate::envelope::Envelope;
use crate::json::{write_base64, write_integer, write_string};

/// Writes an envelope as a line, without a newline at its end. What is absent is left out; the
/// body is `body` where it is UTF-8 and `body_base64` where not, headers are a list of pairs.
/// [`parse()`](super::parse()) reads back the same envelope, as long as its id is not empty.
#[must_use]
pub fn to_line(envelope: &Envelope) -> String {
    let mut out = Vec::with_capacity(256 + 2 * envelope.body.len());
    out.extend_from_slice(b"{\"id\":");
    write_string(&mut out, &envelope.id);
    text(&mut out, "source_id", Some(&envelope.source_id));
    text(&mut out, "tenant_id", envelope.tenant_id.as_deref());
    key(&mut out, "received_at");
    write_integer(&mut out, envelope.received_at);
    text(&mut out, "method", Some(&envelope.method));
    text(&mut out, "path", Some(&envelope.path));
    headers(&mut out, &envelope.headers);
    text(&mut out, "content_type", envelope.content_type.as_deref());
    text(&mut out, "dedupe_key", envelope.dedupe_key.as_deref());
    match std::str::from_utf8(&envelope.body) {
        Ok(body) => text(&mut out, "body", Some(body)),
        Err(_) => {
            key(&mut out, "body_base64");
            quoted_base64(&mut out, &envelope.body);
        }
    }
    out.push(b'}');
    // Only text was written.
    String::from_utf8(out).unwrap_or_default()
}

fn key(out: &mut Vec<u8>, key: &str) {
    out.push(b',');
    write_string(out, key);
    out.push(b':');
}

fn text(out: &mut Vec<u8>, name: &str, text: Option<&str>) {
    if let Some(text) = text {
        key(out, name);
        write_string(out, text);
    }
}

fn headers(out: &mut Vec<u8>, headers: &[(String, Bytes)]) {
    key(out, "headers");
    out.push(b'[');
    for (index, (name, value)) in headers.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.push(b'[');
        write_string(out, name);
        out.push(b',');
        match std::str::from_utf8(value) {
            Ok(text) => write_string(out, text),
            Err(_) => {
                out.extend_from_slice(b"{\"base64\":");
                quoted_base64(out, value);
                out.push(b'}');
            }
        }
        out.push(b']');
    }
    out.push(b']');
}

fn quoted_base64(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    write_base64(out, bytes);
    out.push(b'"');
}
