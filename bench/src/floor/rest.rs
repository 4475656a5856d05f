//! REST: JSON with SIMD base64, a POST over a kept HTTP/1.1 connection, ids sliced out of the reply.

use std::cell::Cell;
use std::ops::Range;

use base64_simd::STANDARD;
use memchr::{memchr_iter, memmem};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{IN_FLIGHT, all_stored, next_batch};
use crate::Error;
use crate::load::Load;

/// Publishes the load to the server at `address`.
///
/// # Errors
///
/// Whatever was not expected.
pub async fn publish(address: &str, load: &Load) -> Result<(), Error> {
    let next = Cell::new(0);
    let connections = (0..IN_FLIGHT).map(|_| connection(address, load, &next));
    futures_util::future::try_join_all(connections).await?;
    Ok(())
}

/// Takes batches until there are none.
async fn connection(address: &str, load: &Load, next: &Cell<usize>) -> Result<(), Error> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (mut request, mut reply, mut ids) = (Vec::new(), Vec::new(), Vec::new());
    while let Some(messages) = next_batch(load, next) {
        write_request(&mut request, address, load, messages.clone());
        stream.write_all(&request).await?;
        let body = read_reply(&mut stream, &mut reply).await?;
        find_ids(&reply[body], &mut ids)?;
        all_stored(&messages, ids.len())?;
    }
    Ok(())
}

fn write_request(out: &mut Vec<u8>, address: &str, load: &Load, numbers: Range<usize>) {
    out.clear();
    out.extend_from_slice(b"POST /v1/projects/p/topics/hooks:publish HTTP/1.1\r\nhost: ");
    out.extend_from_slice(address.as_bytes());
    out.extend_from_slice(b"\r\ncontent-type: application/json\r\ncontent-length: ");
    let length_at = out.len();
    out.extend_from_slice(b"          \r\n\r\n");
    let body_at = out.len();
    write_body(out, load, numbers);
    // Spaces before it are as good as none.
    let length = format!("{:10}", out.len() - body_at);
    out[length_at..length_at + 10].copy_from_slice(length.as_bytes());
}

/// Writes the JSON of a publish request.
pub fn write_body(out: &mut Vec<u8>, load: &Load, numbers: Range<usize>) {
    out.extend_from_slice(br#"{"messages":["#);
    for number in numbers.clone() {
        if number != numbers.start {
            out.push(b',');
        }
        out.extend_from_slice(br#"{"data":""#);
        STANDARD.encode_append(load.body(number), out);
        out.extend_from_slice(br#"","attributes":{"#);
        for (index, (name, value)) in load.attributes.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            write_string(out, name);
            out.push(b':');
            write_string(out, value);
        }
        out.extend_from_slice(b"}}");
    }
    out.extend_from_slice(b"]}");
}

/// Writes a JSON string, having looked for what needs an escape.
fn write_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let escaped = |byte: u8| byte < b' ' || byte == b'"' || byte == b'\\';
    // Without a way out in the middle this is vectorized.
    let any = text.bytes().fold(false, |any, byte| any | escaped(byte));
    assert!(!any, "no attribute of the load has anything to escape");
    out.extend_from_slice(text.as_bytes());
    out.push(b'"');
}

/// Reads a reply; where its body is.
async fn read_reply(stream: &mut TcpStream, reply: &mut Vec<u8>) -> Result<Range<usize>, Error> {
    reply.clear();
    let head_end = loop {
        if stream.read_buf(reply).await? == 0 {
            return Err("the server closed the connection".into());
        }
        if let Some(end) = memmem::find(reply, b"\r\n\r\n") {
            break end + 4;
        }
    };
    let head = std::str::from_utf8(&reply[..head_end])?;
    if !head.starts_with("HTTP/1.1 200 ") {
        return Err(head.to_owned().into());
    }
    let mut lines = head.lines();
    let length = lines.find_map(|line| line.strip_prefix("content-length: "));
    let end = head_end + length.ok_or("a reply without a length")?.parse::<usize>()?;
    while reply.len() < end {
        if stream.read_buf(reply).await? == 0 {
            return Err("the server closed the connection".into());
        }
    }
    Ok(head_end..end)
}

/// Finds where the ids of a reply are.
pub(super) fn find_ids(body: &[u8], ids: &mut Vec<Range<usize>>) -> Result<(), Error> {
    if !body.starts_with(br#"{"messageIds":["#) {
        return Err("a reply without ids".into());
    }
    ids.clear();
    // Behind the two quotes of the name.
    let mut quotes = memchr_iter(b'"', body).skip(2);
    while let (Some(start), Some(end)) = (quotes.next(), quotes.next()) {
        ids.push(start + 1..end);
    }
    Ok(())
}
