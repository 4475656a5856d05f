//! StreamingPull: messages as slices of what came, acked by one call for each response.

use std::collections::VecDeque;

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use h2::RecvStream;
use h2::client::{Builder, SendRequest};
use http::Request;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use super::IN_FLIGHT;
use super::grpc::{PREFIX, call};
use crate::Error;
use crate::protobuf::{field, split_field};

const SUBSCRIPTION: &str = "projects/p/subscriptions/hooks";
/// What the server may send before it is read: what our own client lets it.
const STREAM_WINDOW: u32 = 2 * 1024 * 1024;
/// More than that, so that the stream does not hold up the answers to calls.
const CONNECTION_WINDOW: u32 = 2 * STREAM_WINDOW;

/// Takes so many messages of the server at `address`, and acks each.
///
/// # Errors
///
/// Whatever was not expected.
pub async fn consume(address: &str, messages: usize) -> Result<(), Error> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (client, connection) = Builder::new()
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .handshake(stream)
        .await?;
    tokio::select! {
        done = pull(address, client, messages) => done,
        ended = connection => Err(format!("the connection ended: {ended:?}").into()),
    }
}

async fn pull(address: &str, client: SendRequest<Bytes>, mut messages: usize) -> Result<(), Error> {
    let url = |method| format!("http://{address}/google.pubsub.v1.Subscriber/{method}");
    let (streaming_pull, acknowledge) = (url("StreamingPull"), url("Acknowledge"));
    let request = Request::post(streaming_pull)
        .header("te", "trailers")
        .header("content-type", "application/grpc")
        .body(())?;
    let mut ready = client.clone().ready().await?;
    let (response, mut asking) = ready.send_request(request, false)?;
    asking.send_data(Bytes::from_static(&[0; PREFIX]), false)?;
    let mut stream = response.await?.into_body();
    let (mut came, mut received) = (BytesMut::new(), Vec::new());
    let mut calls = VecDeque::<JoinHandle<Result<BytesMut, Error>>>::new();
    while messages > 0 {
        let response = next(&mut stream, &mut came).await?;
        read(&response, &mut received)?;
        received.truncate(messages);
        messages -= received.len();
        let mut buffer = match calls.len() {
            IN_FLIGHT => calls.pop_front().ok_or("no call")?.await??,
            _ => BytesMut::new(),
        };
        write_acks(&mut buffer, &received);
        let (client, url) = (client.clone(), acknowledge.clone());
        calls.push_back(tokio::spawn(async move {
            let body = buffer.freeze();
            call(client, &url, body.clone()).await?;
            // Answered, so nobody else holds it.
            Ok(body.try_into_mut().unwrap_or_default())
        }));
    }
    for call in calls {
        call.await??;
    }
    Ok(())
}

/// The next response of the stream.
async fn next(stream: &mut RecvStream, came: &mut BytesMut) -> Result<Bytes, Error> {
    loop {
        if let Some((prefix, rest)) = came.split_at_checked(PREFIX) {
            let length = usize::try_from((&prefix[1..]).get_u32())?;
            if rest.len() >= length {
                came.advance(PREFIX);
                return Ok(came.split_to(length).freeze());
            }
        }
        let data = stream.data().await.ok_or("the stream ended")??;
        stream.flow_control().release_capacity(data.len())?;
        came.extend_from_slice(&data);
    }
}

/// A message: slices of its response.
struct Received {
    ack_id: Bytes,
    data: Bytes,
}

/// Finds the messages of a response. Attributes are left where they are.
fn read(response: &Bytes, received: &mut Vec<Received>) -> Result<(), Error> {
    received.clear();
    let mut rest = &response[..];
    while !rest.is_empty() {
        let mut of = split_field(&mut rest, 0x0A).ok_or("no message")?;
        let ack_id = split_field(&mut of, 0x0A).ok_or("no ack id")?;
        let mut message = split_field(&mut of, 0x12).ok_or("no message")?;
        let data = split_field(&mut message, 0x0A).ok_or("no data")?;
        received.push(Received {
            ack_id: response.slice_ref(ack_id),
            data: response.slice_ref(data),
        });
    }
    Ok(())
}

/// Writes an acknowledge request with its prefix.
fn write_acks(out: &mut BytesMut, received: &[Received]) {
    out.clear();
    out.put_bytes(0, PREFIX);
    field(out, 0x0A, SUBSCRIPTION.as_bytes());
    for message in received {
        std::hint::black_box(&message.data);
        field(out, 0x12, &message.ack_id);
    }
    let length = u32::try_from(out.len() - PREFIX).unwrap_or(u32::MAX);
    out[1..PREFIX].copy_from_slice(&length.to_be_bytes());
}
