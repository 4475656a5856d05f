//! gRPC: protobuf written into a frame, a call over one HTTP/2 connection, ids sliced out of the
//! reply.

use std::cell::Cell;
use std::ops::Range;

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use h2::client::SendRequest;
use http::{HeaderMap, Request};
use tokio::net::TcpStream;

use super::{IN_FLIGHT, all_stored, next_batch};
use crate::Error;
use crate::load::Load;
use crate::protobuf::{field, varint, varint_len};

/// The bytes before a gRPC message: whether it is compressed, and its length.
pub(super) const PREFIX: usize = 5;
const TOPIC: &str = "projects/p/topics/hooks";

/// Publishes the load to the server at `address`.
///
/// # Errors
///
/// Whatever was not expected.
pub async fn publish(address: &str, load: &Load) -> Result<(), Error> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (client, connection) = h2::client::handshake(stream).await?;
    let next = Cell::new(0);
    let calls = (0..IN_FLIGHT).map(|_| calls(address, client.clone(), load, &next));
    tokio::select! {
        done = futures_util::future::try_join_all(calls) => done.map(drop),
        ended = connection => Err(format!("the connection ended: {ended:?}").into()),
    }
}

/// Makes one call after another until there are no messages left.
async fn calls(
    address: &str,
    client: SendRequest<Bytes>,
    load: &Load,
    next: &Cell<usize>,
) -> Result<(), Error> {
    let url = format!("http://{address}/google.pubsub.v1.Publisher/Publish");
    let (mut buffer, mut ids) = (BytesMut::new(), Vec::new());
    while let Some(messages) = next_batch(load, next) {
        buffer.clear();
        write_frame(&mut buffer, load, messages.clone());
        let body = buffer.freeze();
        let reply = call(client.clone(), &url, body.clone()).await?;
        find_ids(reply, &mut ids)?;
        all_stored(&messages, ids.len())?;
        // Answered, so nobody else holds it.
        buffer = body.try_into_mut().unwrap_or_default();
    }
    Ok(())
}

/// Sends one request; the reply's message.
pub(super) async fn call(
    client: SendRequest<Bytes>,
    url: &str,
    body: Bytes,
) -> Result<Bytes, Error> {
    let request = Request::post(url)
        .header("te", "trailers")
        .header("content-type", "application/grpc")
        .body(())?;
    exchange(client, request, body).await
}

/// Sends a request with its body; the reply's message.
///
/// # Errors
///
/// The call failed.
pub async fn exchange(
    client: SendRequest<Bytes>,
    request: Request<()>,
    body: Bytes,
) -> Result<Bytes, Error> {
    let mut client = client.ready().await?;
    let (response, mut stream) = client.send_request(request, false)?;
    stream.send_data(body, true)?;
    let mut reply = response.await?.into_body();
    let mut read = BytesMut::new();
    while let Some(data) = reply.data().await {
        let data = data?;
        reply.flow_control().release_capacity(data.len())?;
        read.extend_from_slice(&data);
    }
    let trailers = reply.trailers().await?.ok_or("a reply without trailers")?;
    message(&trailers, &read.freeze())
}

/// The message of a reply.
///
/// # Errors
///
/// The call failed.
pub fn message(trailers: &HeaderMap, reply: &Bytes) -> Result<Bytes, Error> {
    let status = trailers.get("grpc-status");
    match status.is_some_and(|status| status == "0") && reply.len() >= PREFIX {
        true => Ok(reply.slice(PREFIX..)),
        false => Err(format!("{trailers:?}: {}", reply.escape_ascii()).into()),
    }
}

/// Slices the ids out of a reply's message.
fn find_ids(mut reply: Bytes, ids: &mut Vec<Bytes>) -> Result<(), Error> {
    ids.clear();
    while reply.has_remaining() {
        match *reply {
            [0x0A, length, ..] if length < 0x80 && reply.len() >= 2 + usize::from(length) => {
                reply.advance(2);
                ids.push(reply.split_to(usize::from(length)));
            }
            _ => return Err("a reply that is not a list of ids".into()),
        }
    }
    Ok(())
}

/// Writes a publish request with its prefix.
pub fn write_frame(out: &mut BytesMut, load: &Load, numbers: Range<usize>) {
    let start = out.len();
    out.put_bytes(0, PREFIX);
    field(out, 0x0A, TOPIC.as_bytes());
    let attribute_len = |(name, value): &(String, String)| string_len(name) + string_len(value);
    for number in numbers {
        let body = load.body(number);
        let lens = load.attributes.iter().map(attribute_len);
        let attributes_len: usize = lens.map(|len| 1 + varint_len(len) + len).sum();
        out.put_u8(0x12);
        varint(
            out,
            1 + varint_len(body.len()) + body.len() + attributes_len,
        );
        field(out, 0x0A, body);
        for attribute in &load.attributes {
            let (name, value) = attribute;
            out.put_u8(0x12);
            varint(out, attribute_len(attribute));
            field(out, 0x0A, name.as_bytes());
            field(out, 0x12, value.as_bytes());
        }
    }
    let length = u32::try_from(out.len() - start - PREFIX).unwrap_or(u32::MAX);
    out[start + 1..start + PREFIX].copy_from_slice(&length.to_be_bytes());
}

fn string_len(text: &str) -> usize {
    1 + varint_len(text.len()) + text.len()
}
