//! The format's own consumer redeems claims through the endpoint.

use std::sync::Arc;

use ankusa::{ClaimCheckClient, ClaimCheckError, ClientBuilder};
use bytes::Bytes;
use http::{Request, Response};
use pubsink_tokio::claims::{ClaimStore, MemoryClaims};
use pubsink_tokio::core::claim::endpoint::{Answer, Body, Decision, Endpoint, Grant, pieces};
use pubsink_tokio::core::claim::sha256_hex;

use crate::contract::{self, body, claim};

/// All that a server does, but for the sockets.
struct Gateway {
    endpoint: Endpoint,
    store: MemoryClaims,
}

impl Gateway {
    async fn answer(&self, request: &Request<Bytes>) -> Response<Bytes> {
        let uri = request.uri().path_and_query().unwrap().as_str();
        let decision = self.endpoint.ask(request.method(), uri, request.headers());
        let find = match decision {
            Decision::Answer(answer) => return respond(answer, Vec::new()),
            Decision::Find(find) => find,
        };
        let answer = match self.store.size(find.claim()).await {
            Ok(size) => find.found(size),
            Err(error) => find.failed(&error),
        };
        let mut sent = Vec::new();
        if let Body::Claim(range) = &answer.body {
            for piece in pieces(range.clone(), 1_000) {
                let piece = self.store.fetch_range(find.claim(), piece).await;
                sent.extend_from_slice(&piece.unwrap());
            }
        }
        respond(answer, sent)
    }
}

fn respond(answer: Answer, sent: Vec<u8>) -> Response<Bytes> {
    let mut response = Response::new(match answer.body {
        Body::Bytes(body) => body,
        Body::Claim(_) => sent.into(),
    });
    *response.status_mut() = answer.status;
    *response.headers_mut() = answer.headers;
    response
}

#[derive(Clone)]
struct Wire(Arc<Gateway>);

impl ankusa::Transport for Wire {
    async fn send(
        &self,
        request: Request<Bytes>,
    ) -> Result<Response<Bytes>, ankusa::TransportError> {
        Ok(self.0.answer(&request).await)
    }
}

fn client(wire: &Wire, token: &str) -> ClaimCheckClient<Wire> {
    ClientBuilder::with_transport("http://gateway.example", wire.clone())
        .header("authorization", &format!("Bearer {token}"))
        .claim_check()
        .unwrap()
}

#[tokio::test]
async fn the_formats_consumer_redeems_what_was_checked_in() {
    let store = MemoryClaims::default();
    let claim = claim("acme", "one");
    let body = body("one", 70_001);
    store.check_in(&claim, body.clone()).await.unwrap();
    let grant = Grant::tenants("0123456789abcdef", ["acme"]).unwrap();
    let endpoint = Endpoint::new([grant]).unwrap();
    let wire = Wire(Arc::new(Gateway { endpoint, store }));

    let ours = client(&wire, "0123456789abcdef");
    assert_eq!(ours.health().await.unwrap().status, "ok");
    let sha256 = sha256_hex(&body);
    let redeemed = ours.redeem(claim.as_str(), &sha256).await.unwrap();
    assert!(redeemed == body);

    let other = contract::claim("acme", "other");
    let missing = ours.redeem(other.as_str(), &sha256).await.unwrap_err();
    assert!(matches!(missing, ClaimCheckError::NotFound), "{missing}");
    // Neither is taken for a claim that is gone.
    let stranger = client(&wire, "abcdef");
    let stranger = stranger.redeem(claim.as_str(), &sha256).await;
    let foreign = contract::claim("acme-2", "one");
    let foreign = ours.redeem(foreign.as_str(), &sha256).await;
    for (refused, status) in [(stranger, 401), (foreign, 403)] {
        match refused.unwrap_err() {
            ClaimCheckError::Rejected {
                status: found,
                body,
            } => {
                assert_eq!(found, status);
                assert!(body["error"].is_string());
            }
            other => panic!("{other}"),
        }
    }
}
