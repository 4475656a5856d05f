//! The page that Prometheus reads.

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs as _};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use prometheus::{Registry, TEXT_FORMAT};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use super::recorder;
use crate::exit::CommandError;

/// The most readers at a time. Prometheus is one.
const READERS: usize = 16;
/// How long a reader may take, from its connection to its last byte.
const READER_TIMEOUT: Duration = Duration::from_secs(10);
/// Out of file descriptors, say: try again a little later.
const AFTER_FAILED_ACCEPT: Duration = Duration::from_millis(20);

/// The page, at its address.
#[derive(Debug)]
pub(super) struct Page {
    listener: TcpListener,
    addr: SocketAddr,
}

impl Page {
    /// Takes the address.
    pub(super) fn bind(text: &str) -> Result<Self, CommandError> {
        let failed = |error| CommandError::new(format!("cannot listen on --metrics {text}"), error);
        let addrs = addresses(text).map_err(failed)?;
        let listener = TcpListener::bind(addrs.as_slice()).map_err(failed)?;
        let addr = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, addr })
    }

    /// Where it is.
    pub(super) fn url(&self) -> String {
        format!("http://{}/metrics", self.addr)
    }

    /// Serves it until the runtime ends.
    pub(super) fn serve(self, registry: Registry, runtime: &Runtime) -> Result<(), CommandError> {
        let _context = runtime.enter();
        let listener = self.listener.set_nonblocking(true);
        let listener = listener.and_then(|()| tokio::net::TcpListener::from_std(self.listener));
        let listener =
            listener.map_err(|error| CommandError::new("cannot serve metrics", error))?;
        runtime.spawn(accept(listener, registry));
        Ok(())
    }
}

fn addresses(text: &str) -> io::Result<Vec<SocketAddr>> {
    let named = match text.strip_prefix(':') {
        Some(port) => format!("127.0.0.1:{port}"),
        None => text.to_owned(),
    };
    Ok(named.to_socket_addrs()?.collect())
}

async fn accept(listener: tokio::net::TcpListener, registry: Registry) {
    let free = Arc::new(Semaphore::new(READERS));
    while let Ok(permit) = Arc::clone(&free).acquire_owned().await {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(AFTER_FAILED_ACCEPT).await;
            continue;
        };
        let registry = registry.clone();
        tokio::spawn(async move {
            answer(stream, registry).await;
            drop(permit);
        });
    }
}

/// One request. A reader that goes away or is too slow gets no more.
async fn answer(stream: TcpStream, registry: Registry) {
    let service = service_fn(|request| {
        let response = respond(&request, &registry);
        async { Ok::<_, Infallible>(response) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).keep_alive(false);
    let serving = http.serve_connection(TokioIo::new(stream), service);
    let _ = timeout(READER_TIMEOUT, serving).await;
}

fn respond<B>(request: &Request<B>, registry: &Registry) -> Response<Full<Bytes>> {
    let plain = "text/plain; charset=utf-8";
    let (status, kind, body) = if request.uri().path() != "/metrics" {
        (
            StatusCode::NOT_FOUND,
            plain,
            "metrics are at /metrics\n".to_owned(),
        )
    } else if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let words = "only GET and HEAD\n".to_owned();
        (StatusCode::METHOD_NOT_ALLOWED, plain, words)
    } else {
        match recorder::page(registry) {
            Ok(page) => (StatusCode::OK, TEXT_FORMAT, page),
            Err(error) => (
                StatusCode::INTERNAL_SERVER_ERROR,
                plain,
                format!("{error}\n"),
            ),
        }
    };
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static(kind));
    if status == StatusCode::METHOD_NOT_ALLOWED {
        let allowed = header::HeaderValue::from_static("GET, HEAD");
        headers.insert(header::ALLOW, allowed);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_host_is_of_this_machine_only() {
        let page = Page::bind(":0").unwrap();
        assert!(page.addr.ip().is_loopback());
        assert_eq!(
            page.url(),
            format!("http://127.0.0.1:{}/metrics", page.addr.port())
        );
    }

    #[test]
    fn what_is_no_address_is_named() {
        for bad in [
            "",
            "9464",
            "127.0.0.1",
            "127.0.0.1:port",
            "127.0.0.1:65536",
            ":",
            "[::1]",
        ] {
            let error = Page::bind(bad).unwrap_err().0;
            assert!(
                error.starts_with(&format!("cannot listen on --metrics {bad}: ")),
                "{error}"
            );
        }
    }
}
