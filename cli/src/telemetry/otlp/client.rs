//! The HTTP client of the exporter: the publisher's own, on the runtime beside the command's.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use opentelemetry_http::{HttpClient, HttpError};
use pubsink_tokio::seam::{SendLimits, Transport as _};
use tokio::runtime::Handle;

use super::counts::Counts;

/// Sends on a runtime, and keeps what went wrong in words that hold no header and no body.
pub(super) struct Client {
    runtime: Handle,
    http: pubsink_tokio::HttpClient,
    limits: SendLimits,
    counts: Arc<Counts>,
}

impl Client {
    pub(super) fn new(runtime: Handle, timeout: Duration, counts: Arc<Counts>) -> Self {
        Self {
            runtime,
            http: pubsink_tokio::HttpClient::new(),
            limits: SendLimits::new(timeout),
            counts,
        }
    }
}

impl HttpClient for Client {
    fn send_bytes<'a, 'b>(
        &'a self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        let (http, limits) = (self.http.clone(), self.limits);
        let sent = self
            .runtime
            .spawn(async move { http.send(request, limits).await });
        Box::pin(async move {
            let response = sent.await?;
            match &response {
                Ok(response) if response.status().is_success() => {}
                Ok(response) => self
                    .counts
                    .problem(format_args!("HTTP {}", response.status())),
                Err(error) => self.counts.problem(format_args!("{error}")),
            }
            Ok(response?)
        })
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Client")
    }
}
