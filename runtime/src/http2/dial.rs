//! From a name to a byte stream: addresses, tried in turn, and TLS.

use std::future::{Future as _, poll_fn};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::Connector;
use super::error::no_connection;
use super::origin::Origin;
use super::tls;
use crate::seam::{Runtime as _, Timer as _, TransportError};

/// How long an address is waited for before the next is tried beside it (RFC 8305): a host whose
/// IPv6 leads nowhere costs this much.
const NEXT_ADDRESS: Duration = Duration::from_millis(250);

/// A TCP connection to one of the addresses of `origin`.
pub(super) async fn tcp<C: Connector>(
    connector: &C,
    runtime: &C::Runtime,
    origin: &Origin,
) -> Result<C::Tcp, TransportError> {
    let addrs = match origin.host.parse::<IpAddr>() {
        Ok(ip) => vec![SocketAddr::new(ip, origin.port)],
        Err(_) => {
            let resolved = connector.resolve(&origin.host, origin.port).await;
            let addrs = resolved
                .map_err(|error| no_connection(format_args!("{}: {error}", origin.name())))?;
            alternate(addrs)
        }
    };
    race(connector, runtime, addrs).await.map_err(|failed| {
        let name = origin.name();
        match failed {
            None => no_connection(format_args!("{name}: the name has no address")),
            Some((addr, error)) => no_connection(format_args!("{name} ({addr}): {error}")),
        }
    })
}

/// The first connection that is made, or the first fault.
async fn race<C: Connector>(
    connector: &C,
    runtime: &C::Runtime,
    addrs: Vec<SocketAddr>,
) -> Result<C::Tcp, Option<(SocketAddr, io::Error)>> {
    let mut rest = addrs.into_iter();
    let mut tries = FuturesUnordered::new();
    let mut timer = pin!(runtime.timer());
    let mut fault = None;
    let mut start_next = true;
    loop {
        if start_next && let Some(addr) = rest.next() {
            tries.push(async move { (addr, connector.connect(addr).await) });
            timer.as_mut().reset(runtime.now() + NEXT_ADDRESS);
        }
        let waits_for_more = rest.len() > 0;
        let tried = poll_fn(|cx| match tries.poll_next_unpin(cx) {
            Poll::Ready(tried) => Poll::Ready(Some(tried)),
            Poll::Pending if waits_for_more => timer.as_mut().poll(cx).map(|()| None),
            Poll::Pending => Poll::Pending,
        });
        start_next = true;
        match tried.await {
            // Time for the next one.
            None => {}
            Some(None) => return Err(fault),
            Some(Some((_, Ok(tcp)))) => return Ok(tcp),
            Some(Some((addr, Err(error)))) => {
                fault.get_or_insert((addr, error));
            }
        }
    }
}

/// The two families in turns, beginning with the first one's.
fn alternate(addrs: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let first_is_v6 = addrs.first().is_some_and(SocketAddr::is_ipv6);
    let (first, second): (Vec<_>, Vec<_>) = addrs
        .into_iter()
        .partition(|addr| addr.is_ipv6() == first_is_v6);
    let mut second = second.into_iter();
    let mut mixed = Vec::new();
    for addr in first {
        mixed.push(addr);
        mixed.extend(second.next());
    }
    mixed.extend(second);
    mixed
}

/// TLS over `tcp`, once both sides have agreed on HTTP/2.
pub(super) async fn tls<T: AsyncRead + AsyncWrite + Unpin>(
    tcp: T,
    origin: &Origin,
    config: &Arc<ClientConfig>,
) -> Result<TlsStream<T>, TransportError> {
    let name = origin.name();
    let server = ServerName::try_from(origin.host.clone())
        .map_err(|error| no_connection(format_args!("{name}: {error}")))?;
    let connecting = TlsConnector::from(Arc::clone(config)).connect(server, tcp);
    let stream = connecting
        .await
        .map_err(|error| no_connection(format_args!("TLS with {name}: {error}")))?;
    if stream.get_ref().1.alpn_protocol() != Some(tls::HTTP2) {
        return Err(no_connection(format_args!(
            "{name} does not speak HTTP/2: its TLS did not choose the protocol h2 (ALPN)"
        )));
    }
    Ok(stream)
}

#[cfg(test)]
mod tests;
