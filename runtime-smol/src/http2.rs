//! HTTP/2 for calls with trailers and for streams: what gRPC travels on.

use std::io;
use std::net::{SocketAddr, TcpStream};

use async_io::Async;
pub use pubsink_runtime::http2::{Client, ClientBuilder, Connector, Down, Up, rustls};
use pubsink_runtime::seam::TransportError;
use tokio_util::compat::{Compat, FuturesAsyncReadCompatExt as _};

use crate::runtime::Smol;

/// Calls and streams over HTTP/2 on smol. Its connections run on smol's global executor; with
/// `builder().connector(SmolConnector::on(executor))` on one of your own.
pub type Http2Client = Client<SmolConnector>;

/// Names and sockets on smol.
#[derive(Debug, Clone)]
pub struct SmolConnector(Smol);

impl SmolConnector {
    /// Runs connections on `executor`: a `&Arc<Executor<'static>>`, which they do not keep alive, or
    /// a `&'static Executor<'static>`. They end with it.
    #[must_use]
    pub fn on(executor: impl Into<Smol>) -> Self {
        Self(executor.into())
    }
}

impl Default for SmolConnector {
    fn default() -> Self {
        Self(Smol::global())
    }
}

impl Connector for SmolConnector {
    type Runtime = Smol;
    /// tokio's traits over those of futures.
    type Tcp = Compat<Async<TcpStream>>;

    fn runtime(&self) -> Result<Smol, TransportError> {
        Ok(self.0.clone())
    }

    async fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        smol::net::resolve((host, port)).await
    }

    async fn connect(&self, addr: SocketAddr) -> io::Result<Self::Tcp> {
        let tcp = Async::<TcpStream>::connect(addr).await?;
        tcp.get_ref().set_nodelay(true)?;
        Ok(tcp.compat())
    }
}
