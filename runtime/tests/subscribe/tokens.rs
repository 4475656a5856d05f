//! Tokens.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use pubsink_fixtures::broker::PubsubMessage;
use pubsink_runtime::core::reason::Reason;
use pubsink_runtime::core::subscribe::Wire;
use pubsink_runtime::core::token::Token;
use pubsink_runtime::subscribe::{Source as _, SourceEnd};
use pubsink_runtime::{NoToken, TokenFn};

use super::support::{Place, ack_all, options, put, server};

fn token(text: &str) -> Token {
    Token::new(text).unwrap()
}

pub(crate) async fn a_refused_one_is_replaced<P: Place>(wire: Wire) {
    let server = server();
    server.require_token(Some("the-second"));
    let renewed = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&renewed);
    let tokens = TokenFn(move |refused: Option<Token>| {
        let fresh = refused.is_some();
        if fresh {
            assert!(refused == Some(token("the-first-1")));
            counted.fetch_add(1, Relaxed);
        }
        // As one that remembers its token.
        let renewed = counted.load(Relaxed) > 0;
        async move { Ok(token(if renewed { "the-second" } else { "the-first-1" })) }
    });
    put(
        &server,
        (0..5).map(|n| PubsubMessage::new(n.to_string())).collect(),
    );
    let options = options(&server, wire).build().unwrap();
    let mut subscription = P::subscription(options, Some(tokens));
    ack_all(&mut subscription, 5).await;
    assert_eq!(renewed.load(Relaxed), 1);
}

pub(crate) async fn one_that_stays_refused_ends_it<P: Place>(wire: Wire) {
    let server = server();
    server.require_token(Some("another"));
    let options = options(&server, wire).config_patience(Duration::from_millis(300));
    let wrong = Some(token("wrong-token"));
    let mut subscription = P::subscription(options.build().unwrap(), wrong);
    assert!(subscription.next().await.is_none());
    let SourceEnd::GaveUp(reason) = subscription.closed().await else {
        panic!("it did not give up")
    };
    let Reason::Pubsub { http, .. } = &*reason else {
        panic!("{reason:?}")
    };
    assert_eq!(*http, 401);
    assert!(!reason.to_string().contains("wrong-token"));
}

pub(crate) async fn a_provider_may_fail_now_and_then<P: Place>(wire: Wire) {
    let server = server();
    server.require_token(Some("the-token"));
    let asked = AtomicUsize::new(0);
    let tokens = TokenFn(move |_| {
        let turn = asked.fetch_add(1, Relaxed);
        async move {
            match turn {
                0 | 3 => Err(NoToken("not now".to_owned())),
                1 | 5 => panic!("a provider that panics"),
                _ => Ok(token("the-token")),
            }
        }
    });
    put(&server, vec![PubsubMessage::new("0")]);
    let options = options(&server, wire).build().unwrap();
    let mut subscription = P::subscription(options, Some(tokens));
    ack_all(&mut subscription, 1).await;
}
