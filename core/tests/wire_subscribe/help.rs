//! What tests need.

use bytes::Bytes;
use http::HeaderMap;
use pubsink_core::subscribe::{AckId, CallFailure, SubscriberOptions, SubscriberOptionsBuilder};
use pubsink_core::token::Token;
use pubsink_core::wire::Reply;

pub(crate) fn builder() -> SubscriberOptionsBuilder {
    SubscriberOptions::builder("proj", "billing")
}

pub(crate) fn defaults() -> SubscriberOptions {
    builder().build().unwrap()
}

pub(crate) fn token() -> Token {
    Token::new("ya29.token").unwrap()
}

pub(crate) fn ids(ids: &[&str]) -> Vec<AckId> {
    ids.iter().map(|id| AckId::from(*id)).collect()
}

pub(crate) fn reply(status: u16, body: impl Into<Bytes>) -> Reply {
    Reply {
        status,
        body: body.into(),
        // Wed, 30 Sep 2026 00:00:00 GMT
        received_at_ms: 1_790_726_400_000,
        ..Reply::default()
    }
}

/// A reply with an error document.
pub(crate) fn error(http: u16, status: &str) -> Reply {
    let error = serde_json::json!({ "code": http, "message": "no", "status": status });
    reply(http, serde_json::json!({ "error": error }).to_string())
}

pub(crate) fn headers<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> HeaderMap {
    let pairs = pairs.into_iter();
    pairs
        .map(|(name, value)| {
            let name: http::HeaderName = name.parse().unwrap();
            (name, http::HeaderValue::from_str(value).unwrap())
        })
        .collect()
}

/// A gRPC answer that is nothing but a status.
pub(crate) fn trailers_only(code: u16) -> Reply {
    Reply {
        headers: headers([("grpc-status", &*code.to_string()), ("grpc-message", "no")]),
        ..reply(200, "")
    }
}

/// A failure in a line.
pub(crate) fn line(failure: &CallFailure) -> String {
    let mut line = format!("{:?}: {}", failure.class, failure.reason);
    for (id, failure) in &failure.ids {
        line += &format!("\n      {id}: {failure:?}");
    }
    if failure.refused.is_some() {
        line += "\n      the token was refused";
    }
    line
}

pub(crate) fn pin(name: &str, text: &str) {
    insta::with_settings!(
        { snapshot_path => "../snapshots", prepend_module_to_snapshot => false, omit_expression => true },
        { insta::assert_snapshot!(name, text) }
    );
}
