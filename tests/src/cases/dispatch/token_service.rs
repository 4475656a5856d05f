//! R09 through dispatch: a token service in trouble costs time and no hook.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use pubsink_core::failure::Class;
use pubsink_core::token::Token;
use pubsink_fixtures::faults::{Action, Match, Rule};
use pubsink_fixtures::server::Server;
use pubsink_runtime::{Publisher, TokenFn};

use super::super::token_service::{Endpoint, nonsense_answers};
use crate::harness::case::cases;
use crate::harness::dispatching::{Dispatching, hooks, quick};
use crate::harness::env::Env;
use crate::harness::journals::Watched;
use crate::harness::panics::MEANT;

cases! {
    Faults, "dispatch R09.1 a token service that is down for three seconds loses no hook" => down, .limit(60);
    Faults, "dispatch R09.2 a token service that answers nonsense is asked at most ten times and loses no hook" => nonsense, .limit(60);
    Faults, "dispatch R09.3 a token service that refuses: the hooks wait in the journal, one token request a second, and after the repair all are stored" => refuses, .limit(60);
    Faults, "dispatch R09.4 a token provider that panics costs an attempt and no hook" => panics, .limit(60);
}

/// Publishes with the tokens that `base` gives out.
fn publisher(env: &Env, base: &str) -> Publisher {
    env.server().require_token(Some("T1"));
    env.start(env.spec(env.options()).tokens(Endpoint::tokens(env, base)))
}

/// Five hooks every half second for so many rounds.
async fn enqueue_rounds(env: &Env, dispatching: &Dispatching, rounds: usize) {
    for round in 0..rounds {
        dispatching.accept(hooks(&format!("r{round}"), 5)).await;
        env.sleep(500).await;
    }
}

/// Every hook was stored, and once.
async fn all_stored_once(env: &Env, dispatching: &Dispatching, count: usize) {
    dispatching.delivered(env, count).await;
    let mut stored = env.stored_hooks();
    stored.sort();
    stored.dedup();
    assert_eq!((stored.len(), env.stored().len()), (count, count));
    assert_eq!(dispatching.journal.lanes_left().await, 0);
}

/// Whatever failed failed for want of a token, with nothing sent.
fn only_for_want_of_a_token(dispatching: &Dispatching) {
    let retried = dispatching.heard.retried();
    assert!(!retried.is_empty());
    for (_, failure) in retried {
        assert_eq!(
            (failure.class, failure.reason.kind()),
            (Class::Transient, "no_credentials")
        );
        assert!(!failure.may_have_been_stored);
    }
}

async fn down(env: Env) {
    let service = Server::start().expect("a second server starts");
    service.refuse_connections(true).unwrap();
    let publisher = publisher(&env, &service.endpoint());
    let dispatching = env.dispatching(Watched::memory(), publisher, quick());
    let repair = async {
        env.sleep(3_000).await;
        service.refuse_connections(false).unwrap();
    };
    futures_util::join!(repair, enqueue_rounds(&env, &dispatching, 16));
    all_stored_once(&env, &dispatching, 80).await;
    only_for_want_of_a_token(&dispatching);
}

async fn nonsense(env: Env) {
    let answers = nonsense_answers();
    env.server()
        .script(answers.map(|answer| Rule::on(Match::token()).times(1).then(answer)));
    let publisher = publisher(&env, &env.endpoint());
    let dispatching = env.dispatching(Watched::memory(), publisher, quick());
    enqueue_rounds(&env, &dispatching, 16).await;
    all_stored_once(&env, &dispatching, 80).await;
    only_for_want_of_a_token(&dispatching);
    let asked = env.server().log().tokens().len();
    assert!((6..=10).contains(&asked), "{asked} token requests");
}

async fn refuses(env: Env) {
    let invalid_grant = Action::answer(400, &[], r#"{"error":"invalid_grant"}"#);
    env.server()
        .script([Rule::on(Match::token()).then(invalid_grant)]);
    let publisher = publisher(&env, &env.endpoint());
    let start = Instant::now();
    let dispatching = env.dispatching(Watched::disk(), publisher, quick());
    enqueue_rounds(&env, &dispatching, 8).await;
    assert_eq!(env.publishes(), 0);
    assert_eq!(dispatching.heard.settled_count(), 0);
    let asked = env.server().log().tokens().len() as u64;
    assert!(
        (1..=1 + start.elapsed().as_secs()).contains(&asked),
        "{asked} token requests"
    );
    env.server().script([]);
    dispatching.accept(hooks("repaired", 5)).await;
    all_stored_once(&env, &dispatching, 45).await;
    only_for_want_of_a_token(&dispatching);
}

async fn panics(env: Env) {
    let asked = AtomicUsize::new(0);
    let tokens = TokenFn(move |_| {
        let number = asked.fetch_add(1, Ordering::Relaxed);
        async move {
            assert!(number > 0, "{MEANT}");
            Ok(Token::new("T1")?)
        }
    });
    env.server().require_token(Some("T1"));
    let publisher = env.start(env.spec(env.options()).tokens(tokens));
    let dispatching = env.dispatching(Watched::memory(), publisher, quick());
    dispatching.accept(hooks("m", 5)).await;
    all_stored_once(&env, &dispatching, 5).await;
    only_for_want_of_a_token(&dispatching);
}
