//! R29: a token that Pub/Sub refuses; and that no token is ever shown.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use http::Request;
use pubsink_core::failure::Class;
use pubsink_core::options::Wire;
use pubsink_core::publish::Message;
use pubsink_core::reason::TransportKind;
use pubsink_core::token::Token;
use pubsink_fixtures::broker::Status;
use pubsink_fixtures::faults::{Action, Match, Rule};
use pubsink_runtime::seam::{SendLimits, Transport, TransportError};
use pubsink_runtime::{NoToken, TokenFn};

use super::token_service::Endpoint;
use super::{all_delivered, failed, numbered, publish_all, publish_together};
use crate::harness::any::{AnyTransport, Sent};
use crate::harness::case::{BOTH, cases};
use crate::harness::env::Env;
use crate::harness::host::Client;
use crate::harness::logs::{SECRET, seen_in_logs};

cases! {
    Faults, "R29.1 a token that ends is replaced without a failure, at two token requests" => ends, .publishes(BOTH);
    Faults, "R29.2 eight batches in flight when the token ends are all stored, at two token requests" => ends_under_batches, .publishes(BOTH);
    Faults, "R29.3 every token refused: two requests a batch, no halving, config failures, and stored after the repair" => all_refused, .publishes(BOTH);
    Faults, "a refused batch is sent once more where there is a fresh token, and once where there is none" => one_or_two_requests, .publishes(BOTH);
    Faults, "a token is never shown, whatever repeats it" => never_shown, .publishes(BOTH);
}

pub(super) fn token_answer(token: &str) -> Action {
    let body = format!(r#"{{"access_token":"{token}","expires_in":3600,"token_type":"Bearer"}}"#);
    Action::answer(200, &[("content-type", "application/json")], body)
}

/// The token endpoint gives T1 once and T2 from then on; Pub/Sub takes T1 until `ended`.
pub(super) fn t1_then_t2(env: &Env) -> Arc<AtomicBool> {
    env.server().script([
        Rule::on(Match::token()).times(1).then(token_answer("T1")),
        Rule::on(Match::token()).then(token_answer("T2")),
    ]);
    let ended = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&ended);
    env.server().require_token_with(move |token| {
        token
            == Some(if seen.load(Ordering::Relaxed) {
                "T2"
            } else {
                "T1"
            })
    });
    ended
}

async fn ends(env: Env) {
    let ended = t1_then_t2(&env);
    let publisher = env.start(
        env.spec(env.options())
            .tokens(Endpoint::tokens(&env, &env.endpoint())),
    );
    let end = async {
        env.sleep(2_000).await;
        ended.store(true, Ordering::Relaxed);
    };
    let one = |number: u64| {
        let (env, publisher) = (env.clone(), publisher.clone());
        async move {
            env.sleep(100 * number).await;
            publisher
                .publish(Message::new(format!("m-{number:02}")))
                .await
        }
    };
    let (outcomes, ()) = futures_util::join!(join_all((0..50).map(one)), end);
    all_delivered(&outcomes);
    let expected: Vec<_> = (0..50).map(|number| format!("m-{number:02}")).collect();
    assert_eq!(env.stored_text(), expected);
    assert_eq!(env.server().log().tokens().len(), 2);
}

async fn ends_under_batches(env: Env) {
    let ended = t1_then_t2(&env);
    let publisher = env.start(
        env.spec(env.options().batch_max_entries(10))
            .tokens(Endpoint::tokens(&env, &env.endpoint())),
    );
    all_delivered(&publish_all(&publisher, numbered("warm", 1)).await);
    env.sleep(1_200).await;
    ended.store(true, Ordering::Relaxed);
    env.server().add_rule(
        Rule::on(Match::publish()).then(Action::proceed().delay(Duration::from_millis(100))),
    );
    all_delivered(&publish_all(&publisher, numbered("m", 80)).await);
    assert_eq!(env.server().gauges().max_publishes_in_flight, 8);
    let stored = env.stored_text();
    let mut once = stored.clone();
    once.dedup();
    assert_eq!((stored.len(), once.len()), (81, 81));
    assert_eq!(env.server().log().tokens().len(), 2);
    assert_eq!(env.publishes(), 1 + 2 * 8);
}

async fn all_refused(env: Env) {
    // A fresh token each time, and none that is taken.
    for number in 0..20 {
        env.server().add_rule(
            Rule::on(Match::token())
                .times(1)
                .then(token_answer(&format!("F{number}"))),
        );
    }
    env.server().require_token_with(|_| false);
    let publisher = env.start(
        env.spec(env.options())
            .tokens(Endpoint::tokens(&env, &env.endpoint())),
    );
    for _ in 0..4 {
        for outcome in publish_together(&publisher, numbered("m", 100)).await {
            let failure = failed(&outcome);
            assert_eq!(
                (failure.class, failure.reason.kind()),
                (Class::Config, "pubsub")
            );
            assert!(!failure.may_have_been_stored);
        }
        env.sleep(1_200).await;
    }
    let log = env.server().log();
    let publishes = log.publishes();
    assert!(publishes.len() <= 8, "{} publish requests", publishes.len());
    assert!(
        publishes.iter().all(|request| request.message_count == 100),
        "nothing is halved"
    );
    assert!(
        log.tokens().len() <= 10,
        "{} token requests",
        log.tokens().len()
    );
    env.server().require_token_with(|token| token.is_some());
    all_delivered(&publish_all(&publisher, numbered("repaired", 100)).await);
    assert_eq!(env.stored().len(), 100);
}

async fn one_or_two_requests(env: Env) {
    env.server().require_token(Some("right"));
    let same = Token::new("wrong").unwrap();
    let publisher = env.start(env.spec(env.patient_options()).tokens(same));
    let outcomes = publish_together(&publisher, numbered("m", 100)).await;
    assert!(
        outcomes
            .iter()
            .all(|outcome| failed(outcome).class == Class::Config)
    );
    assert_eq!(env.publishes(), 1);

    env.server().clear_log();
    let fresh = TokenFn(|refused: Option<Token>| async move {
        Ok(Token::new(if refused.is_some() {
            "also-wrong"
        } else {
            "wrong"
        })?)
    });
    let publisher = env.start(env.spec(env.patient_options()).tokens(fresh));
    let outcomes = publish_together(&publisher, numbered("m", 100)).await;
    assert!(
        outcomes
            .iter()
            .all(|outcome| failed(outcome).class == Class::Config)
    );
    assert_eq!(env.publishes(), 2);

    env.server().clear_log();
    let fresh = TokenFn(|refused: Option<Token>| async move {
        Ok(Token::new(if refused.is_some() {
            "right"
        } else {
            "wrong"
        })?)
    });
    let publisher = env.start(env.spec(env.patient_options()).tokens(fresh));
    all_delivered(&publish_together(&publisher, numbered("m", 100)).await);
    assert_eq!((env.publishes(), env.stored().len()), (2, 100));
}

/// Fails with the request's own headers in its words.
struct Blabbing;

impl Transport for Blabbing {
    async fn send(&self, request: Request<Bytes>, _: SendLimits) -> Sent {
        let value = request.headers()["authorization"].to_str().unwrap();
        Err(TransportError::new(
            TransportKind::Other,
            format!("could not send {value}"),
        ))
    }
}

async fn never_shown(env: Env) {
    let secret = format!("ya29.{SECRET}/with-a-slash");
    let token = Token::new(&secret).unwrap();
    let mut shown = vec![format!("{token:?}")];
    let spec = env.spec(env.options()).tokens(token.clone());
    // An HTTP/2 stack has frames to log.
    let client = match env.wire() {
        Wire::Rest => Client::Http2,
        Wire::Grpc => Client::Calls,
    };
    let http2 = env.start(spec.clone().client(client));
    all_delivered(&publish_all(&http2, numbered("m", 1)).await);
    let publisher = env.start(spec.clone());
    let escaped = secret.replace('/', "\\/");
    let spelled: String = secret
        .bytes()
        .map(|byte| format!("\\u{byte:04x}"))
        .collect();
    let answers = [
        Action::refuse(&Status::invalid_argument(format!("what is {secret}?"))),
        Action::refuse(&Status::new(403, "PERMISSION_DENIED", secret.clone())),
        Action::answer(500, &[], format!("<html>{secret}</html>")),
        Action::answer(200, &[], format!("{{\"echo\":\"{escaped}\"}}")),
        Action::answer(200, &[], format!("{{\"echo\":\"{spelled}\"}}")),
        Action::answer(503, &[], format!("Bearer {secret}")),
        Action::refuse(&Status::unauthenticated(format!("not {secret}"))),
    ];
    for answer in answers {
        env.server()
            .script([Rule::on(Match::publish()).then(answer)]);
        let outcomes = publish_all(&publisher, numbered("m", 1)).await;
        let failure = failed(&outcomes[0]);
        assert!(failure.to_string().contains("***"), "{failure}");
        shown.push(format!("{failure} {failure:?} {publisher:?}"));
    }
    let log = env.server().log();
    assert!(
        log.publishes()
            .iter()
            .all(|one| one.header("authorization") == Some("Bearer ***"))
    );

    let blabbing = env.start(spec.client(Client::Own(AnyTransport::new(Blabbing))));
    let outcomes = publish_all(&blabbing, numbered("m", 1)).await;
    shown.push(format!("{:?} {}", outcomes, failed(&outcomes[0])));

    // A provider's own words are its own business, but what is logged on the way is not.
    let none = TokenFn(|_| async { Err(NoToken("none today".to_owned())) });
    let refused = publish_all(
        &env.start(env.spec(env.options()).tokens(none)),
        numbered("m", 1),
    )
    .await;
    shown.push(format!("{refused:?}"));

    for text in shown {
        assert!(!text.contains(SECRET), "{text}");
        assert!(!text.contains("u0073"), "{text}");
    }
    let (leaks, _) = seen_in_logs("");
    assert!(leaks.is_empty(), "{leaks:?}");
}
