//! A request for a claim, from its head to the end of its body.

use std::convert::Infallible;
use std::future::Future;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use pubsink_core::claim::endpoint::{Answer, Body, Decision, Endpoint, Find, PIECE_BYTES, pieces};
use pubsink_core::claim::{ClaimError, ClaimRef};
use pubsink_tokio::claims::{ClaimStore as _, Claims};
use tokio::time::timeout;

use super::store::caught;

/// How long the store may take for one call, a piece of a body at most.
const STORE_MAX: Duration = Duration::from_secs(30);

/// Who is served, and from where.
#[derive(Debug)]
pub(super) struct Service {
    pub(super) endpoint: Endpoint,
    pub(super) store: Claims,
}

type Sent = UnsyncBoxBody<Bytes, ClaimError>;

/// Answers a request. What the store does not tell those who ask it tells the log.
pub(super) async fn answer(
    service: Arc<Service>,
    request: Request<Incoming>,
) -> Result<Response<Sent>, Infallible> {
    // Its query may have a signature.
    let (method, path) = (request.method(), request.uri().path());
    let (answer, find) = match service.endpoint.ask(method, path, request.headers()) {
        Decision::Answer(answer) => (answer, None),
        Decision::Find(find) => (service.find(&find).await, Some(find)),
    };
    let (path, status) = (logged(path), answer.status.as_u16());
    tracing::debug!(%method, path, status, "claims");
    let body = match (answer.body, find) {
        (Body::Claim(range), Some(find)) => body(service, find.claim().clone(), range),
        (Body::Bytes(bytes), _) => whole(bytes),
        (Body::Claim(_), None) => whole(Bytes::new()),
    };
    let mut response = Response::new(body);
    *response.status_mut() = answer.status;
    *response.headers_mut() = answer.headers;
    Ok(response)
}

impl Service {
    async fn find(&self, find: &Find) -> Answer {
        let claim = find.claim();
        match in_time(self.store.size(claim)).await {
            Ok(size) => find.found(size),
            Err(error) => {
                if error != ClaimError::NotFound {
                    tracing::warn!(?claim, %error, "a claim cannot be handed out");
                }
                find.failed(&error)
            }
        }
    }

    async fn piece(&self, claim: &ClaimRef, piece: Range<u64>) -> Result<Bytes, ClaimError> {
        let size = piece.end - piece.start;
        let fetched = in_time(self.store.fetch_range(claim, piece)).await;
        let fetched = fetched.and_then(|bytes| match bytes.len() as u64 == size {
            true => Ok(bytes),
            false => Err(ClaimError::unavailable(
                "it has less of the claim than before",
            )),
        });
        if let Err(error) = &fetched {
            tracing::warn!(?claim, %error, "a claim was broken off");
        }
        fetched
    }
}

/// A claim's path. Of any other one nothing: whoever asks has written it.
fn logged(path: &str) -> String {
    let claim = path.strip_prefix("/v1/claims/");
    let claim = claim.and_then(|claim| claim.split_once('/'));
    let claim = claim.and_then(|(tenant, id)| ClaimRef::new(tenant, id).ok());
    claim.map_or_else(|| "another path".to_owned(), |claim| claim.path())
}

/// A part of a claim, of which a piece at a time is in memory.
fn body(service: Arc<Service>, claim: ClaimRef, range: Range<u64>) -> Sent {
    let pieces = stream::iter(pieces(range, PIECE_BYTES)).then(move |piece| {
        let (service, claim) = (Arc::clone(&service), claim.clone());
        async move { service.piece(&claim, piece).await.map(Frame::data) }
    });
    StreamBody::new(pieces).boxed_unsync()
}

fn whole(bytes: Bytes) -> Sent {
    Full::new(bytes)
        .map_err(|never| match never {})
        .boxed_unsync()
}

async fn in_time<T>(call: impl Future<Output = Result<T, ClaimError>>) -> Result<T, ClaimError> {
    let late = |_| Err(ClaimError::unavailable("no answer within 30 s"));
    let answered = timeout(STORE_MAX, caught(call)).await;
    answered.unwrap_or_else(late)
}
