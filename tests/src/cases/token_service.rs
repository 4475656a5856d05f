//! R09: a token service in trouble.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::join_all;
use http::Request;
use pubsink_core::failure::Class;
use pubsink_core::reason::Reason;
use pubsink_core::token::Token;
use pubsink_core::token_cache::FetchedToken;
use pubsink_fixtures::faults::{Action, Match, Rule};
use pubsink_fixtures::server::Server;
use pubsink_runtime::seam::{SendLimits, Transport as _};
use pubsink_runtime::{CachedTokens, NoToken, Publisher, TokenFn, TokenSource};
use serde_json::Value;

use super::{all_delivered, failed, numbered, publish_all};
use crate::harness::any::AnyTransport;
use crate::harness::case::{BOTH, cases};
use crate::harness::env::Env;
use crate::harness::host::Client;
use crate::harness::panics::MEANT;

cases! {
    Faults, "R09.1 a token service that is down for three seconds loses nothing" => down;
    Faults, "R09.2 a token service that answers nonsense is asked at most ten times and loses nothing" => nonsense;
    Faults, "R09.3 a token service that refuses: no publish, one token request a second, and after the repair all goes on" => refuses, .publishes(BOTH);
    Faults, "R09.4 a token provider that panics fails its batch and not the next" => panics;
    Faults, "a token provider that never answers holds no shutdown" => never_answers;
}

/// Fetches tokens from a token endpoint over HTTP.
pub(super) struct Endpoint {
    client: AnyTransport,
    url: String,
}

impl Endpoint {
    pub(super) fn tokens(env: &Env, base: &str) -> CachedTokens<Self> {
        CachedTokens::new(Self {
            client: env.host().transport(&Client::Default),
            url: format!("{base}/token"),
        })
    }
}

impl TokenSource for Endpoint {
    async fn fetch(&self) -> Result<FetchedToken, NoToken> {
        let no_token = |why: &dyn std::fmt::Display| NoToken(why.to_string());
        let request = Request::post(&self.url).body(Bytes::new()).unwrap();
        let reply = self
            .client
            .send(request, SendLimits::new(Duration::from_secs(5)))
            .await;
        let reply = reply.map_err(|error| no_token(&error))?;
        if reply.status() != 200 {
            return Err(no_token(&reply.status()));
        }
        let json: Value = serde_json::from_slice(reply.body()).map_err(|error| no_token(&error))?;
        let token = json["access_token"]
            .as_str()
            .ok_or_else(|| no_token(&"no access_token"))?;
        Ok(FetchedToken {
            token: Token::new(token)?,
            expires_in: json["expires_in"].as_u64().map(Duration::from_secs),
        })
    }
}

/// Five messages every half second for eight seconds; all have to be stored in the end.
async fn publish_for_eight_seconds(env: &Env, publisher: &Publisher) {
    let round = |round: u64| async move {
        env.sleep(500 * round).await;
        env.try_publish_all(publisher, numbered(&format!("r{round}"), 5))
            .await;
    };
    join_all((0..16).map(round)).await;
    let stored = env.stored_text();
    let mut once = stored.clone();
    once.dedup();
    assert_eq!((stored.len(), once.len()), (80, 80));
}

async fn down(env: Env) {
    let service = Server::start().expect("a second server starts");
    service.refuse_connections(true).unwrap();
    env.server().require_token(Some("T1"));
    let tokens = Endpoint::tokens(&env, &service.endpoint());
    let publisher = env.start(env.spec(env.options()).tokens(tokens));
    let repair = async {
        env.sleep(3_000).await;
        service.refuse_connections(false).unwrap();
    };
    futures_util::join!(repair, publish_for_eight_seconds(&env, &publisher));
}

/// Answers that hold no token, each in a way of its own.
pub(super) fn nonsense_answers() -> [Action; 5] {
    let json =
        |body: &'static str| Action::answer(200, &[("content-type", "application/json")], body);
    [
        Action::status(500, "broken"),
        Action::answer(200, &[("content-type", "text/html")], "<html>log in</html>"),
        json("{}"),
        json(r#"{"access_token":""}"#),
        Action::reset(),
    ]
}

async fn nonsense(env: Env) {
    let answers = nonsense_answers();
    env.server()
        .script(answers.map(|answer| Rule::on(Match::token()).times(1).then(answer)));
    env.server().require_token(Some("T1"));
    let publisher = env.start(
        env.spec(env.options())
            .tokens(Endpoint::tokens(&env, &env.endpoint())),
    );
    publish_for_eight_seconds(&env, &publisher).await;
    let asked = env.server().log().tokens().len();
    assert!((6..=10).contains(&asked), "{asked} token requests");
}

async fn refuses(env: Env) {
    let invalid_grant = Action::answer(400, &[], r#"{"error":"invalid_grant"}"#);
    env.server()
        .script([Rule::on(Match::token()).then(invalid_grant)]);
    env.server().require_token(Some("T1"));
    let publisher = env.start(
        env.spec(env.options())
            .tokens(Endpoint::tokens(&env, &env.endpoint())),
    );
    let start = Instant::now();
    for round in 0..6 {
        let outcomes = env
            .within(
                Duration::from_secs(3),
                publish_all(&publisher, numbered("m", 5)),
            )
            .await;
        for outcome in outcomes.unwrap_or_else(|| panic!("round {round} hangs")) {
            let failure = failed(&outcome);
            assert_eq!(failure.class, Class::Transient);
            assert!(
                matches!(&*failure.reason, Reason::NoCredentials { detail } if detail.contains("400"))
            );
            assert!(!failure.may_have_been_stored);
        }
        env.sleep(500).await;
    }
    assert_eq!(env.publishes(), 0);
    let asked = env.server().log().tokens().len() as u64;
    assert!(
        asked <= 1 + start.elapsed().as_secs(),
        "{asked} token requests"
    );
    env.server().script([]);
    env.sleep(1_100).await;
    all_delivered(&publish_all(&publisher, numbered("repaired", 5)).await);
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
    for outcome in publish_all(&publisher, numbered("m", 5)).await {
        let failure = failed(&outcome);
        assert_eq!(
            (failure.class, failure.reason.kind()),
            (Class::Transient, "no_credentials")
        );
    }
    assert_eq!(env.publishes(), 0);
    all_delivered(&publish_all(&publisher, numbered("m", 5)).await);
}

async fn never_answers(env: Env) {
    let tokens = TokenFn(|_| std::future::pending());
    let publisher = env.start(env.spec(env.options()).tokens(tokens));
    let deliveries: Vec<_> = numbered("m", 5)
        .into_iter()
        .map(|one| publisher.publish(one))
        .collect();
    let shutdown = publisher.shutdown(Duration::from_millis(500));
    assert!(env.within(Duration::from_secs(5), shutdown).await.is_some());
    for outcome in join_all(deliveries).await {
        let failure = failed(&outcome);
        assert_eq!(failure.class, Class::Transient);
        assert!(!failure.may_have_been_stored);
    }
    assert_eq!(env.publishes(), 0);
}
