//! A user's own transport.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use pubsink_core::failure::Class;
use pubsink_core::reason::{Reason, TransportKind};
use pubsink_runtime::seam::{SendLimits, Transport, TransportError};

use super::{all_delivered, failed, numbered, publish_all};
use crate::harness::any::{AnyTransport, Sent};
use crate::harness::case::cases;
use crate::harness::env::Env;
use crate::harness::host::Client;
use crate::harness::panics::MEANT;

cases! {
    Anything, "a transport of the user's own carries every request" => own;
    Faults, "a transport that panics fails its batch and not the next" => panics;
    Faults, "a transport that never ends is given up at twice the timeout" => never_ends;
    Faults, "what a transport says went wrong is what the failure says" => says;
}

/// Answers by itself: the id of a message is its number in the request.
struct Tiny;

impl Transport for Tiny {
    async fn send(&self, request: Request<Bytes>, limits: SendLimits) -> Sent {
        assert_eq!(request.method(), http::Method::POST);
        assert!(request.uri().path().ends_with(":publish"));
        assert_eq!(request.headers()["content-type"], "application/json");
        assert!(!request.headers().contains_key("authorization"));
        assert_eq!(limits.body_max, SendLimits::BODY_MAX);
        let count = crate::harness::recorder::message_count(request.body());
        let ids: Vec<_> = (0..count).map(|number| number.to_string()).collect();
        Ok(Response::new(
            serde_json::json!({"messageIds": ids}).to_string().into(),
        ))
    }
}

async fn own(env: Env) {
    let spec = env
        .spec(env.options())
        .client(Client::Own(AnyTransport::new(Tiny)));
    let outcomes = publish_all(&env.start(spec), numbered("m", 3)).await;
    let ids: Vec<_> = outcomes
        .iter()
        .map(|one| one.as_ref().unwrap().message_id.to_string())
        .collect();
    assert_eq!(ids, ["0", "1", "2"]);
    env.pull(0).await;
}

struct Panicking(AnyTransport, AtomicUsize);

impl Transport for Panicking {
    async fn send(&self, request: Request<Bytes>, limits: SendLimits) -> Sent {
        assert!(self.1.fetch_add(1, Ordering::Relaxed) > 0, "{MEANT}");
        self.0.send(request, limits).await
    }
}

async fn panics(env: Env) {
    let panicking = Panicking(env.host().transport(&Client::Default), AtomicUsize::new(0));
    let spec = env
        .spec(env.options())
        .client(Client::Own(AnyTransport::new(panicking)));
    let publisher = env.start(spec);
    for outcome in publish_all(&publisher, numbered("m", 5)).await {
        let failure = failed(&outcome);
        assert_eq!(
            (failure.class, failure.reason.kind()),
            (Class::Transient, "transport")
        );
        assert!(failure.may_have_been_stored, "nobody knows how far it came");
    }
    all_delivered(&publish_all(&publisher, numbered("m", 5)).await);
    assert!(publisher.is_alive());
}

struct Failing(TransportKind);

impl Transport for Failing {
    async fn send(&self, _: Request<Bytes>, _: SendLimits) -> Sent {
        Err(TransportError::new(self.0, "words of its own"))
    }
}

async fn says(env: Env) {
    use TransportKind::{Connect, Connection, Other, Timeout};
    for (kind, maybe) in [
        (Connect, false),
        (Timeout, true),
        (Connection, true),
        (Other, true),
    ] {
        let spec = env
            .spec(env.options())
            .client(Client::Own(AnyTransport::new(Failing(kind))));
        let outcomes = publish_all(&env.start(spec), numbered("m", 1)).await;
        let failure = failed(&outcomes[0]);
        let detail = "words of its own".into();
        assert_eq!(
            *failure.reason,
            Reason::Transport {
                transport: kind,
                detail
            }
        );
        assert_eq!(
            (failure.class, failure.may_have_been_stored),
            (Class::Transient, maybe)
        );
    }
}

/// Never ends; tells when it is dropped.
struct Endless(Arc<AtomicUsize>);

impl Transport for Endless {
    async fn send(&self, _: Request<Bytes>, _: SendLimits) -> Sent {
        struct Dropped(Arc<AtomicUsize>);
        impl Drop for Dropped {
            fn drop(&mut self) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        let _dropped = Dropped(Arc::clone(&self.0));
        std::future::pending().await
    }
}

async fn never_ends(env: Env) {
    let dropped = Arc::new(AtomicUsize::new(0));
    let endless = AnyTransport::new(Endless(Arc::clone(&dropped)));
    let options = env.options().timeout(Duration::from_millis(300));
    let publisher = env.start(env.spec(options).client(Client::Own(endless)));
    for outcome in publish_all(&publisher, numbered("m", 3)).await {
        let failure = failed(&outcome);
        assert!(
            matches!(
                *failure.reason,
                Reason::Transport {
                    transport: TransportKind::Timeout,
                    ..
                }
            ),
            "{failure}"
        );
        assert!(failure.may_have_been_stored);
    }
    env.until("its future is dropped", || {
        dropped.load(Ordering::Relaxed) == 1
    })
    .await;
}
