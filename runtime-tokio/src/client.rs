//! The default HTTP client: hyper, rustls with Mozilla's roots, a pool of its own.

use std::error::Error;
use std::future::Future;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body, Incoming};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::{HttpConnector, capture_connection};
use hyper_util::client::legacy::{Client, Error as ClientError};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use pubsink_runtime::core::reason::TransportKind;
use pubsink_runtime::seam::{SendLimits, Transport, TransportError};
use tokio::time::{sleep, timeout};

/// How long an idle connection is kept: below the minutes after which servers and load balancers
/// close theirs, so that few requests meet a dead one.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// For ever: the pool adds its timeout to the clock, which cannot hold a longer one.
const IDLE_TIMEOUT_MAX: Duration = Duration::from_secs(365 * 24 * 3_600);

/// Sends requests with hyper. Each once: no retries, no redirects, no proxy.
///
/// HTTP/1.1 by default, which costs both sides about half of what HTTP/2 does for requests of
/// this size; the connections are as many as requests in flight.
#[derive(Debug, Clone)]
pub struct HttpClient {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

impl HttpClient {
    /// The default client.
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// A client with settings.
    #[must_use]
    pub fn builder() -> HttpClientBuilder {
        HttpClientBuilder {
            http2: false,
            idle_timeout: IDLE_TIMEOUT,
        }
    }
}

impl Default for HttpClient {
    fn default() -> Self {
        Self::new()
    }
}

/// Settings of an [`HttpClient`].
#[derive(Debug, Clone)]
pub struct HttpClientBuilder {
    http2: bool,
    idle_timeout: Duration,
}

impl HttpClientBuilder {
    /// Speaks HTTP/2 only: by ALPN over TLS, with prior knowledge in the clear. Default false.
    #[must_use]
    pub fn http2(mut self, http2: bool) -> Self {
        self.http2 = http2;
        self
    }

    /// How long an idle connection is kept for the next request. Default 30 s; keep it below the
    /// server's own limit.
    #[must_use]
    pub fn idle_timeout(mut self, idle_timeout: Duration) -> Self {
        self.idle_timeout = idle_timeout;
        self
    }

    /// The client.
    #[must_use]
    pub fn build(self) -> HttpClient {
        let mut tcp = HttpConnector::new();
        tcp.set_nodelay(true);
        HttpClient {
            client: self.build_over(tcp),
        }
    }

    /// A client for bodies of any kind, over TCP with settings.
    pub(crate) fn build_over<B>(
        self,
        mut tcp: HttpConnector,
    ) -> Client<HttpsConnector<HttpConnector>, B>
    where
        B: Body + Send,
        B::Data: Send,
    {
        tcp.enforce_http(false);
        // Named, since another crate of the program may bring a second provider.
        let provider = rustls::crypto::ring::default_provider();
        let tls = HttpsConnectorBuilder::new()
            .with_provider_and_webpki_roots(provider)
            .expect("ring has the cipher suites of TLS 1.2 and 1.3")
            .https_or_http();
        let connector = if self.http2 {
            tls.enable_http2().wrap_connector(tcp)
        } else {
            tls.enable_http1().wrap_connector(tcp)
        };
        let mut client = Client::builder(TokioExecutor::new());
        client
            .pool_timer(TokioTimer::new())
            .timer(TokioTimer::new())
            .pool_idle_timeout(self.idle_timeout.min(IDLE_TIMEOUT_MAX))
            // A second send is the machine's decision.
            .retry_canceled_requests(false)
            .http2_only(self.http2);
        if self.http2 {
            // A connection that died without a word is found out by a ping, not by every request
            // on it.
            client
                .http2_keep_alive_interval(Duration::from_secs(10))
                .http2_keep_alive_timeout(Duration::from_secs(5))
                .http2_adaptive_window(true);
        }
        client.build(connector)
    }
}

impl Transport for HttpClient {
    async fn send(
        &self,
        request: Request<Bytes>,
        limits: SendLimits,
    ) -> Result<Response<Bytes>, TransportError> {
        let (head, body) = request.into_parts();
        let mut request = Request::from_parts(head, Full::new(body));
        let mut connection = capture_connection(&mut request);
        let exchange = async {
            let response = self.client.request(request).await;
            let response = response.map_err(|error| client_error(&error))?;
            let (head, body) = response.into_parts();
            let body = read_body(body, limits.body_max, head.status.as_u16()).await?;
            Ok(Response::from_parts(head, body))
        };
        let connected = async {
            connection.wait_for_connection_metadata().await;
        };
        with_timeouts(exchange, connected, limits).await
    }
}

/// Runs `exchange` within the time to connect, then within the time to answer.
async fn with_timeouts<O>(
    exchange: impl Future<Output = Result<O, TransportError>>,
    connected: impl Future<Output = ()>,
    limits: SendLimits,
) -> Result<O, TransportError> {
    let late = |kind, what: &str, limit: Duration| {
        TransportError::new(kind, format!("{what} within {} ms", limit.as_millis()))
    };
    let mut exchange = pin!(exchange);
    let mut connected = pin!(connected);
    // By durations: an instant that far ahead may not exist.
    let mut connect_timeout = pin!(sleep(limits.connect));
    let early = std::future::poll_fn(|cx| {
        if let Poll::Ready(done) = exchange.as_mut().poll(cx) {
            return Poll::Ready(Some(done));
        }
        if connected.as_mut().poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        connect_timeout.as_mut().poll(cx).map(|()| {
            let kind = TransportKind::Connect;
            Some(Err(late(kind, "no connection", limits.connect)))
        })
    });
    if let Some(done) = early.await {
        return done;
    }
    let answer = timeout(limits.response, exchange).await;
    answer.unwrap_or_else(|_| Err(late(TransportKind::Timeout, "no reply", limits.response)))
}

/// Reads at most `max` bytes. A body that breaks off costs a 200 its confirmation; any other
/// status says enough without it.
async fn read_body(mut body: Incoming, max: usize, status: u16) -> Result<Bytes, TransportError> {
    let mut read = BytesMut::new();
    while read.len() < max {
        match body.frame().await {
            None => break,
            Some(Ok(frame)) => {
                if let Some(data) = frame.data_ref() {
                    read.extend_from_slice(&data[..data.len().min(max - read.len())]);
                }
            }
            Some(Err(_)) if status != 200 => break,
            Some(Err(error)) => return Err(TransportError::of(TransportKind::Connection, &error)),
        }
    }
    Ok(read.freeze())
}

fn client_error(error: &ClientError) -> TransportError {
    let kind = if error.is_connect() {
        TransportKind::Connect
    } else if error
        .source()
        .is_some_and(|cause| cause.is::<hyper::Error>())
    {
        TransportKind::Connection
    } else {
        TransportKind::Other
    };
    TransportError::of(kind, error)
}
