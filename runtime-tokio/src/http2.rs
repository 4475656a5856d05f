//! HTTP/2 for calls with trailers and for streams: what gRPC travels on.

use std::io;
use std::net::SocketAddr;

use pubsink_runtime::core::reason::TransportKind;
pub use pubsink_runtime::http2::{Client, ClientBuilder, Connector, Down, Up, rustls};
use pubsink_runtime::seam::TransportError;
use tokio::net::{TcpStream, lookup_host};

use crate::runtime::Tokio;

/// Calls and streams over HTTP/2 on tokio. A connection runs on the runtime of the call that needed
/// it first, and ends with it.
pub type Http2Client = Client<TokioConnector>;

/// Names and sockets on tokio.
#[derive(Debug, Clone, Default)]
pub struct TokioConnector(());

impl Connector for TokioConnector {
    type Runtime = Tokio;
    type Tcp = TcpStream;

    fn runtime(&self) -> Result<Tokio, TransportError> {
        Tokio::current().map_err(|error| TransportError::of(TransportKind::Connect, &error))
    }

    async fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        Ok(lookup_host((host, port)).await?.collect())
    }

    async fn connect(&self, addr: SocketAddr) -> io::Result<TcpStream> {
        let tcp = TcpStream::connect(addr).await?;
        tcp.set_nodelay(true)?;
        Ok(tcp)
    }
}
