//! What a caller does on any runtime: through all of pubsink, through a transport of it, or on a
//! bare HTTP/2 connection.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use h2::client::SendRequest;
use http::StatusCode;
use pubsink_bench::Error;
use pubsink_bench::floor::grpc::{exchange, message};
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
            Some(Trailers(trailers)) => has_id(&message(trailers, response.body())?),
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
        let request = http::Request::from_parts(head, ());
        has_id(&exchange(self.connection.clone(), request, body).await?)
    }
}

/// A reply over REST has an id.
pub(crate) fn stored(status: StatusCode, reply: &[u8]) -> Result<(), Error> {
    match status == 200 && reply.starts_with(br#"{"messageIds":["#) {
        true => Ok(()),
        false => Err(format!("{status}: {}", reply.escape_ascii()).into()),
    }
}

/// The message of a reply over gRPC is not empty.
fn has_id(message: &[u8]) -> Result<(), Error> {
    match message.is_empty() {
        true => Err("a reply without an id".into()),
        false => Ok(()),
    }
}
