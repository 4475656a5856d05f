//! The clients on tokio: a runtime of one thread.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::try_join_all;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use pubsink_bench::Error;
use pubsink_core::options::Wire;
use pubsink_tokio::seam::{Calls, Transport};
use pubsink_tokio::{Http2Client, HttpClient};
use tokio::net::TcpStream;

use crate::callers::{Call, Place, measure};
use crate::clients::{Client, Layer};
use crate::layers::{Http2, Publishes, Sends, stored};
use crate::quantiles::Quantiles;
use crate::requests::{Load, Requests};

/// Measures one client.
pub(crate) fn calls(client: Client, load: &Load) -> Result<Quantiles, Error> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build()?.block_on(async {
        match (client.layer, client.wire) {
            (Layer::Bare, Wire::Rest) => bare_rest(load).await,
            (Layer::Bare, Wire::Grpc) => bare_grpc(load).await,
            (Layer::Transport, Wire::Rest) => transport(HttpClient::new(), Wire::Rest, load).await,
            (Layer::Transport, Wire::Grpc) => {
                transport(Calls::new(Http2Client::new()), Wire::Grpc, load).await
            }
            (Layer::Publisher, wire) => publisher(wire, load).await,
        }
    })
}

async fn publisher(wire: Wire, load: &Load) -> Result<Quantiles, Error> {
    let caller = Publishes {
        publisher: pubsink_tokio::publisher(load.options(wire)?).spawn()?,
        messages: load.messages(),
    };
    measure(&Place::Tokio, vec![caller; load.callers], load).await
}

async fn transport(transport: impl Transport, wire: Wire, load: &Load) -> Result<Quantiles, Error> {
    let caller = Sends {
        transport: Arc::new(transport),
        requests: load.requests(wire)?,
    };
    measure(&Place::Tokio, vec![caller; load.callers], load).await
}

async fn bare_grpc(load: &Load) -> Result<Quantiles, Error> {
    let stream = connect(load).await?;
    let (client, connection) = h2::client::handshake(stream).await?;
    tokio::spawn(connection);
    let caller = Http2 {
        connection: client,
        requests: load.requests(Wire::Grpc)?,
    };
    measure(&Place::Tokio, vec![caller; load.callers], load).await
}

async fn bare_rest(load: &Load) -> Result<Quantiles, Error> {
    let requests = load.requests(Wire::Rest)?.for_connection()?;
    let callers = (0..load.callers).map(|_| async {
        let (client, connection) = http1::handshake(TokioIo::new(connect(load).await?)).await?;
        tokio::spawn(connection);
        let requests = requests.clone();
        Ok::<_, Error>(Http1 { client, requests })
    });
    measure(&Place::Tokio, try_join_all(callers).await?, load).await
}

async fn connect(load: &Load) -> Result<TcpStream, Error> {
    let stream = TcpStream::connect(&load.address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Requests on a connection of its own.
struct Http1 {
    client: http1::SendRequest<Full<Bytes>>,
    requests: Requests,
}

impl Call for Http1 {
    async fn call(&mut self, number: usize) -> Result<(), Error> {
        let request = self.requests.request(number).map(Full::new);
        self.client.ready().await?;
        let response = self.client.send_request(request).await?;
        let status = response.status();
        let reply = response.into_body().collect().await?.to_bytes();
        stored(status, &reply)
    }
}
