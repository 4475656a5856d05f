//! What a caller does on any runtime: through all of pubsink, through a transport of it, or on a
//! bare HTTP/2 connection.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use h2::client::SendRequest;
use http::{HeaderMap, StatusCode};
use pubsink_bench::Error;
use pubsink_tokio::Publisher;
use pubsink_tokio::seam::{SendLimits, Trailers, Transport};

use crate::callers::Call;
use crate::requests::{Messages, Requests};

/// Publishes.
#[derive(Clone)]
pub(crate) struct Publishes {
    pub(crate) publisher: Publisher,
    pub(crate) messages: Messages,
}

impl Call for Publishes {
    async fn call(&mut self, number: usize) -> Result<(), Error> {
        let delivery = self.publisher.publish(self.messages.message(number));
        delivery.await?;
        Ok(())
    }
}

/// Sends requests that were encoded before.
pub(crate) struct Sends<T> {
    pub(crate) transport: Arc<T>,
    pub(crate) requests: Requests,
}

impl<T> Clone for Sends<T> {
    fn clone(&self) -> Self {
        Self {
            transport: Arc::clone(&self.transport),
            requests: self.requests.clone(),
        }
    }
}

impl<T: Transport> Call for Sends<T> {
    async fn call(&mut self, number: usize) -> Result<(), Error> {
        let request = self.requests.request(number);
        let limits = SendLimits::new(Duration::from_secs(5));
        let response = self.transport.send(request, limits).await?;
        match response.extensions().get::<Trailers>() {
            Some(Trailers(trailers)) => called(trailers, response.body()),
            None => stored(response.status(), response.body()),
        }
    }
}

/// Calls on one HTTP/2 connection, which all callers share.
#[derive(Clone)]
pub(crate) struct Http2 {
    pub(crate) connection: SendRequest<Bytes>,
    pub(crate) requests: Requests,
}

impl Call for Http2 {
    async fn call(&mut self, number: usize) -> Result<(), Error> {
        let (head, body) = self.requests.request(number).into_parts();
        let mut connection = self.connection.clone().ready().await?;
        let request = http::Request::from_parts(head, ());
        let (response, mut stream) = connection.send_request(request, false)?;
        stream.send_data(body, true)?;
        let mut reply = response.await?.into_body();
        let mut read = BytesMut::new();
        while let Some(data) = reply.data().await {
            let data = data?;
            reply.flow_control().release_capacity(data.len())?;
            read.extend_from_slice(&data);
        }
        let trailers = reply.trailers().await?.ok_or("a reply without trailers")?;
        called(&trailers, &read)
    }
}

/// A reply over REST has an id.
pub(crate) fn stored(status: StatusCode, reply: &[u8]) -> Result<(), Error> {
    match status == 200 && reply.starts_with(br#"{"messageIds":["#) {
        true => Ok(()),
        false => Err(format!("{status}: {}", reply.escape_ascii()).into()),
    }
}

/// A reply over gRPC is no error, and more than its prefix.
fn called(trailers: &HeaderMap, reply: &[u8]) -> Result<(), Error> {
    let ok = trailers
        .get("grpc-status")
        .is_some_and(|status| status == "0");
    match ok && reply.len() > 5 {
        true => Ok(()),
        false => Err(format!("{trailers:?}: {}", reply.escape_ascii()).into()),
    }
}
