//! REST over hyper, the HTTP client of `pubsink-tokio`: what it costs over the bare floor.

use std::cell::Cell;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::rest::{find_ids, write_body};
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

async fn connection(address: &str, load: &Load, next: &Cell<usize>) -> Result<(), Error> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (client, connection) = handshake(TokioIo::new(stream)).await?;
    tokio::select! {
        done = requests(address, client, load, next) => done,
        ended = connection => Err(format!("the connection ended: {ended:?}").into()),
    }
}

/// Takes batches until there are none.
async fn requests(
    address: &str,
    mut client: SendRequest<Full<Bytes>>,
    load: &Load,
    next: &Cell<usize>,
) -> Result<(), Error> {
    let (mut buffer, mut ids) = (Vec::new(), Vec::new());
    while let Some(messages) = next_batch(load, next) {
        buffer.clear();
        write_body(&mut buffer, load, messages.clone());
        let body = Bytes::from(buffer);
        let request = Request::post("/v1/projects/p/topics/hooks:publish")
            .header("host", address)
            .header("content-type", "application/json")
            .body(Full::new(body.clone()))?;
        client.ready().await?;
        let reply = client.send_request(request).await?;
        let reply = reply.into_body().collect().await?.to_bytes();
        find_ids(&reply, &mut ids)?;
        all_stored(&messages, ids.len())?;
        // Answered, so nobody else holds it.
        buffer = body.into();
    }
    Ok(())
}
