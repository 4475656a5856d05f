//! A store's claims as the format's own Rust consumer redeems them: through the endpoint's
//! decisions, without a socket.

use std::thread;

use ankusa::{ClaimCheckError, ClientBuilder, Transport, TransportError};
use bytes::Bytes;
use futures_channel::oneshot;
use http::{Request, Response};
use pubsink_core::claim::ClaimRef;
use pubsink_core::claim::endpoint::{Body, Decision, Endpoint, Find, PIECE_BYTES, pieces};
use pubsink_runtime::claims::ClaimStore as _;

use super::claims::Store;

/// Redeems a claim by `ankusa`, which needs tokio, wherever the case runs.
pub(super) async fn redeem(
    store: Store,
    claim: &ClaimRef,
    sha256: &str,
) -> Result<Bytes, ClaimCheckError> {
    let (done, redeemed) = oneshot::channel();
    let (claim, sha256) = (claim.to_string(), sha256.to_owned());
    let gateway = Gateway {
        endpoint: Endpoint::open_to_all(),
        store,
    };
    thread::spawn(move || {
        let client = ClientBuilder::with_transport("http://gateway", gateway).claim_check();
        let client = client.expect("its base is a URL");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build();
        let runtime = runtime.expect("tokio starts");
        let _ = done.send(runtime.block_on(client.redeem(&claim, &sha256)));
    });
    redeemed.await.expect("ankusa does not panic")
}

struct Gateway {
    endpoint: Endpoint,
    store: Store,
}

impl Gateway {
    async fn read(&self, find: &Find, body: Body) -> Result<Bytes, TransportError> {
        let range = match body {
            Body::Bytes(bytes) => return Ok(bytes),
            Body::Claim(range) => range,
        };
        let mut all = Vec::new();
        for piece in pieces(range, PIECE_BYTES) {
            let piece = self.store.fetch_range(find.claim(), piece).await;
            all.extend_from_slice(&piece.map_err(TransportError::new)?);
        }
        Ok(all.into())
    }
}

impl Transport for Gateway {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, TransportError> {
        let target = request
            .uri()
            .path_and_query()
            .map_or("/", |path| path.as_str());
        let Decision::Find(find) = self
            .endpoint
            .ask(request.method(), target, request.headers())
        else {
            panic!("{target} is not the path of a claim");
        };
        let answer = match self.store.size(find.claim()).await {
            Ok(size) => find.found(size),
            Err(error) => find.failed(&error),
        };
        let mut response = Response::new(self.read(&find, answer.body).await?);
        *response.status_mut() = answer.status;
        *response.headers_mut() = answer.headers;
        Ok(response)
    }
}
