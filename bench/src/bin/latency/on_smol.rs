//! The clients on smol: an executor that runs on this thread. curl has a thread of its own.

use std::net::TcpStream;
use std::sync::Arc;

use futures_util::AsyncReadExt as _;
use isahc::config::{Configurable as _, VersionNegotiation};
use pubsink_bench::Error;
use pubsink_core::options::Wire;
use pubsink_smol::http2::SmolConnector;
use pubsink_smol::seam::{Calls, Transport};
use pubsink_smol::{Http2Client, HttpClient};
use smol::{Async, Executor};
use tokio_util::compat::FuturesAsyncReadCompatExt as _;

use crate::callers::{Call, Place, measure};
use crate::clients::{Client, Layer};
use crate::layers::{Http2, Publishes, Sends, stored};
use crate::quantiles::Quantiles;
use crate::requests::{Load, Requests};

/// Measures one client.
pub(crate) fn calls(client: Client, load: &Load) -> Result<Quantiles, Error> {
    let executor = Arc::new(Executor::new());
    smol::block_on(executor.run(async {
        match (client.layer, client.wire) {
            (Layer::Bare, Wire::Rest) => bare_rest(&executor, load).await,
            (Layer::Bare, Wire::Grpc) => bare_grpc(&executor, load).await,
            (Layer::Transport, Wire::Rest) => {
                transport(&executor, HttpClient::new(), Wire::Rest, load).await
            }
            (Layer::Transport, Wire::Grpc) => {
                let client = Http2Client::builder().connector(SmolConnector::on(&executor));
                transport(&executor, Calls::new(client.build()), Wire::Grpc, load).await
            }
            (Layer::Publisher, wire) => publisher(&executor, wire, load).await,
        }
    }))
}

async fn publisher(
    executor: &Arc<Executor<'static>>,
    wire: Wire,
    load: &Load,
) -> Result<Quantiles, Error> {
    let caller = Publishes {
        publisher: pubsink_smol::publisher(load.options(wire)?).spawn_on(executor)?,
        messages: load.messages(),
    };
    measured(executor, vec![caller; load.callers], load).await
}

async fn transport(
    executor: &Arc<Executor<'static>>,
    transport: impl Transport,
    wire: Wire,
    load: &Load,
) -> Result<Quantiles, Error> {
    let caller = Sends {
        transport: Arc::new(transport),
        requests: load.requests(wire)?,
    };
    measured(executor, vec![caller; load.callers], load).await
}

async fn bare_grpc(executor: &Arc<Executor<'static>>, load: &Load) -> Result<Quantiles, Error> {
    let stream = Async::<TcpStream>::connect(load.address.parse::<std::net::SocketAddr>()?).await?;
    stream.get_ref().set_nodelay(true)?;
    let (client, connection) = h2::client::handshake(stream.compat()).await?;
    executor.spawn(connection).detach();
    let caller = Http2 {
        connection: client,
        requests: load.requests(Wire::Grpc)?,
    };
    measured(executor, vec![caller; load.callers], load).await
}

async fn bare_rest(executor: &Arc<Executor<'static>>, load: &Load) -> Result<Quantiles, Error> {
    let client = isahc::HttpClient::builder()
        .version_negotiation(VersionNegotiation::http11())
        .expect_continue(false)
        .proxy(None)
        .connection_cache_size(1_024)
        .build()?;
    let caller = Curl {
        client,
        requests: load.requests(Wire::Rest)?,
    };
    measured(executor, vec![caller; load.callers], load).await
}

async fn measured<C: Call>(
    executor: &Arc<Executor<'static>>,
    callers: Vec<C>,
    load: &Load,
) -> Result<Quantiles, Error> {
    measure(&Place::Smol(Arc::clone(executor)), callers, load).await
}

/// Requests through a curl that all callers share.
#[derive(Clone)]
struct Curl {
    client: isahc::HttpClient,
    requests: Requests,
}

impl Call for Curl {
    async fn call(&mut self, number: usize) -> Result<(), Error> {
        let request = self.requests.request(number);
        let request = request.map(|body| isahc::AsyncBody::from(body.to_vec()));
        let response = self.client.send_async(request).await?;
        let status = response.status();
        let mut reply = Vec::new();
        response.into_body().read_to_end(&mut reply).await?;
        stored(status, &reply)
    }
}
