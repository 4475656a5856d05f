//! Publishing over REST: HTTP/1.1 with kept connections, bodies of a length that is told.

use memchr::memmem;
use pubsink_bench::Error;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::Server;
use super::count::{JSON_OVERLAP, JsonCounter};
use super::gunzip::Gunzip;

/// So much is read at a time: more than a socket holds, less than the caches do.
const BUFFER: usize = 256 * 1024;

/// What the head of a request says.
struct Head {
    publish: bool,
    /// What is answered to anything else.
    other: Option<Other>,
    length: usize,
    gzip: bool,
    /// The client waits before it sends the body, as curl does before a large one.
    waits: bool,
}

/// Serves one connection until its client closes it.
pub(crate) async fn serve(mut stream: TcpStream, server: &Server) -> Result<(), Error> {
    let counter = JsonCounter::new();
    let mut buffer = vec![0; BUFFER];
    let mut reply = Vec::new();
    // What was read and not yet used.
    let mut filled = 0;
    loop {
        let head_end = loop {
            if let Some(end) = memmem::find(&buffer[..filled], b"\r\n\r\n") {
                break end + 4;
            }
            let read = stream.read(&mut buffer[filled..]).await?;
            if read == 0 {
                return Ok(());
            }
            filled += read;
        };
        let head = Head::parse(std::str::from_utf8(&buffer[..head_end])?)?;
        if head.waits && filled == head_end {
            stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
        }
        // The part of the body that came with the head, and what follows it.
        let mut piece = head_end..filled.min(head_end + head.length);
        let mut left = head.length - piece.len();
        let next = piece.end..filled;
        let mut gunzip = head.gzip.then(|| Gunzip::new(JSON_OVERLAP));
        let mut messages = count(&counter, gunzip.as_mut(), &buffer[piece.clone()])?;
        // What is compressed is looked through elsewhere.
        let overlap_max = if head.gzip { 0 } else { JSON_OVERLAP };
        while left > 0 {
            let overlap = piece.end - overlap_max.min(piece.len());
            buffer.copy_within(overlap..piece.end, 0);
            let overlap = piece.end - overlap;
            let end = BUFFER.min(overlap + left);
            let read = stream.read(&mut buffer[overlap..end]).await?;
            if read == 0 {
                return Err("a connection ended within a request".into());
            }
            piece = 0..overlap + read;
            left -= read;
            messages += count(&counter, gunzip.as_mut(), &buffer[piece.clone()])?;
        }
        filled = next.len();
        buffer.copy_within(next, 0);
        reply.clear();
        if head.publish {
            server.count(messages);
            server.came(head.length);
            server.replies.write_json(&mut reply, messages);
        } else {
            write_other(&mut reply, head.other, server);
        }
        stream.write_all(&reply).await?;
    }
}

/// How many messages begin in a piece of a body.
fn count(counter: &JsonCounter, gunzip: Option<&mut Gunzip>, piece: &[u8]) -> Result<usize, Error> {
    let Some(gunzip) = gunzip else {
        return Ok(counter.count(piece));
    };
    let mut messages = 0;
    gunzip.feed(piece, |plain| {
        messages += counter.count(plain);
        Ok(())
    })?;
    Ok(messages)
}

impl Head {
    fn parse(head: &str) -> Result<Self, Error> {
        let mut lines = head.split("\r\n");
        let first = lines.next().unwrap_or_default();
        let mut head = Self {
            publish: first.starts_with("POST ") && first.ends_with(":publish HTTP/1.1"),
            other: Other::of(first),
            length: 0,
            gzip: false,
            waits: false,
        };
        for line in lines {
            let (name, value) = line.split_once(':').unwrap_or_default();
            if name.eq_ignore_ascii_case("content-length") {
                head.length = value.trim().parse()?;
            } else if name.eq_ignore_ascii_case("expect") {
                head.waits = true;
            } else if name.eq_ignore_ascii_case("content-encoding") && value.trim() == "gzip" {
                head.gzip = true;
            } else if name.eq_ignore_ascii_case("transfer-encoding")
                || name.eq_ignore_ascii_case("content-encoding")
            {
                return Err(format!("requests with {name} are not served").into());
            }
        }
        Ok(head)
    }
}

#[derive(Clone, Copy)]
enum Other {
    /// How many messages were published or acknowledged.
    Count,
    /// How many bytes of bodies came.
    Bytes,
    /// A bearer token, for clients that cannot do without.
    Token,
}

impl Other {
    fn of(first_line: &str) -> Option<Self> {
        match first_line {
            "GET /count HTTP/1.1" => Some(Self::Count),
            "GET /bytes HTTP/1.1" => Some(Self::Bytes),
            "POST /token HTTP/1.1" => Some(Self::Token),
            _ => None,
        }
    }
}

fn write_other(out: &mut Vec<u8>, other: Option<Other>, server: &Server) {
    let (status, body) = match other {
        Some(Other::Count) => ("200 OK", server.counted.get().to_string()),
        Some(Other::Bytes) => ("200 OK", server.bytes.get().to_string()),
        Some(Other::Token) => (
            "200 OK",
            r#"{"access_token":"none","token_type":"Bearer","expires_in":3600}"#.to_owned(),
        ),
        None => ("404 Not Found", String::new()),
    };
    let length = body.len();
    let reply = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    out.extend_from_slice(reply.as_bytes());
}
