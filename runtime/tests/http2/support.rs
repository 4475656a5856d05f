//! What the cases share.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use pubsink_runtime::core::reason::TransportKind;
use pubsink_runtime::http2::{Client, Connector, Down, Up};
use pubsink_runtime::seam::{
    Answer, Downlink as _, Exchange, Part, SendLimits, StreamTransport as _, TransportError,
};

use super::server::Server;

/// More than anything here takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn limits() -> SendLimits {
    SendLimits::new(PATIENCE)
}

/// A connection at once, and an answer within `response`.
pub(crate) fn answer_within(response: Duration) -> SendLimits {
    let mut limits = limits();
    limits.response = response;
    limits
}

/// A POST with `body`.
pub(crate) fn post<B>(server: &Server, path: &str, body: B) -> Request<B> {
    Request::post(server.url(path)).body(body).unwrap()
}

pub(crate) async fn call<C: Connector>(
    client: &Client<C>,
    server: &Server,
    path: &str,
) -> Result<Answer, TransportError> {
    let request = post(server, path, Bytes::from_static(b"ask"));
    client.call(request, limits()).await
}

/// Which connection answered: the server writes it into its answers.
pub(crate) fn connection(answer: &Result<Answer, TransportError>) -> usize {
    let answer = answer.as_ref().unwrap();
    std::str::from_utf8(&answer.body).unwrap().parse().unwrap()
}

pub(crate) async fn open<C: Connector>(
    client: &Client<C>,
    server: &Server,
    path: &str,
) -> Exchange<Up, Down> {
    client.open(post(server, path, ()), PATIENCE).await.unwrap()
}

pub(crate) fn status(headers: &http::HeaderMap) -> Option<&str> {
    headers
        .get("grpc-status")
        .map(|status| status.to_str().unwrap())
}

pub(crate) async fn head(down: &mut Down) -> http::response::Parts {
    match down.next().await {
        Some(Ok(Part::Head(head))) => head,
        other => panic!("not a head: {other:?}"),
    }
}

pub(crate) async fn data(down: &mut Down) -> Bytes {
    match down.next().await {
        Some(Ok(Part::Data(data))) => data,
        other => panic!("not data: {other:?}"),
    }
}

/// The end in good order.
pub(crate) async fn end(down: &mut Down) {
    match down.next().await {
        Some(Ok(Part::Trailers(trailers))) => assert_eq!(status(&trailers), Some("0")),
        other => panic!("no trailers: {other:?}"),
    }
    assert!(down.next().await.is_none());
}

/// The end by a fault.
pub(crate) async fn broken(down: &mut Down) -> TransportError {
    let error = match down.next().await {
        Some(Err(error)) => error,
        other => panic!("not an error: {other:?}"),
    };
    assert!(down.next().await.is_none(), "it is told once");
    error
}

pub(crate) fn assert_is(error: &TransportError, kind: TransportKind, words: &str) {
    assert_eq!(error.kind, kind, "{error}");
    assert!(error.detail.contains(words), "{error}");
}
