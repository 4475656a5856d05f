//! The default HTTP client: isahc, which is curl, with rustls and Mozilla's roots.

mod agent;
mod body;
mod error;
mod limits;
mod quiet;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::io::AsyncReadExt as _;
use http::{Request, Response};
use isahc::AsyncBody;
use isahc::config::Configurable as _;
use pubsink_runtime::core::reason::TransportKind;
use pubsink_runtime::seam::{SendLimits, Transport, TransportError};

use agent::Agent;
use body::{Progress, SendOnce};
use error::{read_error, send_error};
use limits::{curl_time, with_timeouts};

/// How long an idle connection is kept: below the minutes after which servers and load balancers
/// close theirs, so that few requests meet a dead one.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// Sends requests with curl. Each once: no retries, no redirects, no proxy (what the environment
/// says of one is ignored), no cookies, no decompression, no `Expect: 100-continue`.
///
/// curl itself sends a request again on a fresh connection when a pooled one died before the
/// first byte of a reply. That is off here: a request whose body curl has begun to read, which it
/// does before it sends the first byte, fails instead. Only a request without a body is still
/// sent again; publish requests have one.
///
/// HTTP/1.1 by default, with as many connections as requests in flight. curl runs on a thread of
/// its own, started by the first request and stopped in the background after the last clone was
/// dropped.
///
/// curl looks whether a pooled connection is still alive before it uses it, but not twice within
/// a second: a request may meet one that was closed just now, and fails as transient.
///
/// A request that was given up (dropped, or out of time) is not sent further and its connection
/// not used again; curl holds that connection until the server speaks, at most for the time to
/// connect and the time to answer together.
///
/// Of a reply whose connection breaks between its head and the first byte of its body, isahc
/// gives only the error: its status is lost.
///
/// isahc's own log lines are cut off: at the levels debug and trace they hold the `authorization`
/// header.
#[derive(Debug, Clone)]
pub struct HttpClient {
    agent: Arc<Agent>,
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
    ///
    /// curl does not ping, and keeps connections that no longer answer. So a request that times
    /// out or breaks has the next one start over, with a new curl thread and connection. One that
    /// was closed while idle may cost a request.
    #[must_use]
    pub fn http2(mut self, http2: bool) -> Self {
        self.http2 = http2;
        self
    }

    /// How long an idle connection is kept for the next request, in whole seconds: below one,
    /// every request gets a connection of its own. Default 30 s; keep it below the server's own
    /// limit.
    ///
    /// An older one is closed when the next request looks for a connection, not by a timer.
    #[must_use]
    pub fn idle_timeout(mut self, idle_timeout: Duration) -> Self {
        self.idle_timeout = idle_timeout;
        self
    }

    /// The client.
    #[must_use]
    pub fn build(self) -> HttpClient {
        HttpClient {
            agent: Arc::new(Agent::new(self)),
        }
    }
}

impl Transport for HttpClient {
    async fn send(
        &self,
        request: Request<Bytes>,
        limits: SendLimits,
    ) -> Result<Response<Bytes>, TransportError> {
        let progress = Arc::new(Progress::default());
        let request = curl_request(request, limits, &progress)
            .map_err(|error| TransportError::of(TransportKind::Other, &error))?;
        // Outlives the exchange, whose end would otherwise wait for curl's thread to stop.
        let running = self.agent.running()?;
        let exchange = async {
            let response = running.client()?.send_async(request).await;
            let response = response.map_err(|error| send_error(&error, progress.has_begun()))?;
            let (mut head, body) = response.into_parts();
            // isahc's own.
            head.extensions.clear();
            let body = read_body(body, limits.body_max, head.status.as_u16()).await?;
            Ok(Response::from_parts(head, body))
        };
        let result = with_timeouts(exchange, progress.begun(), limits).await;
        if let Err(error) = &result {
            self.agent.failed(&running, error.kind);
        }
        result
    }
}

fn curl_request(
    request: Request<Bytes>,
    limits: SendLimits,
    progress: &Arc<Progress>,
) -> Result<Request<AsyncBody>, http::Error> {
    let (head, body) = request.into_parts();
    // Behind our own timers: what was given up ends too.
    let mut request = Request::builder()
        .method(head.method)
        .uri(head.uri)
        .connect_timeout(curl_time(limits.connect))
        .timeout(curl_time(limits.connect.saturating_add(limits.response)));
    if let Some(headers) = request.headers_mut() {
        *headers = head.headers;
    }
    request.body(SendOnce::body(body, progress))
}

/// Reads at most `max` bytes. A body that breaks off costs a 200 its confirmation; any other
/// status says enough without it.
async fn read_body(body: AsyncBody, max: usize, status: u16) -> Result<Bytes, TransportError> {
    let mut read = Vec::new();
    let max = u64::try_from(max).unwrap_or(u64::MAX);
    match body.take(max).read_to_end(&mut read).await {
        Err(error) if status == 200 => Err(read_error(&error)),
        Ok(_) | Err(_) => Ok(read.into()),
    }
}
